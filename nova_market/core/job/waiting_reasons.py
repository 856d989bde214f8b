# SPDX-License-Identifier: Apache-2.0
"""Reasons of waiting jobs as columns: codes and numbers for all of them at once (rule J6).

The numbers hold at the end of the pass, when everything that starts has taken its room and its part of the
share.
"""

import numpy as np

from nova_market.core.job.columns import Hosts, Queues, WaitingJobs
from nova_market.core.job.reason import WIDTH, ReasonCode
from nova_market.core.job.room import Room, most_of_any
from nova_market.core.job.shape import shapes_of
from nova_market.core.resource import Array, Flags, Rows, Values


class Reasons:
    """Columns that a pass fills: code (jobs,) and numbers (jobs, WIDTH)."""

    def __init__(self, jobs: int) -> None:
        self.code: Values = np.zeros(jobs, dtype=np.int64)
        self.numbers: Array = np.zeros((jobs, WIDTH))

    def give(self, rows: Rows, code: ReasonCode, *numbers: Array | Values | Flags | float) -> None:
        """Set the reason of these jobs; each of the numbers is one for all or one for each."""
        self.code[rows] = int(code)
        self.numbers[rows] = 0.0
        for column, number in enumerate(numbers):
            self.numbers[rows, column] = number

    def lack_of_room(
        self, rows: Rows, waiting: WaitingJobs, queues: Queues, hosts: Hosts, room: Room
    ) -> None:
        """NEVER, ROOM or GANG for jobs that find no room; NONE for one that does."""
        aggregate = queues.aggregate[waiting.queue[rows]]
        amount, servers = waiting.amount[:, rows], waiting.servers[rows]
        self._shortest(ReasonCode.ROOM, rows, amount, servers, room.most_free()[:, aggregate])
        gangs = np.flatnonzero(servers > 1)
        shape, first = shapes_of(amount[:, gangs], servers[gangs], aggregate[gangs])
        fit = np.array(
            [int(room.fitting(amount[:, job], int(aggregate[job])).sum()) for job in gangs[first]],
            dtype=np.int64,
        )[shape]
        some = fit > 0
        self.give(rows[gangs[some]], ReasonCode.GANG, servers[gangs[some]], fit[some])
        largest = most_of_any(hosts.capacity, hosts.aggregates)[:, aggregate]
        never = (amount > largest).any(axis=0)
        self._shortest(
            ReasonCode.NEVER, rows[never], amount[:, never], servers[never], largest[:, never]
        )

    def _shortest(
        self, code: ReasonCode, rows: Rows, amount: Array, servers: Values, most: Array
    ) -> None:
        """The axis of which most is missing."""
        ratio = np.divide(amount, most, out=np.where(amount > 0, np.inf, 0.0), where=most > 0)
        axis = ratio.argmax(axis=0)
        job = np.arange(len(rows))
        self.give(rows, code, axis, amount[axis, job], most[axis, job], servers)
