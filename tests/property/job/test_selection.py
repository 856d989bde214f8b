# SPDX-License-Identifier: Apache-2.0
"""What holds for every pass, whatever waits and runs."""

import copy
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nova_market.core.job.columns import Placement
from nova_market.core.job.policies.fair_tree import fair_tree
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policies.rigid import rigid
from nova_market.core.job.policies.value import value
from nova_market.core.job.policy_interface import JobPlan, JobPolicy, JobSnapshot
from nova_market.core.job.reason import ReasonCode, sentence
from nova_market.core.job.selection import decide
from nova_market.core.job.started import after, without_running
from tests.property.job.strategies import crowded, snapshots

POLICIES: list[JobPolicy] = [flexible, rigid, fair_tree, value]
ROUNDING = 1e-9

policies = st.sampled_from(POLICIES)


def room_taken(seen: JobSnapshot, placement: Placement, amount: np.ndarray) -> np.ndarray:
    """(hosts, axes), added up one placement at a time."""
    taken = np.zeros((len(seen.hosts), 3))
    for job, host, servers in zip(placement.job, placement.host, placement.servers, strict=True):
        taken[host] += amount[:, job] * servers
    return taken


def fits(free: np.ndarray, amount: np.ndarray, servers: int) -> bool:
    """Server by server, onto the first host that has room; free: (hosts, axes)."""
    left = free.copy()
    for _ in range(servers):
        host = next((h for h in range(len(left)) if (left[h] >= amount).all()), None)
        if host is None:
            return False
        left[host] -= amount
    return True


@given(seen=snapshots(), policy=policies)
def test_no_host_is_overfilled_and_gangs_start_whole(seen: JobSnapshot, policy: JobPolicy) -> None:
    """All servers of a job that starts are placed, within what is free now."""
    plan = decide(seen, [policy])
    taken = room_taken(seen, plan.placement, seen.waiting.amount)
    assert (taken <= seen.hosts.free.T + ROUNDING).all()
    servers = np.bincount(plan.placement.job, plan.placement.servers, len(seen.waiting))
    assert servers[plan.starts].tolist() == seen.waiting.servers[plan.starts].tolist()
    assert len(set(plan.starts.tolist())) == len(plan.starts)
    assert servers.sum() == seen.waiting.servers[plan.starts].sum()


