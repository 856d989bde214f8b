# SPDX-License-Identifier: Apache-2.0
"""Jobs, queues and hosts of one selection pass, from what a test cares about; the rest has defaults."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nova_market.core.calendar.axes import AXES, amounts
from nova_market.core.job.columns import (
    Hosts,
    Owners,
    Placement,
    Queues,
    RunningJobs,
    WaitingJobs,
)
from nova_market.core.job.policy_interface import JobSettings, JobSnapshot, PolicyState

HOUR = 3600.0
DAY = 86400.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """One waiting job; `cores` and `memory` (MiB) of one server. A limit above half an hour is long."""

    queue: int = 0
    owner: int = 0
    cores: float = 1.0
    memory: float = 0.0
    disk: float = 0.0
    servers: int = 1
    limit: float = HOUR
    best_effort: bool = False
    priority: int = 100
    weight: float = 1.0
    submitted: float = 0.0
    predecessors: int = 0
    not_before: float = -np.inf
    claim: bool = False
    by_offer: bool = False
    value: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Run:
    """One running job; `hosts`: row of the host of each of its servers."""

    hosts: Sequence[int]
    queue: int = 0
    owner: int = 0
    cores: float = 1.0
    memory: float = 0.0
    disk: float = 0.0
    best_effort: bool = False
    started: float = 0.0
    limit: float = HOUR
    least_run_time: float = 0.0
    saved: float | None = None
    keeps_work: bool = False
    leaving: bool = False


def waiting_jobs(jobs: Sequence[Job]) -> WaitingJobs:
    """Columns of these jobs, in this order."""
    return WaitingJobs(
        queue=np.array([one.queue for one in jobs], dtype=np.intp),
        owner=np.array([one.owner for one in jobs], dtype=np.intp),
        best_effort=np.array([one.best_effort for one in jobs], dtype=np.bool_),
        priority=np.array([one.priority for one in jobs], dtype=np.int64),
        weight=np.array([one.weight for one in jobs], dtype=np.float64),
        submitted=np.array([one.submitted for one in jobs], dtype=np.float64),
        servers=np.array([one.servers for one in jobs], dtype=np.int64),
        amount=_amounts(jobs),
        time_limit=np.array([one.limit for one in jobs], dtype=np.float64),
        predecessors=np.array([one.predecessors for one in jobs], dtype=np.int64),
        not_before=np.array([one.not_before for one in jobs], dtype=np.float64),
        claim=np.array([one.claim for one in jobs], dtype=np.bool_),
        by_offer=np.array([one.by_offer for one in jobs], dtype=np.bool_),
        value=np.array([one.value for one in jobs], dtype=np.float64),
    )


def running_jobs(runs: Sequence[Run]) -> RunningJobs:
    """Columns of these running jobs, in this order."""
    spots = [(row, host) for row, one in enumerate(runs) for host in sorted(set(one.hosts))]
    return RunningJobs(
        queue=np.array([one.queue for one in runs], dtype=np.intp),
        owner=np.array([one.owner for one in runs], dtype=np.intp),
        best_effort=np.array([one.best_effort for one in runs], dtype=np.bool_),
        servers=np.array([len(one.hosts) for one in runs], dtype=np.int64),
        amount=_amounts(runs),
        started=np.array([one.started for one in runs], dtype=np.float64),
        ends=np.array([one.started + one.limit for one in runs], dtype=np.float64),
        least_run_time=np.array([one.least_run_time for one in runs], dtype=np.float64),
        saved=np.array(
            [one.started if one.saved is None else one.saved for one in runs], dtype=np.float64
        ),
        keeps_work=np.array([one.keeps_work for one in runs], dtype=np.bool_),
        leaving=np.array([one.leaving for one in runs], dtype=np.bool_),
        placement=Placement(
            job=np.array([row for row, _ in spots], dtype=np.intp),
            host=np.array([host for _, host in spots], dtype=np.intp),
            servers=np.array([list(runs[row].hosts).count(host) for row, host in spots], np.int64),
        ),
    )


def snapshot(
    jobs: Sequence[Job],
    runs: Sequence[Run] = (),
    *,
    hosts: Sequence[float] = (8.0,),
    shares: Sequence[float] = (1.0,),
    short_below: float = 1800.0,
    memory: float = 1e6,
    now: float = 0.0,
    policy: Sequence[int] | None = None,
    owners: Owners | None = None,
    settings: JobSettings | None = None,
    **more: Any,
) -> JobSnapshot:
    """A cloud of hosts with so many cores, less what runs; all jobs may be chosen.

    shares: of the queues; more: fields of JobSnapshot (state, calendar, price)
    """
    waiting, running, count = waiting_jobs(jobs), running_jobs(runs), len(hosts)
    capacity = np.array([amounts(cores=c, memory_mib=memory, disk_gib=1e6) for c in hosts]).T
    capacity = capacity.reshape(len(AXES), count)
    free = capacity.copy()
    spot = running.placement
    np.subtract.at(free.T, spot.host, (running.amount[:, spot.job] * spot.servers).T)
    queues = len(shares)
    more.setdefault('state', PolicyState(order=np.arange(queues, dtype=np.intp)))
    return JobSnapshot(
        now=now,
        waiting=waiting,
        running=running,
        queues=Queues(
            share=np.array(shares, dtype=np.float64),
            aggregate=np.zeros(queues, dtype=np.intp),
            short_below=np.full(queues, short_below),
            policy=np.array(policy or [0] * queues, dtype=np.intp),
        ),
        owners=owners or one_owner_each(queues),
        hosts=Hosts(capacity=capacity, free=free, aggregates=np.ones((1, count), dtype=np.bool_)),
        candidates=np.ones(len(waiting), dtype=np.bool_),
        settings=settings or JobSettings(),
        **more,
    )


def one_owner_each(queues: int) -> Owners:
    """One user of one project in each queue; its row is that of the queue."""
    rows = np.arange(queues, dtype=np.intp)
    ones = np.ones(queues)
    return Owners(
        queue=rows, project=rows, project_share=ones, user_share=ones, usage=np.zeros(queues)
    )


def _amounts(jobs: Sequence[Job] | Sequence[Run]) -> Any:
    columns = [amounts(cores=one.cores, memory_mib=one.memory, disk_gib=one.disk) for one in jobs]
    return (
        np.array(columns, dtype=np.float64).reshape(len(jobs), -1).T.copy()
        if jobs
        else np.zeros((3, 0))
    )
