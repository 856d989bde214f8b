# SPDX-License-Identifier: Apache-2.0
"""Jobs started in one given order, passing over those without room: first come, first served with
backfilling.

Implements SVMSched, section 5.2.3, for best-effort jobs; other policies give it an order of their own.
"""

import numpy as np

from nova_market.core.job.columns import WaitingJobs
from nova_market.core.job.room import Room, Spot
from nova_market.core.job.shape import Shapes
from nova_market.core.resource import Array, Flags, Rows


def started_in_order(rows: Rows, shapes: Shapes, room: Room) -> tuple[list[int], list[Spot]]:
    """Jobs of these rows that find room, and where; `room` has what is left afterwards.

    rows: in the order in which they may start
    """
    full = ~has_room(shapes, room)
    rows = rows[~full[shapes.of[rows]]]
    live = int(np.count_nonzero(np.bincount(shapes.of[rows], minlength=len(shapes))))
    starts: list[int] = []
    spots: list[Spot] = []
    for job, shape in zip(rows.tolist(), shapes.of[rows].tolist(), strict=True):
        if full[shape]:
            continue
        amount: Array = shapes.amount[:, shape]
        spot = room.spot(amount, int(shapes.servers[shape]), int(shapes.aggregate[shape]))
        if spot is None:
            full[shape] = True
            live -= 1
            if not live:
                break
            continue
        room.take(amount, spot)
        starts.append(job)
        spots.append(spot)
    return starts, spots


def has_room(shapes: Shapes, room: Room) -> Flags:
    """Shapes that pass a quick look: each axis is free on some host. (shapes,)"""
    most = room.most_free()[:, shapes.aggregate]
    found: Flags = np.logical_and.reduce(shapes.amount <= most, axis=0)
    return found


def by_submission(rows: Rows, waiting: WaitingJobs) -> Rows:
    """First come, first served; ties by row."""
    return rows[np.lexsort((rows, waiting.submitted[rows]))]


def by_priority(rows: Rows, waiting: WaitingJobs, *first: Array | Rows) -> Rows:
    """By `first`, (rows,), its last column before all; then priority, weight, submission, row."""
    keys = (rows, waiting.submitted[rows], -waiting.weight[rows], waiting.priority[rows], *first)
    return rows[np.lexsort(keys)]
