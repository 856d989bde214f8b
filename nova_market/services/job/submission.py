# SPDX-License-Identifier: Apache-2.0
"""A submission is carried out: what admission decides by is read, and its jobs are stored.

Implements rule J2 of doc/source/specs/jobs.rst (SVMSched, section 4.2.1) around core.job.request. With a key
the ids of the jobs follow from it, so that a request that is sent again after a lost answer finds its jobs.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4, uuid5

from nova_market.core.job.operator_limits import JobLimits, queue_in_force
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.queue_access import Submitter, invitations, key_of, may_submit
from nova_market.core.job.record import DEFAULT_PRIORITY, StoredJob
from nova_market.core.job.request import (
    AdmissionFacts,
    Size,
    admitted,
    indices,
)
from nova_market.core.job.store_values import JobQuotas, NewJobs
from nova_market.core.ledger.posting import account
from nova_market.errors import BadJob, KeyReused, QueueChanged, QueueClosed
from nova_market.ports import Flavors, JobStore, LedgerStore, QueueStore

NAMESPACE = UUID('7c1d5f0e-8a55-4b0e-9c0a-2f1b6d3e9a47')
"""Of the ids that follow from keys; it must never change."""

Entries = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionStores:
    """What submissions are carried out with. wall: seconds since the epoch."""

    queues: QueueStore
    jobs: JobStore
    ledger: LedgerStore
    flavors: Flavors
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionQuotas:
    """most_waiting: jobs of the project that wait; most_jobs: of one request, with the elements of arrays

    limits: what no queue may exceed
    """

    most_waiting: int
    most_jobs: int
    limits: JobLimits = field(default_factory=JobLimits)


class Submissions:
    """The submissions of one submitter."""

    def __init__(
        self,
        stores: SubmissionStores,
        by: Submitter,
        quotas: SubmissionQuotas,
        prioritizes: Callable[[StoredQueue], bool],
    ) -> None:
        """by: without `prioritizes`; the function says it of a queue, and is asked where it matters."""
        self._stores = stores
        self._by = by
        self._quotas = quotas
        self._prioritizes = prioritizes

    def submit(self, entries: Entries, key: str | None) -> tuple[Sequence[StoredJob], bool]:
        """(the jobs, whether they are new). key: of the submitter's project; None: it has none.

        :raises BadJob, BalanceTooLow, QueueClosed, TooManyJobs, KeyReused, QueueChanged: nothing was stored.
        """
        digest = _digest(entries, self._by.user_id)
        identify = _identify(self._by.project_id, key)
        if key is not None and (found := self._stored(entries, identify, digest)):
            return found, False
        try:
            return self._admit(entries, identify, digest, fresh=False)
        except (BadJob, QueueClosed, QueueChanged):
            # perhaps by what a queue was some seconds ago
            return self._admit(entries, identify, digest, fresh=True)

    def _admit(
        self, entries: Entries, identify: Callable[[str], str], digest: str, *, fresh: bool
    ) -> tuple[Sequence[StoredJob], bool]:
        return self._stores.jobs.submit(*self._checked(entries, identify, digest, fresh=fresh))

    def checked(
        self, entry: Mapping[str, Any], job_id: str, offered: int
    ) -> tuple[NewJobs, JobQuotas]:
        """One job of an offer, which is not stored yet, and the quotas that hold for it. offered: its cost

        :raises BadJob, BalanceTooLow, QueueClosed: as submit.
        """
        digest = _digest([entry], self._by.user_id)
        return self._checked([entry], lambda path: job_id, digest, fresh=True, offered=offered)

    def _checked(
        self,
        entries: Entries,
        identify: Callable[[str], str],
        digest: str,
        *,
        fresh: bool,
        offered: int | None = None,
    ) -> tuple[NewJobs, JobQuotas]:
        given = dict.fromkeys(entry['queue'] for entry in entries)
        named = {name: key_of(name, self._by.project_id) for name in given}
        known, hosts = self._stores.queues.admission(tuple(named.values()), fresh=fresh)
        queues = {name: known[full] for name, full in named.items() if full in known}
        by = self._submitter(entries, queues)
        queues = {
            name: queue_in_force(one, self._quotas.limits)
            for name, one in queues.items()
            if may_submit(one, by)
        }
        facts = AdmissionFacts(
            queues=queues,
            invited=self._invited(named.keys() - queues.keys(), by),
            flavors=self._sizes(queues),
            hosts=hosts,
            known=self._known(entries),
            balance=self._balance(queues),
            most_jobs=self._quotas.most_jobs,
            offered=offered,
            now=self._stores.wall(),
        )
        new = admitted(entries, by, facts, identify, digest)
        quotas = JobQuotas(
            most_waiting=self._quotas.most_waiting,
            of_queue={one.id: one.limits.max_waiting for one in queues.values()},
        )
        return new, quotas

    def _stored(
        self, entries: Entries, identify: Callable[[str], str], digest: str
    ) -> Sequence[StoredJob]:
        """What the same request has stored before; () when it is new."""
        first = self._stores.jobs.job(identify(f'job/0/{indices(entries[0])[0]}'))
        if first is None:
            return ()
        content = self._stores.jobs.content(first.content_id)
        if content is None or content.digest != digest:
            raise KeyReused('Idempotency-Key: it was used for another submission: choose a new one')
        ids = [
            identify(f'job/{n}/{index}')
            for n, entry in enumerate(entries)
            for index in indices(entry)
        ]
        found = self._stores.jobs.by_ids(ids)
        return [found[name] for name in ids if name in found]

    def _submitter(self, entries: Entries, queues: Mapping[str, StoredQueue]) -> Submitter:
        urgent = {
            e['queue'] for e in entries if e.get('priority', DEFAULT_PRIORITY) < DEFAULT_PRIORITY
        }
        chosen = [one for name, one in queues.items() if name in urgent]
        return Submitter(
            user_id=self._by.user_id,
            project_id=self._by.project_id,
            roles=self._by.roles,
            prioritizes=tuple(one.id for one in chosen if self._prioritizes(one)),
        )

    def _invited(self, names: Iterable[str], by: Submitter) -> Sequence[str]:
        """Queues of other projects that may be meant by these names."""
        found = [self._stores.queues.named(name) for name in sorted(names)]
        return [one for queues in found for one in invitations(queues, by)]

    def _sizes(self, queues: Mapping[str, StoredQueue]) -> Mapping[str, Size]:
        names = dict.fromkeys(name for one in queues.values() for name in one.flavors)
        sizes = {name: self._stores.flavors.size(name) for name in names}
        return {name: size for name, size in sizes.items() if size is not None}

    def _known(self, entries: Entries) -> Mapping[str, str]:
        names = dict.fromkeys(name for entry in entries for name in entry.get('after', ()))
        return self._stores.jobs.members(tuple(names)) if names else {}

    def _balance(self, queues: Mapping[str, StoredQueue]) -> int:
        """Of the project; not read where nothing has a price."""
        if not any(one.price_core_hour or one.is_tender for one in queues.values()):
            return 0
        name = account('project', self._by.project_id)
        return self._stores.ledger.balances([name]).get(name, 0)


def _identify(project_id: str, key: str | None) -> Callable[[str], str]:
    """A UUID for a path: always the same one for the same path and key."""
    made: dict[str, str] = {}

    def identify(path: str) -> str:
        if path not in made:
            known = None if key is None else uuid5(NAMESPACE, f'{project_id}/{key}/{path}')
            made[path] = str(known or uuid4())
        return made[path]

    return identify


def _digest(entries: Entries, user_id: str) -> str:
    text = json.dumps([user_id, list(entries)], sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()
