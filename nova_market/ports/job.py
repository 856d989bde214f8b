# SPDX-License-Identifier: Apache-2.0
"""What the API and the service of jobs need: what is kept of queues, jobs, attempts, workers; and the cloud.

Any method of a store may raise errors.DatabaseUnavailable.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nova_market.core.job.queue import QueueMinute, QueueName, StoredQueue, StoredWorker
from nova_market.core.job.record import (
    AttemptOutput,
    HeldJob,
    JobContent,
    JobEvent,
    JobWish,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import (
    AttemptReport,
    JobExplanation,
    JobFilter,
    JobQuotas,
    JobStep,
    NewJobs,
    QueueCount,
    WaitingRows,
)
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.notice.notice import Notice


class QueueStore(Protocol):
    """Queues."""

    def create(self, queue: StoredQueue, most: int, rest: float = 0.0) -> StoredQueue:
        """Keep a new queue; the one that is stored under its id, when it is there already.

        rest: seconds in which a name that a queue of the project had goes to nobody but that queue's user

        :raises errors.QueueNameTaken: another queue of its project has its name, or the name rests.
        :raises errors.TooManyQueues: its project has `most` queues.
        :raises errors.SharesExceeded: with it, the shares of its cloud or aggregate are above 1.
        """

    def check(self, project_id: str, most: int) -> None:
        """:raises errors.TooManyQueues: the project has `most` queues."""

    def owned(self, project_id: str) -> int:
        """How many queues a project has."""

    def queue(self, name: str) -> StoredQueue | None:
        """One queue, by queue_access.key_of; None when there is none."""

    def named(self, name: str) -> Sequence[StoredQueue]:
        """Those of all projects that have this name, by project."""

    def admission(
        self, names: Sequence[str], *, fresh: bool
    ) -> tuple[Mapping[str, StoredQueue], Sequence[tuple[float, float, float]]]:
        """(queues by the key that is given, those that are there; `hosts`), read at once.

        fresh: False: they may be some seconds old; JobStore.submit refuses jobs by a queue that was changed
        """

    def queues(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[StoredQueue]:
        """Queues by name, then project; `after`: StoredQueue.key of the last one of a page.

        project_id: those of this one, and those that take its jobs; None: all
        """

    def accept(self, queue_id: str, name: QueueName, most: int, rest: float = 0.0) -> None:
        """A project calls a queue of another project by this name from now on, in place of another one.

        :raises errors.QueueNameTaken: it calls another queue so, or the name rests (`create`).
        :raises errors.TooManyQueues: it has accepted `most` queues.
        :raises errors.Conflict: there is no such queue.
        """

    def reject(self, queue_id: str, project_id: str) -> None:
        """It has no name for it any more."""

    def accepted(self, project_id: str) -> Mapping[str, str]:
        """What a project calls queues of others, by their ids."""

    def names(self, queue_ids: Sequence[str]) -> Mapping[str, str]:
        """Names of queues, by id."""

    def change(
        self, queue_id: str, changed: Mapping[str, Any], generation: int, rest: float = 0.0
    ) -> StoredQueue:
        """Set these fields of StoredQueue; what it is then. generation: of what was read. rest: as in create.

        :raises errors.Conflict: it was changed meanwhile, or there is none.
        :raises errors.QueueDeleting: it is being deleted; only its trust_id can be changed.
        :raises errors.QueueNameTaken, errors.SharesExceeded: as in create.
        """

    def delete(self, queue_id: str) -> StoredQueue | None:
        """Let it be deleted: DELETING, and the service removes it with its last worker. None: there is none.

        :raises errors.QueueNotEmpty: jobs of it have not ended; says how many.
        """

    def remove(self, queue_id: str) -> None:
        """Forget a queue with its workers, jobs, events and statistics; its name rests."""

    def counts(self, queue_ids: Sequence[str]) -> Mapping[str, QueueCount]:
        """How many jobs are where, by queue."""

    def replaced_trusts(self) -> Mapping[str, Sequence[str]]:
        """Trusts that queues had before their present ones, and that nobody has ended yet, by queue."""

    def trust_ended(self, trust_id: str) -> None:
        """It is not among them any more."""

    def note_hosts(self, sizes: Sequence[tuple[float, float, float]]) -> None:
        """Keep what the largest hosts have: cores, MiB, GiB of each. Admission asks whether a flavor fits."""

    def hosts(self) -> Sequence[tuple[float, float, float]]:
        """What was noted last; (): nothing yet."""

    def note(self, minutes: Sequence[QueueMinute]) -> None:
        """Keep what queues did in a minute, over what is there for it."""

    def minutes(
        self, queue_id: str, first: int, last: int, limit: int = 1000, *, newest_first: bool = False
    ) -> Sequence[QueueMinute]:
        """Minutes of one queue, in their order, both ends included; '': of all queues together."""


class JobStore(Protocol):
    """Jobs, as their owners and the service see them."""

    def submit(self, new: NewJobs, quotas: JobQuotas) -> tuple[Sequence[StoredJob], bool]:
        """(the jobs as stored, whether they are new). Ids that are stored already: nothing is changed.

        :raises errors.TooManyJobs: names the quota.
        :raises errors.KeyReused: their ids are stored with another digest of the request.
        :raises errors.Conflict: a queue is gone, takes no jobs any more, or is of another generation.
        :raises errors.BalanceTooLow: what they may cost cannot be held.
        """

    def job(self, job_id: str) -> StoredJob | None:
        """One job; None when there is none."""

    def jobs(self, chosen: JobFilter, before: int = 0, limit: int = 1000) -> Sequence[StoredJob]:
        """Newest first; before: number of the last one of a page, 0: from the newest."""

    def by_ids(self, job_ids: Sequence[str]) -> Mapping[str, StoredJob]:
        """Jobs that are there, by id."""

    def members(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The projects of the jobs and arrays that these ids name; those of none are left out."""

    def content(self, content_id: str) -> JobContent | None:
        """What a job runs."""

    def want(
        self, job_id: str, wish: JobWish, by: str, quotas: JobQuotas | None = None
    ) -> StoredJob | None:
        """The owner's: cancel or requeue a job; what it is then. None: there is none.

        A job that waits or is held is cancelled at once; one that is active gets the wish, which the service
        carries out; one that has ended waits again after `requeue`, or is held until what it comes after has
        ended, and stays as it is after `cancel`.

        quotas: for `requeue`; None: whatever waits beside it

        :raises errors.Conflict: `requeue` of a job that waits, or that what it comes after would cancel.
        :raises errors.TooManyJobs, errors.QueueClosed, errors.BalanceTooLow: of one that has ended.
        """

    # for the service
    def waiting(self) -> WaitingRows:
        """All that wait."""

    def active(self) -> Sequence[StoredJob]:
        """All that are starting, running, preempting or suspended, by number."""

    def held(self) -> Sequence[HeldJob]:
        """All that are held, by number, with the states of what they come after."""

    def decide(self, steps: Sequence[JobStep]) -> Sequence[str]:
        """Write these, in one transaction; ids of the jobs whose step was written. See JobStep.

        A step that was written before, with the same columns, counts as written.
        """

    def explain(self, explanations: Sequence[JobExplanation]) -> None:
        """Set reason and expected start of jobs that still wait or are held."""


