# SPDX-License-Identifier: Apache-2.0
"""A central scheduler that orders jobs by the worth that the policy value_density has them bid.

For the price of decentralisation of Merkat (INRIA RR-8648), section 3.2.2: it knows what every job is worth,
divides the machine at will and preempts for nothing, every period, as the market does, and differs from it
in nothing else: jobs do not bid, the best get full speed until the machine is full. Units: seconds,
processors.
"""

import numpy as np

from nova_market.core.app.policies.value_density import HELD, worth
from nova_market.core.resource import Array, Rows
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.workload.job import DONE, Terms, Workload
from nova_market.sim.workload.presence import Presence


def by_worth(workload: Workload, processors: int, terms: Terms, period: float = 60.0) -> Schedule:
    """The schedule; what can no longer be in time is dropped."""
    count = len(workload)
    start, end = np.full((2, count), np.nan)
    remaining, speed = workload.run.copy(), np.zeros(count)
    presence = Presence(workload.submit, period)
    for now in presence.rounds():
        presence.keep(remaining[presence.rows] <= terms.deadline[presence.rows] - now)
        rows = presence.rows
        speed[rows] = _speeds(workload, terms, (remaining, speed), rows, now, processors)
        start[rows[np.isnan(start[rows]) & (speed[rows] > 0)]] = now
        done = speed[rows] * period
        ends = (done >= remaining[rows] - DONE) & (speed[rows] > 0)
        end[rows[ends]] = now + remaining[rows[ends]] / speed[rows[ends]]
        remaining[rows] = np.where(ends, 0.0, remaining[rows] - done)
        presence.keep(~ends)
    return Schedule(start=start, end=end)


def _speeds(
    workload: Workload,
    terms: Terms,
    progress: tuple[Array, Array],
    rows: Rows,
    now: float,
    processors: int,
) -> Array:
    """The best by worth per processor at full speed, the one at the edge with the rest, the others at 0."""
    remaining, speed = progress[0][rows], progress[1][rows]
    width = workload.processors[rows].astype(np.float64)
    left = terms.deadline[rows] - now
    urgency = np.divide(remaining, left, out=np.ones_like(left), where=left > 0)
    value = worth(terms.budget[rows], remaining * width, urgency) / width
    order = np.argsort(-value * np.where(speed > 0, HELD, 1.0), kind='stable')
    before = np.cumsum(width[order]) - width[order]
    found = np.zeros(len(rows))
    found[order] = np.clip((processors - before) / width[order], 0.0, 1.0)
    return found
