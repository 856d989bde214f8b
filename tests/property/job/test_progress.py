# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to an active job, its steps come to an end and leave nothing half done (J5, F5)."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.job.queue import DesiredWorkerState, WorkerState
from nova_market.core.job.record import (
    ACTIVE,
    OPEN_ATTEMPT,
    AttemptState,
    JobState,
    JobWish,
    PreemptAction,
)
from nova_market.core.market.owner_server import ServerState
from tests.support.job_life import Life

SERVERS = 2

_ranks = st.integers(0, SERVERS - 1)
_happenings = st.one_of(
    st.tuples(st.just('wait'), st.sampled_from([1.0, 30.0, 61.0, 700.0, 1000.0])),
    st.tuples(st.just('calls'), _ranks),
    st.tuples(st.just('reports'), _ranks, st.sampled_from(AttemptState)),
    st.tuples(st.just('server'), _ranks, st.sampled_from([None, *ServerState])),
    st.tuples(st.just('wish'), st.sampled_from(JobWish)),
    st.tuples(st.just('preempt')),
    st.tuples(st.just('resume')),
    st.tuples(st.just('unknown'), st.sampled_from([None, ()])),
)


def happens(life, what, *rest):
    """One thing that the service does not do itself."""
    own = life.attempts[life.job.attempt, rest[0]] if what == 'reports' else None
    if what == 'wait':
        life.now += rest[0]
    elif what == 'calls':
        life.calls(rest[0])
    elif own is not None and own.state in OPEN_ATTEMPT:
        life.reports(rest[1], rank=rest[0], exit_code=0)
    elif what == 'server' and life.worker_of(rest[0]).id in life.servers:
        life.server(*rest)
    elif what == 'wish' and life.job.wish is not JobWish.CANCEL:
        life.job = replace(life.job, wish=rest[0])
    elif what == 'unknown':
        life.unknown = rest[0]
    elif what == 'preempt' and life.job.state is JobState.RUNNING:
        life.job = replace(
            life.job, state=JobState.PREEMPTING, changed_at=life.now, displaced_by='x'
        )
        for key, one in life.attempts.items():
            if one.state in OPEN_ATTEMPT:
                life.attempts[key] = replace(one, state=AttemptState.PREEMPTING)
    elif what == 'resume' and life.job.state is JobState.SUSPENDED:
        life.job = replace(life.job, state=JobState.STARTING, changed_at=life.now)


@given(
    servers=st.integers(1, SERVERS),
    action=st.sampled_from(PreemptAction),
    retries=st.integers(0, 1),
    happenings=st.lists(_happenings, max_size=12),
)
def test_the_steps_of_a_job_end_and_leave_no_attempt_and_no_worker_behind(
    servers, action, retries, happenings
):
    life = Life(servers=servers, preempt_action=action, retries=retries)
    for what, *rest in happenings:
        if what in ('calls', 'reports', 'server'):
            rest[0] %= servers
        happens(life, what, *rest)
        # applied one after the other until there is none: `settle` refuses a fifth
        life.settle()
        assert life.next_step() is None
        parts = list(life.attempts.values())
        if life.job.state in ACTIVE:
            assert any(one.state in OPEN_ATTEMPT for one in parts)
            continue
        assert not any(one.state in OPEN_ATTEMPT for one in parts)
        assert life.job.expected_start is None and life.job.reason is not None
        for one in life.workers.values():
            gone = one.intention is DesiredWorkerState.GONE
            free = one.state is WorkerState.IDLE and not one.job_id
            given_up = one.idle_since == life.now and life.job.state is JobState.WAITING
            assert gone or free or given_up
        if life.job.state is JobState.WAITING:
            assert life.job.wish is JobWish.RUN
        return
