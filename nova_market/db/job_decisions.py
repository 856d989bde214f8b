# SPDX-License-Identifier: Apache-2.0
"""Jobs as the service sees them: what waits and what is active, and its decisions.

For rule F5 of doc/source/specs/jobs.rst: a decision is stored before it is carried out, and only where a job
is still in the state it was made in and none of the attempts that it changes has ended meanwhile. What an
agent reports of itself (`seen_at`, the usage of an attempt) is not overwritten by what the service had read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, Double, Row, bindparam, case, delete, insert, or_, select, update

from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import (
    ACTIVE,
    JOB_BOUNDS,
    OPEN_ATTEMPT,
    AfterCondition,
    AttemptState,
    HeldJob,
    JobKind,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import (
    SERVICE_COLUMNS,
    JobExplanation,
    JobStep,
    WaitingRows,
)
from nova_market.core.row_check import check_fields
from nova_market.db.job_events import JOB_EVENTS
from nova_market.db.job_rows import (
    JOB_COLUMNS,
    after_of,
    attempt_values,
    changed_values,
    stored_job,
    worker_values,
)
from nova_market.db.job_submission import WAIT, states_of
from nova_market.db.job_tables import job_attempts, job_workers, jobs
from nova_market.db.jobs import DatabaseJobs
from nova_market.db.ledger import slices
from nova_market.db.sound_rows import boundary_of, sound_rows, unknown_word
from nova_market.errors import BadAmount
from nova_market.row_boundary import READ

ROWS = (
    'id', 'queue_id', 'project_id', 'flavor', 'reason_code', 'number', 'kind', 'priority', 'weight', 'cores',
    'memory_mib', 'disk_gib', 'servers', 'time_limit', 'submitted_at', 'not_before', 'value',
    'expected_start', 'by_offer',
)  # fmt: skip
DECIDED = ('state', 'ended_at', 'excluded', 'by_cloud', 'exit_code', 'text')
"""What the service changes of an attempt that is there; the rest is its worker's."""

OF_AGENT = frozenset({'seen_at', 'clock_offset', 'session'})
AFTER = f'{READ} what it comes after'
GOING = tuple(str(state) for state in ACTIVE)


class DatabaseJobDecisions(DatabaseJobs):
    """Implements ports.JobStore."""

    def waiting(self) -> WaitingRows:
        """All that wait, by number."""
        return self._database.read(_waiting)

    def active(self) -> Sequence[StoredJob]:
        """All that are starting, running, preempting or suspended, by number."""
        return self._database.read(_active)

    def held(self) -> Sequence[HeldJob]:
        """All that are held, by number, with the states of what they come after."""
        return self._database.read(_held)

    def decide(self, steps: Sequence[JobStep]) -> Sequence[str]:
        """Write these, each if its job is still where it was; ids of the jobs whose step was written."""
        for step in steps:
            if unknown := sorted(step.changed.keys() - {*SERVICE_COLUMNS}):
                raise BadAmount(f'{unknown[0]!r:.80} of a job is not for the service to change')
        return self._database.write(_decide, tuple(steps), self._wall())

    def explain(self, explanations: Sequence[JobExplanation]) -> None:
        """Set reason and expected start of jobs that still wait or are held."""
        if explanations:
            self._database.write(_explain, tuple(explanations))


def _waiting(connection: Connection) -> WaitingRows:
    query = select(*(jobs.c[name] for name in ROWS)).where(jobs.c.state == str(JobState.WAITING))
    rows = [tuple(row) for row in connection.execute(query.order_by(jobs.c.number))]
    try:
        found = _columns(rows)
        kinds = {row[ROWS.index('kind')] for row in rows}
        whole = _is_sound(found) and kinds <= set(map(str, JobKind))
    except (TypeError, ValueError, OverflowError):
        found, whole = _columns([]), False
    if whole and boundary_of(connection).unread('job').isdisjoint(found.ids):
        return found
    stage = f'{READ} as it waits'
    return _columns(sound_rows(connection, 'job', rows, _checked, lambda row: str(row[0]), stage))


def _is_sound(found: WaitingRows) -> bool:
    """Whether each row keeps to what a job keeps to: 100,000 are not looked at one by one."""
    columns = {
        'number': found.number, 'priority': found.priority, 'weight': found.weight,
        'servers': found.servers, 'time_limit': found.time_limit, 'value': found.value,
        'submitted_at': found.submitted_at, 'not_before': found.not_before, 'cores': found.amount,
    }  # fmt: skip
    within = (
        bool(((column >= least) & (column <= most)).all())
        for name, column in columns.items()
        for least, most in [JOB_BOUNDS.get(name, (-np.inf, np.inf))]
    )
    texts = (found.ids, found.queue_ids, found.project_ids, found.flavors, found.reasons)
    never = bool((found.expected_start > JOB_BOUNDS['expected_start'][1]).any())
    return not never and all(within) and all(set(map(type, one)) <= {str} for one in texts)


