# SPDX-License-Identifier: Apache-2.0
"""The selection of the service, on a simulated cloud: the world becomes a snapshot, the plan becomes a
choice.

Rules J3 and J4 of doc/source/specs/jobs.rst. A waiting job is in the row of its place in the order of
submission, a running one in the order of jobs, so ties break on the submission. Every queue has one owner,
whose usage is counted in core-seconds and decays. There is no calendar: nothing but jobs is booked on
these hosts, and policies with reservations know when jobs end. Units: seconds, cores, MiB; arrays (axes,
rows).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.calendar.axes import AXES, CORES, MEMORY_MIB
from nova_market.core.calendar.grain import INSTANT
from nova_market.core.job.columns import (
    Hosts,
    Owners,
    Placement,
    Queues,
    RunningJobs,
    WaitingJobs,
)
from nova_market.core.job.decayed_usage import HALF_LIFE, decayed, used_until
from nova_market.core.job.policy_interface import (
    JobPlan,
    JobPolicy,
    JobSettings,
    JobSnapshot,
    PolicyState,
)
from nova_market.core.job.selection import decide
from nova_market.core.resource import Array, Rows
from nova_market.sim.job.submission import Submissions
from nova_market.sim.job.world import Choice, Preemption, Start, World

SHORT_BELOW = 1800.0
"""Seconds of the longest short job (SVMSched, section 6.4)."""

LEAST_LIMIT = INSTANT
"""Seconds: logs have limits of 0, and a calendar has nothing shorter than this."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QueueSetting:
    """shares: (queues,) part of the cloud that each queue is granted; short_below: seconds, for all of them

    half_life: seconds in which what a queue has used counts half as much
    """

    shares: Array
    short_below: float = SHORT_BELOW
    half_life: float = HALF_LIFE
    settings: JobSettings = field(default_factory=JobSettings)


@dataclass(slots=True, kw_only=True)
class PolicySelector:
    """One policy for all queues of a cloud; keeps what is carried from pass to pass."""

    policy: JobPolicy
    setting: QueueSetting
    _order: PolicyState = field(init=False)
    _usage: Array = field(init=False)
    _rate: Array = field(init=False)
    _counted: float = 0.0

    def __post_init__(self) -> None:
        count = len(self.setting.shares)
        self._order = PolicyState(order=np.arange(count))
        self._usage, self._rate = np.zeros(count), np.zeros(count)

    def choose(self, world: World) -> Choice:
        """One pass of the selection."""
        self._count(world)
        if not world.waiting:
            return Choice()
        running = sorted(world.attempts)
        plan = decide(self._snapshot(world, running), [self.policy])
        self._order = plan.state
        return _choice(plan, world.waiting, running)

    def _count(self, world: World) -> None:
        """Usage decays, and what was used since the last pass is added; then the jobs of now count."""
        now, half_life = world.now, self.setting.half_life
        before, count = self._counted, len(self._rate)
        used = used_until(self._rate, np.full(count, before), np.full(count, now), now, half_life)
        self._usage = decayed(self._usage, now - before, half_life) + used
        self._counted = now
        jobs = world.jobs
        rows = np.array(sorted(world.attempts), dtype=np.intp)
        rows = rows[~jobs.best_effort[rows]]
        self._rate = np.bincount(jobs.queue[rows], jobs.width[rows], count).astype(float)

    def _owners(self) -> Owners:
        """One project with one user in each queue."""
        count = len(self._usage)
        return Owners(
            queue=np.arange(count),
            project=np.arange(count),
            project_share=np.ones(count),
            user_share=np.ones(count),
            usage=self._usage,
        )

    def _snapshot(self, world: World, running: Sequence[int]) -> JobSnapshot:
        setting, count = self.setting, len(self.setting.shares)
        return JobSnapshot(
            now=world.now,
            waiting=_waiting(world),
            running=_running(world, running),
            queues=Queues(
                share=setting.shares,
                aggregate=np.zeros(count, dtype=np.intp),
                short_below=np.full(count, setting.short_below),
                policy=np.zeros(count, dtype=np.intp),
            ),
            owners=self._owners(),
            hosts=Hosts(
                capacity=world.hosts.total,
                free=world.hosts.free,
                aggregates=np.ones((1, world.hosts.total.shape[1]), dtype=np.bool_),
            ),
            state=self._order,
            candidates=np.ones(len(world.waiting), dtype=np.bool_),
            settings=setting.settings,
        )


