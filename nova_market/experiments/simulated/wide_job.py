# SPDX-License-Identifier: Apache-2.0
"""A wide job beside a stream of narrow ones: which policies let it starve.

SVMSched (papers, section 3.2) concedes that backfilling "may lead to starvation issues for big jobs". Here
it is so by construction: narrow jobs of half of a host arrive whenever the one before has run half of its
time, so that one of them always runs and the host is never empty until the last has ended. The wide job wants
the whole host. Who passes it over whenever it has no room starts it after the stream, however long that is;
who keeps room for it starts it when the narrow jobs in front of it have ended. Either
queue may use the whole host, so that no share binds. Units: seconds, cores.
"""

import numpy as np

from nova_market.core.resource import Array
from nova_market.sim.job.measures import waits
from nova_market.sim.job.policy_selector import QueueSetting
from nova_market.sim.job.simulation import Cluster, simulate
from nova_market.sim.job.submission import Submissions

CORES = 8
RUN = 100.0
GAP = RUN / 2.0
ARRIVAL = 10.0
"""When the wide job comes: the first narrow one is running."""

SOON = 2.0 * RUN
"""Seconds within which the host is empty when no narrow job may pass the wide one."""


def wide_wait(policy: str, narrow: int) -> float:
    """Seconds that the wide job waits beside so many narrow ones; infinite when it is never started."""
    jobs = stream(narrow)
    outcome = simulate(
        jobs,
        Cluster(hosts=1, cores=CORES),
        policy,
        QueueSetting(shares=np.ones(2), short_below=0.0),
    )
    waited: Array = waits(jobs, outcome)[jobs.cores == CORES]
    return float(np.nan_to_num(waited, nan=np.inf)[0])


def stream(narrow: int) -> Submissions:
    """The wide job in a queue of its own, in order of submission."""
    submit = np.concatenate([np.arange(narrow) * GAP, [ARRIVAL]])
    order = np.argsort(submit, kind='stable')
    count, last = narrow + 1, narrow
    cores = np.full(count, CORES // 2)
    cores[last] = CORES
    queue = np.zeros(count, dtype=np.intp)
    queue[last] = 1
    return Submissions(
        number=np.arange(1, count + 1),
        submit=np.sort(submit),
        run=np.full(count, RUN),
        time_limit=np.full(count, RUN),
        servers=np.ones(count, dtype=np.int64),
        cores=cores[order],
        memory_mib=np.zeros(count),
        queue=queue[order],
        queues=('narrow', 'wide'),
    )
