# SPDX-License-Identifier: Apache-2.0
"""A snapshot as it would be after jobs started, or without some that run.

Units and shapes as in columns.py.
"""

from dataclasses import replace

import numpy as np

from nova_market.core.job.columns import Placement, RunningJobs
from nova_market.core.job.policy_interface import JobSnapshot
from nova_market.core.job.room import room_of
from nova_market.core.resource import Flags, Rows


def after(seen: JobSnapshot, placement: Placement, jobs: Rows) -> JobSnapshot:
    """These waiting jobs run, with all they hold, and are no candidates any more.

    placement: of these jobs; rows of jobs that run already stay, the new ones come behind
    """
    if not len(jobs):
        return seen
    candidates = seen.candidates.copy()
    candidates[jobs] = False
    taken = room_of(placement, seen.waiting.amount, len(seen.hosts))
    hosts = replace(seen.hosts, free=np.maximum(seen.hosts.free - taken, 0.0))
    running = _joined(seen.running, _begun(seen, placement, jobs))
    return replace(seen, running=running, hosts=hosts, candidates=candidates)


def without_running(seen: JobSnapshot, gone: Flags) -> JobSnapshot:
    """These jobs do not run; `hosts.free` is the caller's.

    gone: of the first rows of `running`, (their number,)
    """
    stays = np.ones(len(seen.running), dtype=np.bool_)
    stays[: len(gone)] = ~gone
    new_row = np.cumsum(stays) - 1
    running, spots = seen.running, seen.running.placement
    kept = stays[spots.job]
    columns = {name: getattr(running, name)[..., stays] for name in _columns(running)}
    placement = Placement(
        job=new_row[spots.job[kept]], host=spots.host[kept], servers=spots.servers[kept]
    )
    return replace(seen, running=RunningJobs(placement=placement, **columns))


def _begun(seen: JobSnapshot, placement: Placement, jobs: Rows) -> RunningJobs:
    """Waiting jobs as running ones that have started now."""
    waiting, count = seen.waiting, len(jobs)
    now = np.full(count, seen.now)
    new_row = np.zeros(len(waiting), dtype=np.intp)
    new_row[jobs] = np.arange(count)
    return RunningJobs(
        queue=waiting.queue[jobs],
        owner=waiting.owner[jobs],
        best_effort=waiting.best_effort[jobs],
        servers=waiting.servers[jobs],
        amount=waiting.amount[:, jobs],
        started=now,
        ends=now + waiting.time_limit[jobs],
        least_run_time=np.zeros(count),
        saved=now,
        keeps_work=np.zeros(count, dtype=np.bool_),
        leaving=np.zeros(count, dtype=np.bool_),
        placement=Placement(
            job=new_row[placement.job], host=placement.host, servers=placement.servers
        ),
    )


def _joined(first: RunningJobs, second: RunningJobs) -> RunningJobs:
    columns = {
        name: np.concatenate([getattr(first, name), getattr(second, name)], axis=-1)
        for name in _columns(first)
    }
    one, two = first.placement, second.placement
    placement = Placement(
        job=np.concatenate([one.job, two.job + len(first)]),
        host=np.concatenate([one.host, two.host]),
        servers=np.concatenate([one.servers, two.servers]),
    )
    return RunningJobs(placement=placement, **columns)


def _columns(running: RunningJobs) -> list[str]:
    return [name for name in running.__dataclass_fields__ if name != 'placement']
