# SPDX-License-Identifier: Apache-2.0
"""Tasks with the arrivals and sizes of a log, and all else as in the paper.

Beyond INRIA RR-7837, which draws both (section 4.3). Units: seconds, MI. Each job of the log is a task of
one PE, with the run time of the job on a PE of 1 GHz; its user is a user. Times between arrivals are
stretched, all by one factor, to a load that is given.
"""

from dataclasses import replace

import numpy as np

from nova_market.errors import BadWorkload
from nova_market.sim.tender.cluster import GHZ
from nova_market.sim.tender.workload import UserTasks, random_tasks
from nova_market.sim.workload.swf import Log


def log_tasks(log: Log, *, mips: float, load: float, seed: int) -> list[UserTasks]:
    """One for each user of the log, in the order of their numbers.

    mips: of all clouds; load: work that arrives in a second, over mips
    :raises BadWorkload: no job of the log runs, or all arrive at once
    """
    jobs = log.jobs
    runs = jobs.run > 0
    work = jobs.run[runs] * GHZ
    arrival = jobs.submit[runs] - jobs.submit[runs].min(initial=np.inf)
    if not len(work) or not arrival.max() > 0:
        raise BadWorkload('the log has no jobs that run and arrive one after the other')
    arrival *= float(work.sum()) / (mips * load * float(arrival.max()))
    user = log.origins['user'][runs]
    names = np.unique(user)
    seeds = np.random.SeedSequence(seed).spawn(len(names))
    found = []
    for name, one in zip(names, seeds, strict=True):
        mine = user == name
        drawn = random_tasks(int(mine.sum()), [(0.0, 1.0)], np.random.default_rng(one))
        slackness = (drawn.deadline - drawn.arrival) / drawn.work
        found.append(
            replace(
                drawn,
                arrival=arrival[mine],
                work=work[mine],
                deadline=arrival[mine] + work[mine] * slackness,
            )
        )
    return found
