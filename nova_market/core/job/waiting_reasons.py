# SPDX-License-Identifier: Apache-2.0
"""Reasons of waiting jobs as columns: codes and numbers for all of them at once (rule J6).

The numbers hold at the end of the pass, when everything that starts has taken its room and its part of the
share.
"""

import numpy as np

from nova_market.core.job.columns import Hosts
from nova_market.core.job.reason import WIDTH, ReasonCode
from nova_market.core.job.room import Room, most_of_any
from nova_market.core.job.shape import Shapes
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

    def lack_of_room(self, rows: Rows, shapes: Shapes, hosts: Hosts, room: Room) -> None:
        """ROOM, GANG or NEVER for these jobs, all of which found no room."""
        if not len(rows):
            return
        shape = shapes.of[rows]
        present = np.bincount(shape, minlength=len(shapes)) > 0
        of_shape = Reasons(len(shapes))
        everyone = np.arange(len(shapes), dtype=np.intp)
        most = room.most_free()[:, shapes.aggregate]
        of_shape._shortest(everyone, ReasonCode.ROOM, shapes, most)
        for one in np.flatnonzero(present & (shapes.servers > 1)).tolist():
            fit = room.fitting(shapes.amount[:, one], int(shapes.aggregate[one])).sum()
            if fit > 0:
                row = everyone[[one]]
                of_shape.give(row, ReasonCode.GANG, shapes.servers[row], float(fit))
        largest = most_of_any(hosts.capacity, hosts.aggregates)[:, shapes.aggregate]
        never = np.flatnonzero(too_large(shapes, hosts))
        of_shape._shortest(never, ReasonCode.NEVER, shapes, largest)
        self.code[rows] = of_shape.code[shape]
        self.numbers[rows] = of_shape.numbers[shape]

    def _shortest(self, rows: Rows, code: ReasonCode, shapes: Shapes, most: Array) -> None:
        """The axis of which most is missing, for these shapes."""
        amount, most = shapes.amount[:, rows], most[:, rows]
        nothing = np.where(amount > 0, np.inf, 0.0)
        ratio = np.divide(amount, most, out=nothing, where=most > 0)
        axis = ratio.argmax(axis=0)
        column = np.arange(len(rows))
        servers = shapes.servers[rows]
        self.give(rows, code, axis, amount[axis, column], most[axis, column], servers)


def too_large(shapes: Shapes, hosts: Hosts) -> Flags:
    """Shapes of which no host could hold one server if nothing else ran, (shapes,)."""
    largest = most_of_any(hosts.capacity, hosts.aggregates)[:, shapes.aggregate]
    found: Flags = np.logical_or.reduce(shapes.amount > largest, axis=0)
    return found
