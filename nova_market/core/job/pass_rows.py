# SPDX-License-Identifier: Apache-2.0
"""Waiting jobs, running jobs and owners of one pass as columns, from what is stored.

For core.job.pass_input (rules J3 and J4 of doc/source/specs/jobs.rst). 100,000 waiting jobs are arrays
already: all that is done for each of them is to look up its queue and its owner. Units and shapes as in
columns.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat
from typing import Any

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.job.columns import Owners, Placement, RunningJobs, WaitingJobs
from nova_market.core.job.lifecycle import Lifecycle
from nova_market.core.job.queue import StoredQueue, StoredWorker
from nova_market.core.job.record import (
    JobKind,
    JobState,
    JobWish,
    PreemptAction,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import WaitingRows
from nova_market.core.resource import Array, Flags, Rows

Owner = tuple[str, str]
"""Id of a queue, id of a project: users of a project are one owner, as waiting rows do not have them."""


class WaitingColumns:
    """Jobs that wait, by submission, then those that are suspended.

    queue: (jobs,) row of each; projects: id of each; number, servers, reasons, expected: as stored
    """

    def __init__(
        self, waiting: WaitingRows, suspended: Sequence[StoredJob], queue_row: Mapping[str, int]
    ) -> None:
        stored = _numbers(waiting.queue_ids, queue_row)
        self._kept: Flags = stored >= 0
        self._all = bool(self._kept.all())
        self._waiting, self._suspended = waiting, suspended
        rest = _numbers([one.queue_id for one in suspended], queue_row)
        self.queue: Rows = np.concatenate([stored[self._kept], rest])
        self.ids = (*self._texts(waiting.ids), *(one.id for one in suspended))
        self.projects = (
            *self._texts(waiting.project_ids),
            *(one.project_id for one in suspended),
        )
        self.reasons = (*self._texts(waiting.reasons), *('' for _ in suspended))
        self.is_suspended: Flags = np.zeros(len(self.ids), dtype=np.bool_)
        self.is_suspended[len(self.ids) - len(suspended) :] = True
        self.number: Rows = self._column(waiting.number, 'number').astype(np.intp)
        self.servers = self._column(waiting.servers, 'servers')
        self.expected = self._joined(waiting.expected_start, [np.nan] * len(suspended))

    def among(self, ids: AbstractSet[str]) -> Flags:
        """Which of them have one of these ids, (jobs,)."""
        if not ids:
            return np.zeros(len(self.ids), dtype=np.bool_)
        found: Flags = np.fromiter(map(ids.__contains__, self.ids), np.bool_, len(self.ids))
        return found

    def columns(self, owner: Rows, claims: AbstractSet[str]) -> WaitingJobs:
        """As a pass takes them. owner: (jobs,) row of each."""
        waiting, rest = self._waiting, self._suspended
        amount = np.array([[one.cores, one.memory_mib, one.disk_gib] for one in rest])
        stored = waiting.amount if self._all else waiting.amount[:, self._kept]
        return WaitingJobs(
            queue=self.queue,
            owner=owner,
            best_effort=self._joined(
                waiting.best_effort, [one.kind is JobKind.BEST_EFFORT for one in rest]
            ),
            priority=self._column(waiting.priority, 'priority'),
            weight=self._column(waiting.weight, 'weight'),
            submitted=self._column(waiting.submitted_at, 'submitted_at'),
            servers=self.servers,
            amount=np.concatenate([stored, amount.reshape(len(rest), len(AXES)).T], axis=1),
            time_limit=self._column(waiting.time_limit, 'time_limit').astype(np.float64),
            predecessors=np.zeros(len(self.ids), dtype=np.int64),
            not_before=self._column(waiting.not_before, 'not_before').astype(np.float64),
            claim=self.among(claims),
            by_offer=self._column(waiting.by_offer, 'by_offer'),
            value=self._column(waiting.value, 'value').astype(np.float64),
        )

    def _texts(self, column: Sequence[str]) -> Sequence[str]:
        if self._all:
            return column
        return [one for one, kept in zip(column, self._kept, strict=True) if kept]

    def _column(self, column: Any, name: str) -> Any:
        return self._joined(column, [getattr(one, name) for one in self._suspended])

    def _joined(self, column: Any, rest: Sequence[float]) -> Any:
        stored = column if self._all else column[self._kept]
        if not len(rest):
            return stored
        return np.concatenate([stored, np.array(rest, dtype=stored.dtype)])


class OwnerRows:
    """Who submits, in the order of queues and of the ids of projects.

    of_waiting: (jobs,) row of each; an owner is looked up by one number, which its queue and project give
    """

    def __init__(
        self, waits: WaitingColumns, more: Sequence[Owner], queue_row: Mapping[str, int]
    ) -> None:
        """more: owners who need not have jobs that wait."""
        self._queue_row = queue_row
        self._names = sorted({*waits.projects, *(project for _, project in more)})
        self._project_row = {name: row for row, name in enumerate(self._names)}
        own = waits.queue * len(self._names) + _numbers(waits.projects, self._project_row)
        both = np.concatenate([own, self._keys_of(more)])
        self._keys, rows = np.unique(both, return_inverse=True)
        self.of_waiting: Rows = rows[: len(own)]

    def rows(self, owners: Sequence[Owner]) -> Rows:
        """Of each of these, who are among those that were given."""
        return np.searchsorted(self._keys, self._keys_of(owners))

    def columns(self, queues: Sequence[StoredQueue], usage: Mapping[Owner, float]) -> Owners:
        """With the weights that queues give their customers as shares."""
        queue, project = np.divmod(self._keys, max(len(self._names), 1))
        both = [
            (queues[row], self._names[name])
            for row, name in zip(queue.tolist(), project.tolist(), strict=True)
        ]
        return Owners(
            queue=queue,
            project=project,
            project_share=np.array([one.weights.get(name, 1.0) for one, name in both], np.float64),
            user_share=np.ones(len(both)),
            usage=np.array([usage.get((one.id, name), 0.0) for one, name in both], np.float64),
        )

    def _keys_of(self, owners: Sequence[Owner]) -> Rows:
        queue = _numbers([queue for queue, _ in owners], self._queue_row)
        project = _numbers([project for _, project in owners], self._project_row)
        return queue * len(self._names) + project


def newest(job: StoredJob, attempts: Mapping[str, Sequence[StoredAttempt]]) -> list[StoredAttempt]:
    """The parts of a job's newest attempt, by rank."""
    return [one for one in attempts.get(job.id, ()) if one.number == job.attempt]