@given(seen=snapshots(), policy=policies)
def test_jobs_that_wait_for_others_or_for_a_time_do_not_start(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """A dependency or a time is the only reason that is given for them."""
    plan, waiting = decide(seen, [policy]), seen.waiting
    assert (waiting.predecessors[plan.starts] == 0).all()
    assert (waiting.not_before[plan.starts] <= seen.now).all()
    assert (plan.code[waiting.predecessors > 0] == ReasonCode.HELD).all()


@pytest.mark.parametrize('policy', [flexible, rigid])
@given(seen=snapshots())
@settings(max_examples=100)
def test_no_job_that_a_share_binds_takes_its_queue_over_it(
    policy: JobPolicy, seen: JobSnapshot
) -> None:
    """Long jobs under `flexible`, all production jobs under `rigid`; use is counted job by job."""
    plan, waiting, running = decide(seen, [policy]), seen.waiting, seen.running
    total = seen.hosts.capacity[:2].sum(axis=1)
    use = np.zeros((len(seen.queues), 2))
    for job in np.flatnonzero(~running.best_effort):
        use[running.queue[job]] += running.amount[:2, job] * running.servers[job]
    for job in plan.starts.tolist():
        queue = int(waiting.queue[job])
        if waiting.best_effort[job]:
            continue
        use[queue] += waiting.amount[:2, job] * waiting.servers[job]
        if policy is rigid or waiting.time_limit[job] > 1800.0:
            assert (use[queue] <= (seen.queues.share[queue] + 2 * ROUNDING) * total).all()


@given(seen=snapshots(), policy=policies)
def test_every_job_that_waits_has_a_reason_and_no_other_has(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """Production and best-effort jobs, candidates and those that are held."""
    plan = decide(seen, [policy])
    starts = np.isin(np.arange(len(seen.waiting)), plan.starts)
    assert ((plan.code == ReasonCode.NONE) == starts).all()
    assert np.isfinite(plan.numbers).all() or (plan.code == ReasonCode.SHARE).any()
    for code, numbers in zip(plan.code.tolist(), plan.numbers.tolist(), strict=True):
        assert bool(sentence(code, numbers)) == (code != ReasonCode.NONE)


@given(seen=snapshots(), policy=policies)
def test_only_best_effort_jobs_that_may_be_preempted_are(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """After their least run time, once, for production jobs that wait and are marked."""
    plan, running = decide(seen, [policy]), seen.running
    victims, displacers = plan.preemptions.victim, plan.preemptions.displacer
    assert len(set(victims.tolist())) == len(victims)
    assert running.best_effort[victims].all()
    assert not running.leaving[victims].any()
    assert (seen.now >= running.started + running.least_run_time)[victims].all()
    assert not seen.waiting.best_effort[displacers].any()
    assert (plan.code[displacers] == ReasonCode.ROOM_IS_MADE).all()
    assert not np.isin(displacers, plan.starts).any()
    assert (plan.preemptions.lost >= 0).all()


@given(seen=crowded(), policy=policies)
@settings(max_examples=100)
def test_no_preemption_is_useless_and_no_victim_needless(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """With its victims gone the first displacer has room; with any one of them spared it has not."""
    plan, waiting = decide(seen, [policy]), seen.waiting
    assume(len(plan.preemptions.victim))
    production = ~waiting.best_effort[plan.placement.job]
    started = Placement(
        job=plan.placement.job[production],
        host=plan.placement.host[production],
        servers=plan.placement.servers[production],
    )
    free = seen.hosts.free.T - room_taken(seen, started, waiting.amount)
    job = int(plan.preemptions.displacer[0])
    victims = plan.preemptions.victim[plan.preemptions.displacer == job].tolist()

    def fits_without(gone: list[int]) -> bool:
        spots = seen.running.placement
        part = np.isin(spots.job, gone)
        freed = Placement(job=spots.job[part], host=spots.host[part], servers=spots.servers[part])
        left = free + room_taken(seen, freed, seen.running.amount)
        return fits(left, waiting.amount[:, job], int(waiting.servers[job]))

    assert fits_without(victims)
    for spared in victims:
        assert not fits_without([victim for victim in victims if victim != spared])


def next_pass(seen: JobSnapshot, plan: JobPlan) -> JobSnapshot:
    """Everything that the plan starts runs, all victims have gone, and displacers have claims."""
    running = seen.running
    gone = np.zeros(len(running), dtype=np.bool_)
    gone[plan.preemptions.victim] = True
    spots = running.placement
    part = gone[spots.job]
    freed = Placement(job=spots.job[part], host=spots.host[part], servers=spots.servers[part])
    begun = after(replace(seen, state=plan.state), plan.placement, plan.starts)
    free = begun.hosts.free + room_taken(seen, freed, running.amount).T
    claim = np.zeros(len(seen.waiting), dtype=np.bool_)
    claim[plan.preemptions.displacer] = True
    return replace(
        without_running(begun, gone),
        hosts=replace(begun.hosts, free=free),
        waiting=replace(seen.waiting, claim=claim),
    )


@given(seen=crowded(most_jobs=1), policy=policies)
@settings(max_examples=100)
def test_who_displaced_others_starts_when_they_have_gone(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """No best-effort job, and no other production job, has taken the room in between."""
    plan = decide(seen, [policy])
    assume(len(set(plan.preemptions.displacer.tolist())) == 1)
    later = decide(next_pass(seen, plan), [policy])
    assert plan.preemptions.displacer[0] in later.starts


@given(seen=snapshots(), policy=policies)
def test_the_same_input_gives_the_same_plan_and_stays_as_it_is(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """Nothing of the snapshot is changed."""
    before = copy.deepcopy(seen)
    first, second = decide(seen, [policy]), decide(before, [policy])
    for one in (first, second):
        assert one.starts.tolist() == first.starts.tolist()
        assert one.placement.host.tolist() == first.placement.host.tolist()
        assert one.preemptions.victim.tolist() == first.preemptions.victim.tolist()
        assert one.code.tolist() == first.code.tolist()
        assert one.state.order.tolist() == first.state.order.tolist()
    for part in ('waiting', 'running', 'hosts', 'queues'):
        for field in fields(getattr(seen, part)):
            found = getattr(getattr(seen, part), field.name)
            if isinstance(found, np.ndarray):
                assert np.array_equal(found, getattr(getattr(before, part), field.name))
