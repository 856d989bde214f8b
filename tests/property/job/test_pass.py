# SPDX-License-Identifier: Apache-2.0
"""Passes on rows that may be stale: no host is overfilled, and nothing is started twice (J3, J4, F5)."""

from collections import Counter
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from nova_market.core.job.queue import DesiredWorkerState, QueueLimits, WorkerState
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    AttemptState,
    JobKind,
    JobState,
    PreemptAction,
)
from tests.support.job_pass import NOW, Passes, host, server
from tests.support.job_records import job, queue, worker

CORES = 8.0
HOSTS = ('a', 'b', 'c')
QUEUES = ('day', 'night')
TINY = 1e-6

_sizes = st.sampled_from([1.0, 2.0, 3.0])
_jobs = st.fixed_dictionaries(
    {
        'queue': st.sampled_from(QUEUES),
        'cores': _sizes,
        'servers': st.sampled_from([1, 1, 2, 4]),
        'kind': st.sampled_from(JobKind),
        'time_limit': st.sampled_from([600, 7200]),
        'preempt_action': st.sampled_from(PreemptAction),
    }
)
_idle = st.tuples(st.sampled_from(QUEUES), st.sampled_from(HOSTS), _sizes, st.integers(0, 99))
_others = st.tuples(st.sampled_from(HOSTS), _sizes)


@st.composite
def passes(draw):
    """Three hosts, two queues, idle workers of both, servers of others, and jobs that wait."""
    limit = draw(st.sampled_from([None, 2]))
    policy = draw(st.sampled_from(['flexible', 'easy']))
    queues = [
        queue(
            name, share=0.5, policy=policy, limits=QueueLimits(max_running=limit),
            aggregate=draw(st.sampled_from(['', 'fast'])),
        )
        for name in QUEUES
    ]  # fmt: skip
    found = Passes(
        queues, [host(name, cores=CORES) for name in HOSTS], aggregates={'fast': ['a', 'c']}
    )
    left = dict.fromkeys(HOSTS, CORES)
    for number, (name, on, cores, since) in enumerate(draw(st.lists(_idle, max_size=6))):
        if left[on] >= cores:
            left[on] -= cores
            one = worker(
                f'i{number}', queue=name, cores=cores, host=on, server_id=f's{number}',
                state=WorkerState.IDLE, idle_since=NOW - since, seen_at=NOW - 1, flavor='small',
            )  # fmt: skip
            found.workers.append(one)
            found.servers.append(server(one.server_id, on=on, cores=cores))
    for number, (on, cores) in enumerate(draw(st.lists(_others, max_size=4))):
        if left[on] >= cores:
            left[on] -= cores
            found.servers.append(server(f'x{number}', on=on, cores=cores))
    given_jobs = draw(st.lists(_jobs, max_size=8))
    found.jobs = [job(f'j{number}', number=number, **one) for number, one in enumerate(given_jobs)]
    return found


def held(found):
    """Cores on each host: servers, workers whose servers are to be made; less workers that go."""
    going = {one.server_id for one in found.workers if one.intention is DesiredWorkerState.GONE}
    taken = Counter()
    for one in found.servers:
        if one.id not in going:
            taken[one.host] += one.vcpus
    for one in found.workers:
        if not one.server_id and one.intention is DesiredWorkerState.PRESENT:
            taken[one.host] += one.cores
    return taken


def check(found, *, stale=False):
    """What holds after every pass; stale: on rows from before another one."""
    assert all(cores <= CORES + TINY for cores in held(found).values())
    parts = [one for own in found.attempts.values() for one in own]
    open_ = [one for one in parts if one.state in OPEN_ATTEMPT]
    # a worker has one job, a job one attempt that is under way
    assert len({one.worker_id for one in open_}) == len(open_)
    workers = {one.id: one for one in found.workers}
    for one in found.jobs:
        mine = [part for part in open_ if part.job_id == one.id]
        if one.state is JobState.STARTING:
            assert len(mine) == one.servers
            assert {part.number for part in mine} == {one.attempt}
            rows = [workers[part.worker_id] for part in mine]
            assert all(its.job_id == one.id and its.queue_id == one.queue_id for its in rows)
            assert all(its.intention is DesiredWorkerState.PRESENT for its in rows)
            assert all((its.cores, its.flavor) == (one.cores, one.flavor) for its in rows)
    for one in () if stale else found.queues:
        states = [its.state for its in found.jobs if its.queue_id == one.id]
        active = sum(state is not JobState.WAITING for state in states)
        assert one.limits.max_running is None or active <= one.limits.max_running


