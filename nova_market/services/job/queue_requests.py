# SPDX-License-Identifier: Apache-2.0
"""What owners and the operator ask of queues is carried out: made, changed, deleted.

Implements rules J1 and J11 of doc/source/specs/jobs.rst. core.job.queue_request checks what is asked. A queue
has a trust of Keystone, with which the service makes its workers in its project.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import uuid4

from nova_market.core.app.cloud_name import NO_NETWORK, CloudName, NameKind, problem_of
from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.queue_request import Policies, changed_queue, new_queue
from nova_market.errors import BadQueue, Conflict, DatabaseUnavailable, NovaMarketError
from nova_market.ports import Flavors, OwnerNames, QueueStore, Trusts
from nova_market.services.owner import Owner, delegated, end_trust

LOG = logging.getLogger(__name__)

TRIES = 5
"""For a caller who does not name the generation that he replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRequestStores:
    """What requests are carried out with. wall: seconds since the epoch."""

    queues: QueueStore
    trusts: Trusts
    flavors: Flavors
    names: OwnerNames
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRequestSettings:
    """max_queues: of a project; name_rest: seconds in which a name that was given up rests

    trust_roles: roles that are handed on, none named: all
    policies: that a queue may have; limits: what it may not exceed
    """

    max_queues: int
    name_rest: float
    trust_roles: tuple[str, ...]
    policies: Policies
    limits: JobLimits


class QueueRequests:
    """The requests of one owner."""

    def __init__(
        self, stores: QueueRequestStores, settings: QueueRequestSettings, owner: Owner
    ) -> None:
        self._stores = stores
        self._settings = settings
        self._owner = owner

    def create(self, document: Mapping[str, Any], project_id: str) -> StoredQueue:
        """A new queue with a trust; nothing is left of either when it can't be stored.

        :raises BadQueue, TrustRefused, QueueNameTaken, TooManyQueues, SharesExceeded, CloudUnavailable:
            nothing was made.
        """
        made = new_queue(
            document,
            self._settings.policies,
            self._known(document),
            self._settings.limits,
            queue_id=str(uuid4()),
            project_id=project_id,
            user_id=self._owner.user_id,
            now=self._stores.wall(),
        )
        self._stores.queues.check(project_id, self._settings.max_queues)
        self._check_names(document, project_id)
        trust = self._trusted(project_id)
        try:
            return self._stores.queues.create(
                replace(made, trust_id=trust), self._settings.max_queues, self._settings.name_rest
            )
        except DatabaseUnavailable:
            # it may have been stored all the same
            LOG.warning('queue %s may have been made, with trust %s', made.id, trust)
            raise
        except NovaMarketError:
            end_trust(self._stores.trusts, self._owner, trust)
            raise

    def update(
        self, queue: StoredQueue, document: Mapping[str, Any], generation: int | None
    ) -> StoredQueue:
        """The queue with what the document has; with `new_trust` its workers are made for the caller.

        :raises BadQueue, TrustRefused, QueueDeleting, QueueNameTaken, SharesExceeded, Conflict: nothing was
            changed.
        """
        self._check_names(document, queue.project_id)
        trust: dict[str, Any] = {}
        if 'new_trust' in document:
            trust = {
                'trust_id': self._trusted(queue.project_id),
                'user_id': self._owner.user_id,
            }
        try:
            return self._updated(queue, document, trust, generation)
        except DatabaseUnavailable:
            LOG.warning('queue %s may have been changed; new trust: %s', queue.id, trust)
            raise
        except NovaMarketError:
            end_trust(self._stores.trusts, self._owner, trust.get('trust_id', ''))
            raise

    def _updated(
        self,
        queue: StoredQueue,
        document: Mapping[str, Any],
        trust: Mapping[str, Any],
        generation: int | None,
    ) -> StoredQueue:
        known = self._known(document)
        for _ in range(TRIES):
            made = changed_queue(
                queue, document, self._settings.policies, known, self._settings.limits
            )
            changed = {**_difference(queue, made), **trust}
            if not changed:
                return queue
            try:
                return self._stores.queues.change(
                    queue.id, changed, generation or queue.generation, self._settings.name_rest
                )
            except Conflict as error:
                found = self._stores.queues.queue(queue.id)
                if generation or found is None or found.generation == queue.generation:
                    raise error from None
                queue = found
        raise Conflict(f'queue {queue.name} is changed by others all the time: try again')

    def _check_names(self, document: Mapping[str, Any], project_id: str) -> None:
        """What workers are made of: else the first job would find out.

        The names of another project are not looked up: the token of the caller does not show them.

        :raises BadQueue: an image or a network that there is not. :raises CloudUnavailable: nobody can tell.
        """
        owner = self._owner
        if project_id != owner.project_id:
            return
        names = {}
        if document.get('image'):
            names['image'] = CloudName(NameKind.IMAGE, document['image'])
        for n, network in enumerate(document.get('networks') or ()):
            if (network,) != NO_NETWORK:
                names[f'networks[{n}]'] = CloudName(NameKind.NETWORK, network)
        if not names:
            return
        unknown = self._stores.names.unknown(owner.token, project_id, names.values())
        problem = problem_of(names, unknown)
        if problem is not None:
            raise BadQueue(problem)

    def _known(self, document: Mapping[str, Any]) -> Collection[str]:
        """Those flavors of the document that the cloud has."""
        names = document.get('flavors', ())
        return [name for name in names if self._stores.flavors.size(name) is not None]

    def _trusted(self, project_id: str) -> str:
        return delegated(self._stores.trusts, self._owner, self._settings.trust_roles, project_id)


def _difference(before: StoredQueue, after: StoredQueue) -> dict[str, Any]:
    names = [field.name for field in fields(StoredQueue)]
    return {n: getattr(after, n) for n in names if getattr(after, n) != getattr(before, n)}
