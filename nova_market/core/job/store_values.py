# SPDX-License-Identifier: Apache-2.0
"""What the stores of jobs take and give besides the rows: batches, filters, steps, columns.

Implements the values of F5 (decisions are stored before they are carried out) and of the waiting list of
SVMSched, section 4.2. Units as in core.job.record. Arrays have one row for each waiting job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import (
    JobContent,
    JobEvent,
    JobReason,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.ledger.posting import Posting
from nova_market.core.resource import Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJobs:
    """Jobs of one request, what they run, and what is held for them: stored together, or none of them."""

    jobs: tuple[StoredJob, ...]
    contents: tuple[JobContent, ...]
    holds: tuple[Posting, ...] = ()
    generations: Mapping[str, int] = field(default_factory=dict)
    """Of the queues as they were read; they are not stored in one that was changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuotas:
    """most_waiting: jobs of the project that wait; of_queue: of each queue, by id; None: no limit."""

    most_waiting: int
    of_queue: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list; None or (): all. What is given must all hold."""

    project_id: str | None = None
    queue_id: str | None = None
    user_id: str | None = None
    array_id: str | None = None
    states: tuple[JobState, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStep:
    """One job's part of a decision: written whole if the job is still in `before`, otherwise not at all.

    changed:  columns of StoredJob that the service may set, by name: see SERVICE_COLUMNS
    attempts: put over those of the same job, number and rank
    workers:  put over those of the same id
    gone:     ids of workers whose rows go
    displacer: job that pays what `changed` says is owed, as far as its reserve goes; '' for none
    """

    job_id: str
    before: JobState
    changed: Mapping[str, Any] = field(default_factory=dict)
    attempts: tuple[StoredAttempt, ...] = ()
    workers: tuple[StoredWorker, ...] = ()
    gone: tuple[str, ...] = ()
    displacer: str = ''
    events: tuple[JobEvent, ...] = ()


SERVICE_COLUMNS = (
    'state', 'wish', 'attempt', 'lost', 'requeues', 'started_at', 'ended_at', 'exit_code', 'charged',
    'compensation', 'displaced_by', 'reserve', 'owed', 'not_before', 'reason', 'expected_start',
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExplanation:
    """Why a job waits, and when it may start."""

    job_id: str
    reason: JobReason
    expected_start: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingRows:
    """All jobs in WAITING, by number of submission, as columns: shape (jobs,), `amount` (3, jobs).

    amount: cores, memory_mib, disk_gib of one server: the order of core.calendar.axes.AXES
    best_effort, by_offer: bool; the other arrays are int64 or float64 in the units of StoredJob
    reason:  code of the reason that is stored, '' for none; expected_start: NaN where it is not known
    """

    ids: Sequence[str]
    queue_ids: Sequence[str]
    project_ids: Sequence[str]
    flavors: Sequence[str]
    reasons: Sequence[str]
    number: NDArray[np.int64]
    best_effort: NDArray[np.bool_]
    by_offer: NDArray[np.bool_]
    priority: NDArray[np.int64]
    weight: NDArray[np.float64]
    amount: NDArray[np.float64]
    servers: NDArray[np.int64]
    time_limit: NDArray[np.float64]
    submitted_at: NDArray[np.float64]
    not_before: NDArray[np.float64]
    value: NDArray[np.int64]
    expected_start: NDArray[np.float64]


def rows_of(waiting: WaitingRows, kept: Flags) -> WaitingRows:
    """Some of these jobs. kept: (jobs,)"""
    values: dict[str, Any] = {}
    for one in fields(WaitingRows):
        column = getattr(waiting, one.name)
        if isinstance(column, np.ndarray):
            values[one.name] = column[..., kept]
        else:
            values[one.name] = tuple(compress(column, kept.tolist()))
    return WaitingRows(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCount:
    """Jobs of a queue that have not ended, by where they are."""

    waiting: int = 0
    held: int = 0
    active: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReport:
    """What a worker sends while its job runs, or at its end.

    at:     by the service's clock
    state:  STARTING: it gets its script; RUNNING: a heartbeat; FINISHED, FAILED, PREEMPTED or CANCELLED: a
            result
    saved:  its checkpoint was written; False: nothing new of it
    output: the tail of output, which replaces the one before; None: as before
    marks:  what is not credible in it; an event each, which is kept with the report
    """

    job_id: str
    number: int
    rank: int
    worker_id: str
    at: float
    state: str
    exit_code: int | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    text: str = ''
    saved: bool = False
    output: bytes | None = None
    output_total: int = 0
    marks: tuple[str, ...] = ()