def running_columns(
    jobs: Sequence[StoredJob],
    attempts: Mapping[str, Sequence[StoredAttempt]],
    host_of: Mapping[str, int],
    lifecycles: Mapping[str, Lifecycle],
    queue: Rows,
    owner: Rows,
) -> RunningJobs:
    """Active jobs that hold room. host_of: host of each worker; one whose host is not known is left out."""
    parts = [newest(one, attempts) for one in jobs]
    began = np.array(
        [
            min((part.created_at for part in own), default=job.changed_at)
            for job, own in _both(jobs, parts)
        ]
    ).reshape(len(jobs))
    run = np.array([one.started_at for one in jobs], dtype=np.float64).reshape(len(jobs))
    limit = np.array([one.time_limit for one in jobs], dtype=np.float64).reshape(len(jobs))
    saved = [max((part.saved_at for part in own), default=0.0) for own in parts]
    least = [
        one.least_run_time if may_be_preempted(one, lifecycles.get(one.flavor)) else np.inf
        for one in jobs
    ]
    amount = np.array([[one.cores, one.memory_mib, one.disk_gib] for one in jobs])
    return RunningJobs(
        queue=queue,
        owner=owner,
        best_effort=np.array([one.kind is JobKind.BEST_EFFORT for one in jobs], dtype=np.bool_),
        servers=np.array([one.servers for one in jobs], dtype=np.int64),
        amount=amount.reshape(len(jobs), len(AXES)).T,
        started=began,
        ends=np.where(run > 0.0, run, began) + limit,
        least_run_time=np.array(least, dtype=np.float64),
        saved=np.maximum(np.array(saved, dtype=np.float64), began),
        keeps_work=np.array([one.preempt_action is PreemptAction.SHELVE for one in jobs], np.bool_),
        leaving=np.array([is_leaving(one) for one in jobs], dtype=np.bool_),
        placement=_placement(parts, host_of),
    )


