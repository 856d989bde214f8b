# SPDX-License-Identifier: Apache-2.0
"""Small workloads of jobs on queues, and a selector that is simple enough to be checked by eye."""

import numpy as np

from nova_market.core.calendar.axes import CORES
from nova_market.sim.job.submission import DEFAULT_PRIORITY, Submissions
from nova_market.sim.job.world import Choice, Start


def submissions(*jobs, queues=1):
    """(submit, run, cores) or dicts of these and of limit, servers, queue, memory, priority, best_effort."""
    named = [j if isinstance(j, dict) else dict(zip(('submit', 'run', 'cores'), j)) for j in jobs]  # noqa: B905

    def column(name, default, kind):
        values = [one.get(name, default(one) if callable(default) else default) for one in named]
        return np.array(values, dtype=kind)

    return Submissions(
        number=np.arange(1, len(named) + 1),
        submit=column('submit', 0.0, float),
        run=column('run', 0.0, float),
        time_limit=column('limit', lambda one: one.get('run', 0.0), float),
        servers=column('servers', 1, np.int64),
        cores=column('cores', 1, np.int64),
        memory_mib=column('memory', 0.0, float),
        queue=column('queue', 0, np.intp),
        queues=tuple(f'queue {row}' for row in range(queues)),
        priority=column('priority', DEFAULT_PRIORITY, np.int64),
        best_effort=column('best_effort', False, np.bool_),
    )


class InOrder:
    """First come, first served, a job at a time; servers go to the first host with the cores."""

    def choose(self, world):
        if not world.waiting:
            return Choice()
        job = world.waiting[0]
        free, hosts = world.hosts.free[CORES].copy(), []
        for _ in range(world.jobs.servers[job]):
            fits = np.flatnonzero(free >= world.jobs.cores[job])
            if not len(fits):
                return Choice()
            free[fits[0]] -= world.jobs.cores[job]
            hosts.append(int(fits[0]))
        return Choice(starts=[Start(job=job, hosts=tuple(hosts))])
