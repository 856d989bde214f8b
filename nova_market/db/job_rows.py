# SPDX-License-Identifier: Apache-2.0
"""Rows of jobs, attempts and workers as values, and back."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from sqlalchemy import Row

from nova_market.core.job.queue import (
    WORKER_BOUNDS,
    DesiredWorkerState,
    StoredWorker,
    WorkerState,
)
from nova_market.core.job.record import (
    ATTEMPT_BOUNDS,
    JOB_BOUNDS,
    AfterCondition,
    AttemptState,
    JobKind,
    JobReason,
    JobState,
    JobWish,
    PreemptAction,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.row_check import checked
from nova_market.db.app_tables import REASON_LENGTH
from nova_market.db.apps import packed
from nova_market.db.job_tables import CODE_LENGTH, job_attempts, jobs
from nova_market.errors import BadRow

JOB = tuple(field.name for field in fields(StoredJob))
PLAIN = tuple(name for name in JOB if name not in {'reason', 'after', 'array_id'})
ATTEMPT = tuple(field.name for field in fields(StoredAttempt))
WORKER = tuple(field.name for field in fields(StoredWorker))
ATTEMPT_COLUMNS = tuple(job_attempts.c[name] for name in ATTEMPT)
"""Without the output, which is long."""

JOB_COLUMNS = tuple(jobs.c)


def job_values(job: StoredJob) -> dict[str, Any]:
    """A job as columns have it; the number is the database's."""
    values = {name: _text(getattr(job, name)) for name in PLAIN if name != 'number'}
    values['array_id'] = job.array_id or None
    values['after'] = packed({'after': job.after}) if job.after else None
    return {**values, **_reason_values(job.reason)}


def changed_values(changed: Mapping[str, Any]) -> dict[str, Any]:
    """What the service changes of a job, as columns have it."""
    values = {name: _text(value) for name, value in changed.items() if name != 'reason'}
    if 'reason' in changed:
        values |= _reason_values(changed['reason'])
    return values


def stored_job(row: Row[Any]) -> StoredJob:
    """A row of jobs."""
    found = row._mapping
    values = {name: found[name] for name in PLAIN}
    values |= {
        'kind': JobKind(found['kind']),
        'state': JobState(found['state']),
        'wish': JobWish(found['wish']),
        'after_condition': AfterCondition(found['after_condition']),
        'preempt_action': PreemptAction(found['preempt_action']),
        'array_id': found['array_id'] or '',
        'after': after_of(found['after']),
    }
    if found['reason_code']:
        numbers = found['reason_numbers']
        values['reason'] = JobReason(
            code=found['reason_code'],
            text=found['reason_text'],
            numbers=json.loads(numbers) if numbers else {},
        )
    return checked(StoredJob(**values), JOB_BOUNDS)


def after_of(content: bytes | None) -> tuple[str, ...]:
    """The ids in the column `after`.

    :raises BadRow: it holds others than texts.
    """
    found = tuple(json.loads(content)['after']) if content else ()
    if not all(isinstance(one, str) for one in found):
        raise BadRow(f'after is {found!r:.80}: it must be ids of jobs')
    return found


def attempt_values(attempt: StoredAttempt) -> dict[str, Any]:
    """An attempt as columns have it."""
    values = {name: _text(getattr(attempt, name)) for name in ATTEMPT}
    return {**values, 'usage': packed(attempt.usage), 'text': attempt.text[:REASON_LENGTH]}


def stored_attempt(row: Row[Any]) -> StoredAttempt:
    """A row of job_attempts."""
    values = {name: row._mapping[name] for name in ATTEMPT}
    usage = json.loads(values['usage'])
    values |= {
        'state': AttemptState(values['state']),
        'usage': {name: used for name, used in usage.items() if math.isfinite(used)},
    }
    return checked(StoredAttempt(**values), ATTEMPT_BOUNDS)


def worker_values(worker: StoredWorker) -> dict[str, Any]:
    """A worker as columns have it."""
    return {name: _text(getattr(worker, name)) for name in WORKER}


def stored_worker(row: Row[Any]) -> StoredWorker:
    """A row of job_workers."""
    values = {name: row._mapping[name] for name in WORKER}
    values |= {
        'state': WorkerState(values['state']),
        'intention': DesiredWorkerState(values['intention']),
    }
    return checked(StoredWorker(**values), WORKER_BOUNDS)


def _reason_values(reason: JobReason | None) -> dict[str, Any]:
    if reason is None:
        return {'reason_code': '', 'reason_text': '', 'reason_numbers': None}
    return {
        'reason_code': reason.code[:CODE_LENGTH],
        'reason_text': reason.text[:REASON_LENGTH],
        'reason_numbers': packed(reason.numbers) if reason.numbers else None,
    }


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value