class JobStateStore(Protocol):
    """What the service carries from pass to pass, and across restarts: documents of JSON, by name."""

    def read(self, name: str) -> Mapping[str, Any]:
        """What was written last under this name; {}: nothing yet."""

    def newer(self, name: str, known: int) -> tuple[int, Mapping[str, Any] | None]:
        """(version of what was written last, and what it is; None: it has the version that is known).

        {}: nothing yet, or what cannot be read
        """

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Keep it in place of what is there. name: at most 20 characters."""

    def exchange(
        self,
        name: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        notices: Sequence[Notice] = (),
    ) -> bool:
        """Keep `after` if `before` ({}: nothing) is there still; whether it was: of several one succeeds.

        notices: queued in the same transaction for those who want them by mail or to a webhook
        """


class AttemptStore(Protocol):
    """Attempts, their output, and the workers that run them."""

    def attempts(self, job_ids: Sequence[str]) -> Mapping[str, Sequence[StoredAttempt]]:
        """All attempts of these jobs, by job, in order of number and rank."""

    def attempts_of(self, job_id: str) -> Sequence[StoredAttempt]:
        """The same of one job.

        :raises errors.BadRow: one of them cannot be read.
        """

    def report(self, report: AttemptReport) -> StoredAttempt:
        """Keep a heartbeat or a result; the attempt as it was *before*.

        A result counts once: the same again changes nothing. A heartbeat after the result changes nothing.
        The job's row is the service's: it sees the ended attempt in its next pass.

        :raises errors.UnknownAttempt: there is none such, or it is another worker's.
        :raises errors.AttemptEnded: a result for an attempt that has ended otherwise.
        """

    def output(self, job_id: str, number: int, rank: int = 0) -> AttemptOutput | None:
        """The tail of what it has written; None when nothing was sent."""

    def tell(self, events: Sequence[JobEvent]) -> None:
        """Keep events; of each job the newest core.job.record.MAX_EVENTS stay."""

    def events(
        self, job_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[JobEvent]:
        """Newest first; `before`: number of the last one of a page."""

    def events_since(self, after: int, limit: int = 1000) -> Sequence[JobEvent]:
        """Of all jobs, oldest first: what notifications are made of."""

    def worker(self, worker_id: str) -> StoredWorker | None:
        """One worker; None when there is none."""

    def workers_by_ids(self, worker_ids: Sequence[str]) -> Sequence[StoredWorker]:
        """Those that are there, by id."""

    def workers(self, queue_id: str | None = None) -> Sequence[StoredWorker]:
        """Those of one queue or of all, by id."""

    def put(self, workers: Sequence[StoredWorker]) -> None:
        """Write rows of workers, over those that are there."""

    def seen(self, worker_id: str, at: float, clock_offset: float, address: str = '') -> None:
        """Its agent has called; '': the address stays. Nothing when the worker is gone."""

    def exchange(self, worker_id: str, credential: str, session: str) -> bool:
        """Keep a session for this boot secret, both as digests, where the secret has none yet.

        Whether it is the one that is kept. False: the secret has another one, or is not this worker's.
        """

    def drop(self, worker_ids: Sequence[str]) -> None:
        """Forget workers."""


class JobHosts(Protocol):
    """Where jobs could run: all of the cloud. Any method may raise errors.CloudUnavailable."""

    def hosts(self) -> Sequence[CloudHost]:
        """All compute hosts, by name."""

    def servers(self) -> Sequence[CloudServer]:
        """All servers that are on a host, of all projects, by id."""

    def aggregates(self) -> Mapping[str, Sequence[str]]:
        """The names of the hosts of each aggregate, by its name."""


class WorkerUrl(Protocol):
    """The API as workers reach it."""

    def answers(self) -> bool:
        """Whether it answers now: nobody is silent while it does not (JW8). Raises nothing."""