def nova_makes(found, run):
    """Servers that are to be are there, those that are to go are gone, and jobs run."""
    going = {one.id for one in found.workers if one.intention is DesiredWorkerState.GONE}
    gone = {one.server_id for one in found.workers if one.id in going}
    found.servers = [one for one in found.servers if one.id not in gone]
    found.workers = [one for one in found.workers if one.id not in going]
    for place, one in enumerate(found.workers):
        if not one.server_id:
            found.workers[place] = replace(one, server_id=f's-{one.id}')
            found.servers.append(server(f's-{one.id}', on=one.host, cores=one.cores))
    if run:
        for name, parts in found.attempts.items():
            found.attempts[name] = [replace(one, state=AttemptState.RUNNING) for one in parts]
        found.jobs = [
            replace(one, state=JobState.RUNNING, started_at=found.now)
            if one.state is JobState.STARTING
            else one
            for one in found.jobs
        ]


@given(found=passes(), run=st.booleans(), late=_jobs)
def test_no_host_is_overfilled_and_no_worker_has_two_jobs_in_two_passes(found, run, late):
    found.run()
    check(found)
    nova_makes(found, run)
    check(found)
    found.now += 10
    found.jobs.append(job('late', number=99, **late))
    found.run()
    check(found)


@given(found=passes(), made=st.booleans())
def test_whatever_stale_rows_a_pass_gets_nothing_is_started_twice(found, made):
    stale = list(found.jobs)
    found.run()
    started = {one.id: one.attempt for one in found.jobs if one.state is JobState.STARTING}
    workers = len(found.workers)
    if made:
        nova_makes(found, run=False)
        workers = len(found.workers)
    # the waiting rows of before the first pass, with the jobs as they are
    written = found.apply(found.steps(stale))
    assert not {one.job_id for one in written} & set(started)
    assert {one.id: one.attempt for one in found.jobs if one.id in started} == started
    assert len(found.workers) >= workers
    check(found, stale=True)


@given(found=passes())
def test_a_pass_after_which_nothing_has_changed_writes_nothing_new(found):
    # a queue that has too many jobs for its limit leaves room to others in the next pass
    found.queues = [replace(one, limits=QueueLimits()) for one in found.queues]
    first = found.run()
    # who got an idle worker may be on another host than the selection had him on: others have room then
    assume(not any(one.job_id for one in found.workers if one.server_id))
    said = {one.job_id: one for one in first.explanations}
    found.jobs = [
        replace(one, reason=said[one.id].reason, expected_start=said[one.id].expected_start)
        if one.id in said
        else one
        for one in found.jobs
    ]
    found.turn = 29 - len(found.jobs)  # no number is due
    second = found.run()
    assert not second.steps
    for one in second.explanations:
        old = said.get(one.job_id)
        assert old is None or (old.reason.code, old.expected_start) != (
            one.reason.code, one.expected_start,
        )  # fmt: skip


@given(found=passes())
def test_what_is_preempted_is_of_best_effort_and_for_a_production_job_that_waits(found):
    """Best-effort jobs of the drawn ones run; the production jobs come afterwards."""
    production = [one for one in found.jobs if one.kind is JobKind.PRODUCTION]
    found.jobs = [one for one in found.jobs if one.kind is JobKind.BEST_EFFORT]
    found.run()
    nova_makes(found, run=True)
    found.jobs += production
    steps = found.run().steps
    check(found)
    by_id = {one.id: one for one in found.jobs}
    for step in steps:
        if step.changed['state'] is JobState.PREEMPTING:
            victim, displacer = by_id[step.job_id], by_id[step.changed['displaced_by']]
            assert victim.kind is JobKind.BEST_EFFORT
            assert displacer.kind is JobKind.PRODUCTION and displacer.state is JobState.WAITING
            assert displacer.id in found.memory.claims


def test_the_properties_see_a_host_that_is_overfilled():
    found = Passes([queue(share=1.0)], [host('a')], [server('x', on='a', cores=9.0)])
    assert max(held(found).values()) > CORES
