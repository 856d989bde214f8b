# SPDX-License-Identifier: Apache-2.0
"""An owner's requests about bags of tasks are carried out: created, filled, changed, cancelled.

For the owner's part of rule T5 of doc/source/specs/tender.rst, around core.tender.bag_request. With a key the
id of the bag follows from it, so that a request that is sent again after a lost answer finds its bag.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from nova_market.core.job.queue import QueueState, StoredQueue
from nova_market.core.job.queue_access import (
    Submitter,
    invitations,
    key_of,
    may_submit,
    no_queue,
)
from nova_market.core.tender.bag import MAX_TASKS, BagAction, BagEvent, StoredBag
from nova_market.core.tender.bag_request import (
    BagFacts,
    changes,
    deadline_of,
    digest_of,
    new_bag,
    new_tasks,
)
from nova_market.core.text import shown
from nova_market.errors import BadBag, KeyReused, QueueClosed
from nova_market.ports import OwnBags, QueueStore


@dataclass(frozen=True, slots=True, kw_only=True)
class BagLimits:
    """max_tasks: of one bag; max_open: bags of a project that have not ended"""

    max_tasks: int = MAX_TASKS
    max_open: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BagRequestStores:
    """What requests are carried out with. wall: seconds since the epoch."""

    bags: OwnBags
    queues: QueueStore
    wall: Callable[[], float]


class BagRequests:
    """Requests of one caller. utilities: names of those that are installed."""

    def __init__(
        self,
        stores: BagRequestStores,
        by: Submitter,
        limits: BagLimits,
        utilities: Collection[str],
    ) -> None:
        self._stores = stores
        self._by = by
        self._limits = limits
        self._utilities = utilities

    def create(self, body: Mapping[str, Any], key: str | None) -> tuple[StoredBag, bool]:
        """(the bag, whether it is new). key: of the caller's project; None: it has none.

        :raises BadBag, QueueClosed: names what is wrong.
        :raises TooManyBags, KeyReused: nothing was stored.
        """
        named = f'market:bag:{self._by.project_id}/{key}'
        bag_id = str(uuid4() if key is None else uuid5(NAMESPACE_URL, named))
        before = self._stores.bags.bag(bag_id) if key is not None else None
        if before is not None:
            if before.digest != digest_of(self._by, body):
                raise KeyReused('Idempotency-Key: it was used for another bag: choose a new one')
            return before, False
        self._stores.bags.check(self._by.project_id, self._limits.max_open)
        queues = [self._queue(n, name) for n, name in enumerate(body['queues'])]
        for n, one in enumerate(queues):
            if one.state is not QueueState.OPEN:
                raise QueueClosed(f'queues[{n}]: {one.name} is {one.state}: name another one')
        facts = self._facts(queues)
        bag = new_bag(body, bag_id, self._by, facts)
        new = new_tasks(body['tasks'], bag, 0, facts)
        return self._stores.bags.create(bag, new, self._limits.max_open)

    def add(self, bag: StoredBag, body: Mapping[str, Any]) -> StoredBag:
        """More tasks of a bag that is being filled.

        :raises BadBag: names what is wrong; BagEnded: it takes no more.
        """
        found = [self._stores.queues.queue(name) for name in bag.queues]
        facts = self._facts([one for one in found if one is not None])
        new = new_tasks(body['tasks'], bag, body['first'], facts)
        return self._stores.bags.add(bag.id, body['first'], new, more=body.get('more', False))

    def change(self, bag: StoredBag, body: Mapping[str, Any]) -> StoredBag:
        """Its settings, and the deadline of all of its tasks that wait.

        :raises BadBag: names what is wrong; BagEnded: it has ended or was cancelled.
        """
        now = self._stores.wall()
        changed = changes(body, self._facts(()))
        deadline = None
        if 'deadline' in body or 'within' in body:
            deadline = deadline_of('bag', body, now)
        said = ', '.join(f'{name}: {shown(value)}' for name, value in body.items())
        return self._stores.bags.change(
            bag.id, changed, deadline, self._event(bag, BagAction.CHANGED, said)
        )

    def cancel(self, bag: StoredBag, *, jobs: bool) -> StoredBag:
        """Nothing is negotiated any more. jobs: its jobs are cancelled too."""
        said = 'with its jobs' if jobs else 'its jobs go on'
        event = self._event(bag, BagAction.CANCELLED, said)
        return self._stores.bags.cancel(bag.id, event, jobs=jobs)

    def _facts(self, queues: Collection[StoredQueue]) -> BagFacts:
        return BagFacts(
            utilities=self._utilities,
            most_tasks=self._limits.max_tasks,
            now=self._stores.wall(),
            queues=tuple(queues),
        )

    def _queue(self, n: int, name: str) -> StoredQueue:
        found = self._stores.queues.queue(key_of(name, self._by.project_id))
        if found is None or not may_submit(found, self._by):
            named = invitations(self._stores.queues.named(name), self._by)
            raise BadBag(f'queues[{n}]: {no_queue(name, named)}')
        return found

    def _event(self, bag: StoredBag, action: BagAction, said: str) -> BagEvent:
        return BagEvent(
            bag_id=bag.id,
            at=self._stores.wall(),
            action=action,
            reason=f'by {self._by.user_id[:64]}: {said}',
        )
