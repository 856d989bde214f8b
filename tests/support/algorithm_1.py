# SPDX-License-Identifier: Apache-2.0
"""SVMSched's Algorithm 1 on hosts, written from the paper with lists: what the simulator is compared with.

One job is chosen at a time, as the paper's scheduling module does (sections 4.2.2 and 5.4.1): queue by
queue in round-robin order, in each by submission; the first job that has room on a host and keeps its
application within its share, else the first short one that has room. Servers go to the first host with
room. Deliberately without any code of the package.
"""

from heapq import heappop, heappush


def starts(jobs, shares, *, hosts, host_cores, short_below=None):
    """When each job starts; NaN-free: None for one that never does.

    jobs: (submit, run, cores, application), in order of submission; shares: cores of each application
    short_below: seconds of the longest job that no share binds; None: shares bind all (the rigid policy)
    """
    free = [host_cores] * hosts
    order = list(range(len(shares)))
    waiting = [[] for _ in shares]
    used = [0] * len(shares)
    running, place, start = [], {}, [None] * len(jobs)
    upcoming = 0
    while upcoming < len(jobs) or running:
        now = min(
            jobs[upcoming][0] if upcoming < len(jobs) else float('inf'),
            running[0][0] if running else float('inf'),
        )
        while running and running[0][0] <= now:
            job = heappop(running)[1]
            free[place[job]] += jobs[job][2]
            used[jobs[job][3]] -= jobs[job][2]
        while upcoming < len(jobs) and jobs[upcoming][0] <= now:
            waiting[jobs[upcoming][3]].append(upcoming)
            upcoming += 1
        while (job := _chosen(jobs, shares, (order, waiting, used, free), short_below)) is not None:
            _, run, cores, queue = jobs[job]
            order.remove(queue)
            order.append(queue)
            waiting[queue].remove(job)
            place[job] = next(host for host, left in enumerate(free) if left >= cores)
            free[place[job]] -= cores
            used[queue] += cores
            start[job] = now
            heappush(running, (now + run, job))
    return start


def _chosen(jobs, shares, state, short_below):
    """Lines 1 to 23: the job to execute, None when there is none."""
    order, waiting, used, free = state
    found = None
    for queue in order:
        for job in waiting[queue]:
            _, run, cores, _ = jobs[job]
            if max(free) < cores:
                continue
            if used[queue] + cores <= shares[queue] + 1e-6:
                return job
            if found is None and short_below is not None and run <= short_below:
                found = job
    return found