def _checked(row: tuple[Any, ...]) -> tuple[Any, ...]:
    held = dict(zip(ROWS, row, strict=True))
    check_fields(StoredJob, {**held, 'kind': str(JobKind(held['kind']))}, JOB_BOUNDS)
    return row


def _columns(rows: Sequence[tuple[Any, ...]]) -> WaitingRows:
    by_name = dict(zip(ROWS, zip(*rows, strict=True), strict=True)) if rows else {}

    def texts(name: str) -> tuple[str, ...]:
        return tuple(by_name.get(name, ()))

    def whole(name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array(by_name.get(name, ()), dtype=np.int64)

    def real(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        # None becomes NaN
        return np.array(by_name.get(name, ()), dtype=np.float64)

    def flags(name: str, of: Any = True) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.array([value == of for value in by_name.get(name, ())], dtype=np.bool_)

    return WaitingRows(
        ids=texts('id'),
        queue_ids=texts('queue_id'),
        project_ids=texts('project_id'),
        flavors=texts('flavor'),
        reasons=texts('reason_code'),
        number=whole('number'),
        best_effort=flags('kind', str(JobKind.BEST_EFFORT)),
        by_offer=flags('by_offer'),
        priority=whole('priority'),
        weight=real('weight'),
        amount=np.stack([real('cores'), real('memory_mib'), real('disk_gib')]),
        servers=whole('servers'),
        time_limit=real('time_limit'),
        submitted_at=real('submitted_at'),
        not_before=real('not_before'),
        value=whole('value'),
        expected_start=real('expected_start'),
    )


def _active(connection: Connection) -> list[StoredJob]:
    mine = or_(jobs.c.state.in_(GOING), unknown_word(jobs.c.state, JobState))
    query = select(*JOB_COLUMNS).where(mine).order_by(jobs.c.number)
    return sound_rows(connection, 'job', connection.execute(query), stored_job)


def _held(connection: Connection) -> list[HeldJob]:
    query = select(jobs.c.id, jobs.c.after, jobs.c.after_condition)
    query = query.where(jobs.c.state == str(JobState.HELD)).order_by(jobs.c.number)
    rows = list(connection.execute(query))
    after: dict[str, tuple[str, ...]] = dict(
        sound_rows(connection, 'job', rows, _after, stage=AFTER)
    )
    states = states_of(connection, sorted({name for names in after.values() for name in names}))

    def held(row: Row[Any]) -> HeldJob:
        # what cannot be read of a job that it comes after may not have ended
        found = (state for name in after[row.id] for state in states.get(name, ()))
        return HeldJob(
            id=row.id,
            condition=AfterCondition(row.after_condition),
            states=tuple(map(JobState, found)),
        )

    there = [row for row in rows if row.id in after]
    return sound_rows(connection, 'job', there, held, stage=f'{AFTER} as it is now')


def _after(row: Row[Any]) -> tuple[str, tuple[str, ...]]:
    return str(row.id), after_of(row.after)


def _decide(connection: Connection, steps: Sequence[JobStep], now: float) -> list[str]:
    payers = [step.displacer for step in steps if step.displacer]
    rows = _locked(connection, [*(step.job_id for step in steps), *payers])
    attempts = _attempt_states(connection, [step.job_id for step in steps if step.attempts])
    valid = [
        _paid_for(connection, step, rows)
        for step in steps
        if step.job_id in rows
        and rows[step.job_id]['state'] == step.before
        and all(_may_put(one, attempts) for one in step.attempts)
    ]
    done = [step for step in steps if _is_done(step, rows.get(step.job_id, {}))]
    for step in valid:
        values = changed_values(step.changed)
        if step.changed.get('state', step.before) != step.before:
            values['changed_at'] = now
        if values:
            connection.execute(update(jobs).where(jobs.c.id == step.job_id).values(**values))
    _put_attempts(connection, [one for step in valid for one in step.attempts], attempts)
    put_workers(connection, [one for step in valid for one in step.workers])
    for part in slices([name for step in valid for name in step.gone]):
        connection.execute(delete(job_workers).where(job_workers.c.id.in_(part)))
    JOB_EVENTS.insert(connection, [event for step in valid for event in step.events])
    written = {step.job_id for step in (*valid, *done)}
    return [step.job_id for step in steps if step.job_id in written]


def _locked(connection: Connection, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Rows of jobs by id, locked in one order: an owner's request waits, or its result is seen."""
    found: dict[str, Mapping[str, Any]] = {}
    for part in slices(sorted(set(names))):
        query = select(*JOB_COLUMNS).where(jobs.c.id.in_(part)).order_by(jobs.c.id)
        rows = connection.execute(query.with_for_update())
        found |= {row.id: dict(row._mapping) for row in rows}
    return found


def _paid_for(connection: Connection, step: JobStep, rows: dict[str, Mapping[str, Any]]) -> JobStep:
    """With what the displacer has in reserve for this job, which is taken from there."""
    due, payer = step.changed.get('owed', 0), rows.get(step.displacer)
    if not due or not step.displacer:
        return step
    waits = payer is not None and payer['state'] in WAIT
    owed = min(due, payer['reserve']) if payer is not None and waits else 0
    if owed and payer is not None:
        left = payer['reserve'] - owed
        connection.execute(update(jobs).where(jobs.c.id == step.displacer).values(reserve=left))
        rows[step.displacer] = {**payer, 'reserve': left}
    return replace(step, changed={**step.changed, 'owed': owed})


def _is_done(step: JobStep, row: Mapping[str, Any]) -> bool:
    """Whether an earlier try, whose answer got lost, has written this step."""
    if not row or row['state'] == step.before or 'state' not in step.changed:
        return False
    return all(row[name] == value for name, value in changed_values(step.changed).items())


def _attempt_states(
    connection: Connection, names: Sequence[str]
) -> dict[tuple[str, int, int], AttemptState]:
    found: dict[tuple[str, int, int], AttemptState] = {}
    table = job_attempts
    for part in slices(sorted(set(names))):
        query = select(table.c.job_id, table.c.number, table.c.rank, table.c.state)
        query = query.where(table.c.job_id.in_(part)).with_for_update()
        for row in connection.execute(query):
            found[row.job_id, row.number, row.rank] = AttemptState(row.state)
    return found


def _key(one: StoredAttempt) -> tuple[str, int, int]:
    return one.job_id, one.number, one.rank


def _may_put(one: StoredAttempt, stored: Mapping[tuple[str, int, int], AttemptState]) -> bool:
    """It is new, or goes on, or has ended just so: a result that came meanwhile is not overwritten.

    One that was lost may go on: its worker is there again (JW5 of doc/source/specs/worker.rst).
    """
    found = stored.get(_key(one), one.state)
    again = found is AttemptState.LOST and one.state in OPEN_ATTEMPT
    return again or found in OPEN_ATTEMPT or found is one.state


def _put_attempts(
    connection: Connection,
    attempts: Sequence[StoredAttempt],
    stored: Mapping[tuple[str, int, int], AttemptState],
) -> None:
    new = [attempt_values(one) for one in attempts if _key(one) not in stored]
    if new:
        connection.execute(insert(job_attempts), new)
    chosen = [
        job_attempts.c[name] == bindparam(f'its_{name}') for name in ('job_id', 'number', 'rank')
    ]
    change = update(job_attempts).where(*chosen)
    # who has read it before its worker was given the script takes that back from nobody
    before, after = job_attempts.c.given_at, bindparam('new_given_at', type_=Double)
    later = case((after > before, after), else_=before)
    change = change.values(
        {name: bindparam(f'new_{name}') for name in DECIDED} | {'given_at': later}
    )
    rows = [
        {f'its_{name}': values[name] for name in ('job_id', 'number', 'rank')}
        | {f'new_{name}': values[name] for name in (*DECIDED, 'given_at')}
        for values in (attempt_values(one) for one in attempts if _key(one) in stored)
    ]
    if rows:
        connection.execute(change, rows)


def put_workers(connection: Connection, workers: Sequence[StoredWorker]) -> None:
    """Write rows of workers, over those that are there, but for what their agents report.

    A new boot secret is of a new server: the session of the one before ends (JW1).
    """
    stored: dict[str, str] = {}
    for part in slices([one.id for one in workers]):
        query = select(job_workers.c.id, job_workers.c.credential)
        rows = connection.execute(query.where(job_workers.c.id.in_(part)).with_for_update())
        stored |= {row.id: row.credential for row in rows}
    new = [worker_values(one) for one in workers if one.id not in stored]
    if new:
        connection.execute(insert(job_workers), new)
    for one in workers:
        if one.id in stored:
            values = {n: v for n, v in worker_values(one).items() if n not in OF_AGENT}
            if one.credential != stored[one.id]:
                values['session'] = ''
            connection.execute(
                update(job_workers).where(job_workers.c.id == one.id).values(**values)
            )


def _explain(connection: Connection, explanations: Sequence[JobExplanation]) -> None:
    # no `in`: its list cannot be expanded for many rows at once
    waits = or_(*(jobs.c.state == state for state in WAIT))
    change = update(jobs).where(jobs.c.id == bindparam('job'), waits)
    names = ('reason_code', 'reason_text', 'reason_numbers', 'expected_start')
    change = change.values({name: bindparam(f'new_{name}') for name in names})
    rows = []
    for one in explanations:
        values = changed_values({'reason': one.reason, 'expected_start': one.expected_start})
        rows.append({'job': one.job_id, **{f'new_{name}': values[name] for name in names}})
    for part in slices(rows):
        connection.execute(change, list(part))
