# SPDX-License-Identifier: Apache-2.0
"""Jobs started in one given order, passing over those without room: first come, first served with
backfilling.

Implements SVMSched, section 5.2.3, for best-effort jobs; other policies give it an order of their own.
"""

import numpy as np

from nova_market.core.job.columns import Queues, WaitingJobs
from nova_market.core.job.room import Room, Spot
from nova_market.core.job.shape import shapes_of
from nova_market.core.resource import Array, Flags, Rows


def started_in_order(
    rows: Rows, waiting: WaitingJobs, queues: Queues, room: Room
) -> tuple[list[int], list[Spot]]:
    """Jobs of these rows that find room, and where; `room` has what is left afterwards.

    rows: in the order in which they may start
    """
    rows = rows[has_room(rows, waiting, queues, room)]
    aggregate = queues.aggregate[waiting.queue[rows]]
    shape, first = shapes_of(waiting.amount[:, rows], waiting.servers[rows], aggregate)
    full = bytearray(len(first))
    starts: list[int] = []
    spots: list[Spot] = []
    for row, one, where in zip(rows.tolist(), shape.tolist(), aggregate.tolist(), strict=True):
        if full[one]:
            continue
        amount: Array = waiting.amount[:, row]
        spot = room.spot(amount, int(waiting.servers[row]), where)
        if spot is None:
            full[one] = True
            continue
        room.take(amount, spot)
        starts.append(row)
        spots.append(spot)
    return starts, spots


def has_room(rows: Rows, waiting: WaitingJobs, queues: Queues, room: Room) -> Flags:
    """Jobs that pass a quick look: each axis is free on some host. (rows,)"""
    most = room.most_free()[:, queues.aggregate[waiting.queue[rows]]]
    found: Flags = np.logical_and.reduce(waiting.amount[:, rows] <= most, axis=0)
    return found


def by_submission(rows: Rows, waiting: WaitingJobs) -> Rows:
    """First come, first served; ties by row."""
    return rows[np.lexsort((rows, waiting.submitted[rows]))]


def by_priority(rows: Rows, waiting: WaitingJobs, *first: Array | Rows) -> Rows:
    """By `first`, (rows,), its last column before all; then priority, weight, submission, row."""
    keys = (rows, waiting.submitted[rows], -waiting.weight[rows], waiting.priority[rows], *first)
    return rows[np.lexsort(keys)]