def _waiting(world: World) -> WaitingJobs:
    jobs, rows = world.jobs, np.array(world.waiting, dtype=np.intp)
    count = len(rows)
    return WaitingJobs(
        queue=jobs.queue[rows],
        owner=jobs.queue[rows],
        best_effort=jobs.best_effort[rows],
        priority=jobs.priority[rows],
        weight=np.ones(count),
        submitted=jobs.submit[rows],
        servers=jobs.servers[rows],
        amount=_amount(jobs, rows),
        time_limit=np.maximum(jobs.time_limit[rows], LEAST_LIMIT),
        predecessors=np.zeros(count, dtype=np.int64),
        not_before=np.full(count, -np.inf),
        value=np.zeros(count),
        claim=np.isin(rows, world.claims),
        by_offer=np.zeros(count, dtype=np.bool_),
    )


def _running(world: World, running: Sequence[int]) -> RunningJobs:
    jobs, rows = world.jobs, np.array(running, dtype=np.intp)
    attempts = [world.attempts[job] for job in running]
    begin = np.array([one.begin for one in attempts], dtype=np.float64)
    ends = [one.limit if one.until is None else min(one.until, one.limit) for one in attempts]
    return RunningJobs(
        queue=jobs.queue[rows],
        owner=jobs.queue[rows],
        best_effort=jobs.best_effort[rows],
        servers=jobs.servers[rows],
        amount=_amount(jobs, rows),
        started=begin,
        ends=np.array(ends, dtype=np.float64),
        least_run_time=np.array([one.least_run_time for one in attempts], dtype=np.float64),
        saved=begin,
        keeps_work=np.zeros(len(rows), dtype=np.bool_),
        leaving=np.array([one.until is not None for one in attempts], dtype=np.bool_),
        placement=_placement([one.hosts for one in attempts]),
    )


def _placement(hosts: Sequence[tuple[int, ...]]) -> Placement:
    """hosts: of the servers of each row"""
    pairs = [(row, *pair) for row, one in enumerate(hosts) for pair in sorted(Counter(one).items())]
    job, host, servers = zip(*pairs, strict=True) if pairs else ((), (), ())
    return Placement(
        job=np.array(job, dtype=np.intp),
        host=np.array(host, dtype=np.intp),
        servers=np.array(servers, dtype=np.int64),
    )


def _amount(jobs: Submissions, rows: Rows) -> Array:
    amount = np.zeros((len(AXES), len(rows)))
    amount[CORES] = jobs.cores[rows]
    amount[MEMORY_MIB] = jobs.memory_mib[rows]
    return amount


def _choice(plan: JobPlan, waiting: Sequence[int], running: Sequence[int]) -> Choice:
    """Rows of the pass become jobs."""
    places: dict[int, list[int]] = {row: [] for row in plan.starts.tolist()}
    placed = plan.placement
    for row, host, servers in zip(
        placed.job.tolist(), placed.host.tolist(), placed.servers.tolist(), strict=True
    ):
        places[row] += [host] * servers
    ordered = plan.preemptions
    return Choice(
        starts=[Start(job=waiting[row], hosts=tuple(hosts)) for row, hosts in places.items()],
        preemptions=[
            Preemption(job=running[victim], displacer=waiting[displacer])
            for victim, displacer in zip(
                ordered.victim.tolist(), ordered.displacer.tolist(), strict=True
            )
        ],
    )
