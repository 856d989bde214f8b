# SPDX-License-Identifier: Apache-2.0
"""J3: what holds for every pass of `easy` and `conservative`, whatever waits and runs."""

from dataclasses import fields, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.job.expected_start import expected_starts
from nova_market.core.job.policies.conservative import conservative
from nova_market.core.job.policies.easy import easy
from nova_market.core.job.policy_interface import JobPolicy, JobSnapshot
from nova_market.core.job.reason import FOR_ROOM, ReasonCode
from nova_market.core.job.selection import decide, may_start
from tests.property.job.strategies import HOSTS, NOW, snapshots
from tests.support.calendar_builders import cloud, on

POLICIES = st.sampled_from([easy, conservative])


def production(seen: JobSnapshot) -> JobSnapshot:
    """With the candidates that a policy gets."""
    return replace(seen, candidates=may_start(seen) & ~seen.waiting.best_effort)


@st.composite
def one_queue(draw: st.DrawFn) -> JobSnapshot:
    """All jobs in one queue that owns the cloud, so that their rank is their order."""
    seen = draw(snapshots())
    nought = np.zeros_like(seen.waiting.queue)
    queues = replace(seen.queues, share=np.ones(len(seen.queues)))
    waiting = replace(seen.waiting, queue=nought)
    return production(replace(seen, waiting=waiting, queues=queues))


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    """Leases that have not begun yet."""
    made = cloud(*[20.0] * HOSTS)
    for _ in range(draw(st.integers(0, 3))):
        start = NOW + draw(st.integers(1, 4)) * 1000.0
        part = on(draw(st.integers(0, HOSTS - 1)), start, start + 2500.0, draw(st.integers(1, 8)))
        made = booked(made, part)
    return made


def free_at(seen: JobSnapshot, starts: np.ndarray, placement: object, time: float) -> np.ndarray:
    """(hosts, axes) at a time after now, job by job; jobs that leave are not waited for."""
    free = seen.hosts.free.T.copy()
    running, spots = seen.running, seen.running.placement
    for job, host, servers in zip(spots.job, spots.host, spots.servers, strict=True):
        ends = max(running.ends[job], seen.now + 60.0)
        if ends <= time and not running.leaving[job]:
            free[host] += running.amount[:, job] * servers
    for job, host, servers in zip(placement.job, placement.host, placement.servers, strict=True):
        if time < seen.now + seen.waiting.time_limit[job]:
            free[host] -= seen.waiting.amount[:, job] * servers
    if seen.calendar is not None:
        free += (cores_at(seen.calendar, time) - cores_at(seen.calendar, seen.now))[:, None] * [
            1,
            0,
            0,
        ]
    return free


def cores_at(calendar: Calendar, time: float) -> np.ndarray:
    """(hosts,)"""
    parts = [slice(*calendar.offsets[host : host + 2]) for host in range(calendar.hosts)]
    return np.array([calendar.free[0, one][calendar.times[one] <= time][-1] for one in parts])


def changes(seen: JobSnapshot) -> list[float]:
    """All times at which something may change, and now."""
    ends = np.maximum(seen.running.ends, seen.now + 60.0)
    times = [*ends, *(seen.now + seen.waiting.time_limit), seen.now]
    if seen.calendar is not None:
        times += seen.calendar.times.tolist()
    return sorted({float(time) for time in times if seen.now <= time < np.inf})


@given(seen=snapshots(), policy=POLICIES, calendar=st.none() | calendars())
def test_a_reserved_start_is_possible_with_all_that_was_started(
    seen: JobSnapshot, policy: JobPolicy, calendar: Calendar | None
) -> None:
    """So no job that starts delays a job that has a reservation; and nothing runs into a lease."""
    seen = replace(production(seen), calendar=calendar)
    found = policy(seen)
    for time in changes(seen):
        free = free_at(seen, found.starts, found.placement, time)
        for job, host in zip(found.placement.job, found.placement.host, strict=True):
            if time < seen.now + seen.waiting.time_limit[job]:
                taken = seen.waiting.amount[:, job] > 0
                assert (free[host][taken] >= -1e-9).all()
    assert found.expected_start is not None
    for job in np.flatnonzero(~np.isnan(found.expected_start)):
        start = found.expected_start[job]
        end = start + seen.waiting.time_limit[job]
        times = [start, *(time for time in changes(seen) if start < time < end)]
        least = np.min(
            [free_at(seen, found.starts, found.placement, time) for time in times], axis=0
        )
        amount = seen.waiting.amount[:, job]
        with np.errstate(divide='ignore', invalid='ignore'):
            fit = np.where(amount > 0, np.floor(least / amount + 1e-9), np.inf).min(axis=1)
        assert np.maximum(fit, 0).sum() >= seen.waiting.servers[job]
        assert seen.candidates[job] and job not in found.starts


