# SPDX-License-Identifier: Apache-2.0
"""What queues used and did in each minute, made of what is stored.

Implements the job statistics of SVMSched, section 4.2.4 (rule J6 of doc/source/specs/jobs.rst). Units:
seconds since the epoch, cores, MiB.

A part of an attempt holds its server's cores in [created_at, ended_at), so the core-seconds of a minute
follow from the rows of attempts, whenever a pass is made and however long none was made. Everything since a
*mark* is computed again each time, and its rows replace those that are stored: killed at any point, nothing
is counted twice or lost. The mark lies where a minute begins, and moves on when that minute is over.

    cores of a minute = sum over parts of cores * |[created_at, ended_at) within it| / (its seconds until now)
    share             = cores / cores of what the queue's share is of                          0 <= share <= 1

Cores are rounded to DIGITS, so that no minute has more of them than were held at any time in it: a sum of
seconds that are no binary fractions may be larger in its last digit.

Known errors: waiting at the end of an earlier minute is derived from the jobs that are stored now; a job
that was cancelled since while it waited is missing there. Of a long gap only MOST_MINUTES at each end have
rows.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nova_market.core.job.queue import QueueMinute, StoredQueue
from nova_market.core.job.record import (
    ENDED,
    OPEN_ATTEMPT,
    JobAction,
    JobEvent,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import WaitingRows
from nova_market.core.resource import Array, Flags

MINUTE = 60
MOST_MINUTES = 60
"""Minutes that get rows at each end of a gap: a thousand queues have 60,000 rows in an hour."""

DIGITS = 9
"""Of the cores of a minute behind the decimal point; no flavor and no job has a smaller part of a core."""

COUNTED = (JobAction.STARTED, JobAction.FINISHED, JobAction.FAILED, JobAction.PREEMPTED)
ALL = ''
"""Stands for all queues together, and for the whole cloud."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PassRead:
    """What a pass has read before it decides anything.

    active:   jobs that are starting, running, preempting or suspended
    attempts: of these, by job
    capacity: cores and MiB of an aggregate, by its name; ALL: of the cloud
    """

    now: float
    queues: Sequence[StoredQueue]
    waiting: WaitingRows
    active: Sequence[StoredJob]
    attempts: Mapping[str, Sequence[StoredAttempt]]
    capacity: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Minutes before `until` are final, and have counted the events up to `number`."""

    until: float
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Happened:
    """What is stored since a mark.

    events:   all with a number above the mark's, in order
    jobs:     those of the events that are not active, by id; attempts: of these
    """

    events: Sequence[JobEvent] = ()
    jobs: Mapping[str, StoredJob] = field(default_factory=dict)
    attempts: Mapping[str, Sequence[StoredAttempt]] = field(default_factory=dict)


def queue_minutes(read: PassRead, mark: Mark, since: Happened) -> tuple[list[QueueMinute], Mark]:
    """(rows of all queues and of ALL for each minute from the mark on, oldest first; the next mark)."""
    numbers = _numbers(mark.until, read.now)
    if not numbers:
        return [], mark
    names = [*(queue.id for queue in read.queues), ALL]
    begin = np.array(numbers, dtype=np.float64) * MINUTE
    end = np.minimum(begin + MINUTE, read.now)
    jobs = _Jobs(read, since, {name: column for column, name in enumerate(names)})
    counts, number = _counts(read, mark, since, numbers, names)
    sizes = [read.capacity.get(one.aggregate, (0.0, 0.0))[0] for one in read.queues]
    capacity = np.array([*sizes, read.capacity.get(ALL, (0.0, 0.0))[0]])
    rows = []
    for row, minute in enumerate(numbers):
        held = jobs.core_seconds(max(begin[row], mark.until), end[row])
        cores = np.round(held / (end[row] - begin[row]), DIGITS)
        share = np.divide(cores, capacity, out=np.zeros(len(names)), where=capacity > 0)
        running, waiting = jobs.at(end[row])
        rows += [
            QueueMinute(
                queue_id=name,
                minute=minute,
                cores=float(cores[column]),
                share=min(float(share[column]), 1.0),
                running=int(running[column]),
                waiting=int(waiting[column]),
                **{str(action): counts[name, minute, action] for action in COUNTED},
            )
            for column, name in enumerate(names)
        ]
    return rows, Mark(until=max(mark.until, read.now // MINUTE * MINUTE), number=number)


def needed(events: Sequence[JobEvent], read: PassRead) -> list[str]:
    """Ids of the jobs that Happened must have for these events, each once."""
    active = {job.id for job in read.active}
    # what never had an attempt held nothing
    named = dict.fromkeys(event.job_id for event in events if event.attempt)
    return [name for name in named if name not in active]


def _numbers(since: float, now: float) -> list[int]:
    """Minutes from `since` to `now`; those in the middle of a long gap are left out."""
    first, last = int(since // MINUTE), math.ceil(now / MINUTE) - 1
    if last - first < 2 * MOST_MINUTES:
        return list(range(first, last + 1))
    return [*range(first, first + MOST_MINUTES), *range(last - MOST_MINUTES + 1, last + 1)]


def _counts(
    read: PassRead, mark: Mark, since: Happened, numbers: Sequence[int], names: Sequence[str]
) -> tuple[Counter[tuple[str, int, str]], int]:
    """(events by queue, minute and action; number of the last one that final minutes have counted).

    The times by which they are counted never go back, so that a minute has a first and a last event. What
    falls into a minute without a row is counted in the one before.
    """
    queue_of = {job.id: job.queue_id for job in (*since.jobs.values(), *read.active)}
    closed = read.now // MINUTE * MINUTE
    found: Counter[tuple[str, int, str]] = Counter()
    at, number, final = mark.until, mark.number, True
    for event in since.events:
        if event.action in COUNTED:
            at = min(max(at, event.at), read.now)
            final = final and at < closed
            if at // MINUTE > numbers[-1]:
                break  # its minute begins now
            row = bisect_right(numbers, at // MINUTE) - 1
            for name in dict.fromkeys((ALL, queue_of.get(event.job_id, ALL))):
                found[name, numbers[row], event.action] += 1
        number = event.number if final else number
    return found, number


class _Jobs:
    """All jobs that wait, are active or were so since the mark, as columns."""

    def __init__(self, read: PassRead, since: Happened, column: Mapping[str, int]) -> None:
        # a queue that is gone counts in the sum, which has the last column
        self._columns = len(column)
        known = [*read.active, *since.jobs.values()]
        waiting = read.waiting
        counted = since.jobs.keys()
        rows = [row for row, name in enumerate(waiting.ids) if name not in counted]
        queues = [*(job.queue_id for job in known), *(waiting.queue_ids[row] for row in rows)]
        self._column = np.array([column.get(name, column[ALL]) for name in queues], dtype=np.int64)
        self._from = np.concatenate(
            [[_waits_from(job) for job in known], waiting.submitted_at[rows]]
        )
        left = [_waits_until(job) for job in known]
        self._until = np.concatenate([left, np.full(len(rows), np.inf)])
        attempts = {**read.attempts, **since.attempts}
        parts = [
            (row, job.cores, *_interval(job, part))
            for row, job in enumerate(known)
            for part in attempts.get(job.id, ())
        ]
        table = np.array(parts, dtype=np.float64).reshape(len(parts), 4)
        self._job = table[:, 0].astype(np.int64)
        self._cores, self._begin, self._end = table[:, 1], table[:, 2], table[:, 3]

    def core_seconds(self, begin: float, end: float) -> Array:
        """(columns,): what was held in this time."""
        seconds = np.minimum(self._end, end) - np.maximum(self._begin, begin)
        held = self._cores * np.maximum(seconds, 0.0)
        return _with_sum(np.bincount(self._column[self._job], held, self._columns))

    def at(self, now: float) -> tuple[Array, Array]:
        """((columns,): jobs that run, (columns,): jobs that wait) at this time."""
        here = (self._begin <= now) & (now < self._end)
        runs = np.bincount(self._job[here], minlength=len(self._column)) > 0
        waits = (self._from <= now) & (now < self._until) & ~runs
        return self._number(runs), self._number(waits)

    def _number(self, chosen: Flags) -> Array:
        count = np.bincount(self._column[chosen], minlength=self._columns)
        return _with_sum(count)


def _with_sum(values: np.ndarray[Any, np.dtype[Any]]) -> Array:
    """The last column becomes the sum of all, its own value included."""
    return np.append(values[:-1], values.sum()).astype(np.float64)


def _interval(job: StoredJob, part: StoredAttempt) -> tuple[float, float]:
    """In which a part has held its cores; inf: it holds them still."""
    end = math.inf if part.state in OPEN_ATTEMPT else part.ended_at
    suspended = job.state is JobState.SUSPENDED and part.number == job.attempt
    if suspended or job.state in ENDED:
        # it uses nothing from then on, whatever its worker has still to report
        end = min(end, job.changed_at)
    return part.created_at, end


def _waits_from(job: StoredJob) -> float:
    return math.inf if job.state is JobState.HELD else job.submitted_at


def _waits_until(job: StoredJob) -> float:
    """While it waits or runs: without an end."""
    if job.state is JobState.SUSPENDED:
        return job.changed_at
    return job.ended_at if job.state in ENDED else math.inf