def with_leaving(
    running: RunningJobs,
    workers: Sequence[StoredWorker],
    host_of: Mapping[str, int],
    now: float,
    queue: Rows,
    owner: Rows,
) -> RunningJobs:
    """With a row for each of these workers, whose servers are being deleted. queue, owner: their rows.

    It is outside the shares, cannot be preempted, and leaves.
    """
    if not workers:
        return running
    count, first = len(workers), len(running)
    ones = np.ones(count, dtype=np.int64)
    amount = np.array([[one.cores, one.memory_mib, one.disk_gib] for one in workers]).T
    hosts = np.array([host_of[one.id] for one in workers], dtype=np.intp)
    rows = np.arange(first, first + count, dtype=np.intp)
    old = running.placement

    def more(column: Array, value: float) -> Array:
        return np.concatenate([column, np.full(count, value)])

    def flags(column: Flags, value: bool) -> Flags:
        return np.concatenate([column, np.full(count, value, dtype=np.bool_)])

    return RunningJobs(
        queue=np.concatenate([running.queue, queue]),
        owner=np.concatenate([running.owner, owner]),
        best_effort=flags(running.best_effort, True),
        servers=np.concatenate([running.servers, ones]),
        amount=np.concatenate([running.amount, amount], axis=1),
        started=more(running.started, now),
        ends=more(running.ends, now),
        least_run_time=more(running.least_run_time, np.inf),
        saved=more(running.saved, now),
        keeps_work=flags(running.keeps_work, False),
        leaving=flags(running.leaving, True),
        placement=Placement(
            job=np.concatenate([old.job, rows]),
            host=np.concatenate([old.host, hosts]),
            servers=np.concatenate([old.servers, ones]),
        ),
    )


def may_be_preempted(job: StoredJob, lifecycle: Lifecycle | None) -> bool:
    """Whether preempting it is allowed (J4)."""
    best_effort = job.kind is JobKind.BEST_EFFORT
    return (lifecycle or Lifecycle()).may_be_preempted(best_effort=best_effort)


def is_leaving(job: StoredJob) -> bool:
    """Whether it has been ordered to end."""
    return job.state is JobState.PREEMPTING or job.wish is not JobWish.RUN


def _placement(parts: Sequence[Sequence[StoredAttempt]], host_of: Mapping[str, int]) -> Placement:
    spots = Counter(
        (row, host_of[one.worker_id])
        for row, own in enumerate(parts)
        for one in own
        if one.worker_id in host_of
    )
    return Placement(
        job=np.array([row for row, _ in spots], dtype=np.intp),
        host=np.array([host for _, host in spots], dtype=np.intp),
        servers=np.array(list(spots.values()), dtype=np.int64),
    )


def _numbers(names: Sequence[str], number: Mapping[str, int]) -> Rows:
    """Of each name, or -1; names may be many, so that nothing else is done for each of them."""
    return np.fromiter(map(number.get, names, repeat(-1)), np.intp, len(names))


def _both(
    jobs: Sequence[StoredJob], parts: Sequence[Sequence[StoredAttempt]]
) -> list[tuple[StoredJob, Sequence[StoredAttempt]]]:
    return list(zip(jobs, parts, strict=True))