@given(seen=one_queue(), policy=POLICIES)
def test_jobs_behind_a_reservation_make_no_difference_to_it(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """The head has the same start as if the jobs behind it did not exist, and all before it too."""
    found = policy(seen)
    assert found.expected_start is not None
    waiting = seen.waiting
    rank = np.lexsort((waiting.submitted, -waiting.weight, waiting.priority))
    place = np.argsort(rank)
    for job in np.flatnonzero(~np.isnan(found.expected_start)):
        ahead = policy(replace(seen, candidates=seen.candidates & (place <= place[job])))
        assert ahead.expected_start is not None
        assert ahead.expected_start[job] == found.expected_start[job]


@given(seen=snapshots(), policy=POLICIES)
def test_every_candidate_starts_or_has_a_reason(seen: JobSnapshot, policy: JobPolicy) -> None:
    """Whole gangs, within what is free; and who waits knows why."""
    seen = production(seen)
    found = policy(seen)
    taken = np.zeros((len(seen.hosts), 3))
    placed = found.placement
    for job, host, servers in zip(placed.job, placed.host, placed.servers, strict=True):
        taken[host] += seen.waiting.amount[:, job] * servers
    assert (taken <= seen.hosts.free.T + 1e-9).all()
    servers = np.bincount(placed.job, placed.servers, len(seen.waiting))
    assert servers[found.starts].tolist() == seen.waiting.servers[found.starts].tolist()
    assert len(set(found.starts.tolist())) == len(found.starts)
    waits = seen.candidates.copy()
    waits[found.starts] = False
    assert np.array_equal(waits, found.code != ReasonCode.NONE)


@given(seen=snapshots(), policy=POLICIES)
def test_the_same_input_gives_the_same_choice(seen: JobSnapshot, policy: JobPolicy) -> None:
    """Also of whole passes with expected starts."""
    plans = [decide(seen, [policy]) for _ in range(2)]
    for name in ('starts', 'code', 'numbers', 'expected_start'):
        first, second = (getattr(plan, name) for plan in plans)
        assert (first is None) == (second is None)
        assert first is None or np.array_equal(first, second, equal_nan=True)
    for one in fields(plans[0].placement):
        values = [getattr(plan.placement, one.name) for plan in plans]
        assert np.array_equal(*values)


@given(seen=snapshots(), policy=POLICIES)
def test_expected_starts_lie_ahead(seen: JobSnapshot, policy: JobPolicy) -> None:
    """And those that a pass reserved are kept."""
    seen = production(seen)
    plan = policy(seen)
    found = expected_starts(
        seen, plan.starts, plan.placement, plan.code, plan.expected_start
    ).starts
    assert plan.expected_start is not None
    reserved = ~np.isnan(plan.expected_start)
    assert np.array_equal(found[reserved], plan.expected_start[reserved])
    assert (found[~np.isnan(found)] > seen.now).all()
    assert np.isnan(found[plan.starts]).all()


@given(seen=snapshots(), policy=POLICIES)
def test_the_head_of_a_queue_that_waits_for_room_has_a_reservation(
    seen: JobSnapshot, policy: JobPolicy
) -> None:
    """Whatever its length and the use of its queue, wherever the calendar has a time for it."""
    seen = production(seen)
    found = policy(seen)
    assert found.expected_start is not None
    possible = expected_starts(
        seen, found.starts, found.placement, found.code, found.expected_start
    ).starts
    waiting, left = seen.waiting, seen.candidates.copy()
    left[found.starts] = False
    for queue in range(len(seen.queues)):
        rows = np.flatnonzero(left & (waiting.queue == queue))
        keys = (rows, waiting.submitted[rows], -waiting.weight[rows], waiting.priority[rows])
        for head in rows[np.lexsort(keys)][:1]:
            if found.code[head] in FOR_ROOM and not np.isnan(possible[head]):
                assert not np.isnan(found.expected_start[head])
