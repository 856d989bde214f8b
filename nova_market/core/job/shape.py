# SPDX-License-Identifier: Apache-2.0
"""Jobs of one shape: the same amounts, gang size and aggregate. Where one of them finds no room, none does.

Most of 100,000 jobs use a few flavors, so that what depends on the shape alone is computed a few times.
Jobs that all differ are shapes of their own: that costs as much as there are jobs, and is right too.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.job.columns import Queues, WaitingJobs
from nova_market.core.resource import Array, Rows, Values

# Square roots of primes: no sums of sizes of flavors have them in common, so that jobs of one shape become
# neighbours in a single sort. Two shapes with the same sum, if there ever are, are told apart below.
_MIX = np.array([np.sqrt(2.0), np.sqrt(3.0), np.sqrt(5.0)])
_MIX_SERVERS, _MIX_AGGREGATE = np.sqrt(7.0), np.sqrt(11.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shapes:
    """of: shape of each waiting job, (jobs,); the others are of each shape: (AXES, shapes), (shapes,).

    waiting, queues: of which these are the shapes

    Numbers of shapes have no meaning. One shape may get two numbers; two shapes never get the same.
    """

    of: Rows
    amount: Array
    servers: Values
    aggregate: Rows
    waiting: WaitingJobs
    queues: Queues

    def __len__(self) -> int:
        return len(self.servers)


def shapes_of(waiting: WaitingJobs, queues: Queues) -> Shapes:
    """The shapes of all waiting jobs."""
    jobs, aggregate = len(waiting), queues.aggregate[waiting.queue]
    key = np.zeros(jobs) + waiting.servers * _MIX_SERVERS + aggregate * _MIX_AGGREGATE
    for axis in range(len(AXES)):
        key += waiting.amount[axis] * _MIX[axis]
    order = np.argsort(key)
    differs = np.zeros(jobs, dtype=np.bool_)
    differs[:1] = True
    for column in (*waiting.amount, waiting.servers, aggregate):
        ordered = column[order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    shape = np.empty(jobs, dtype=np.intp)
    shape[order] = np.cumsum(differs) - 1
    first = order[differs]
    return Shapes(
        of=shape,
        amount=waiting.amount[:, first],
        servers=waiting.servers[first],
        aggregate=aggregate[first],
        waiting=waiting,
        queues=queues,
    )
