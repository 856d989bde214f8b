# SPDX-License-Identifier: Apache-2.0
"""Queues that are being deleted: with the last worker their trust is ended, and they are forgotten.

Implements the end of a queue, rule J1 of doc/source/specs/jobs.rst (SVMSched, section 4.2).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from nova_market.core.job.queue import QueueState, StoredQueue
from nova_market.core.market.owner_server import OwnerAccess
from nova_market.errors import BadQueue, TrustGone
from nova_market.ports import AttemptStore, Clock, OwnerCloud, QueueStore
from nova_market.services.replaced_trusts import ReplacedTrusts

LOG = logging.getLogger(__name__)


class QueueClosing:
    """read() once in a pass, then end() for each queue."""

    def __init__(self, store: QueueStore, cloud: OwnerCloud, clock: Clock) -> None:
        self._store = store
        self._cloud = cloud
        self._replaced = ReplacedTrusts(
            'queue',
            cloud,
            clock,
            known=store.replaced_trusts,
            ended=lambda _, trust_id: store.trust_ended(trust_id),
        )

    def read(self) -> None:
        """Which trusts were replaced."""
        self._replaced.read()

    def end(self, queue: StoredQueue, *, empty: bool) -> None:
        """End its former trusts; and the queue itself, if it is to go and nothing is left of it.

        :raises CloudUnavailable, AccessLost, CloudRefused: what is left is done in the next pass.
        """
        all_ended = self._replaced.end(queue)
        if not (all_ended and empty and queue.state is QueueState.DELETING):
            return
        if queue.trust_id:
            # what is refused now may be a delegation that lives on: its id must not be forgotten
            try:
                access = OwnerAccess(project_id=queue.project_id, trust_id=queue.trust_id)
                self._cloud.forget(access)
            except TrustGone:
                LOG.debug('queue %s: its trust is gone already', queue.name)
        self._store.remove(queue.id)
        LOG.info('queue %s is deleted', queue.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What may still be in the cloud of a queue that was forgotten."""

    queue: StoredQueue
    servers: Sequence[str]
    trusts: Sequence[str]


def forgotten(store: QueueStore, attempts: AttemptStore, name: str) -> Left:
    """Forget a queue without asking the cloud, for operators. name: or its id.

    :raises BadQueue: there is none, or several have this name, or nobody has asked to delete it.
    """
    exact = store.queue(name)
    found = store.named(name) if exact is None else [exact]
    if not found:
        raise BadQueue(f'there is no queue {name!r:.80}: see nova-market-jobs status')
    if len(found) > 1:
        ids = ', '.join(f'{one.id} of project {one.project_id}' for one in found)
        raise BadQueue(f'{len(found)} projects have a queue {name}: give an id: {ids}')
    (queue,) = found
    if queue.state is not QueueState.DELETING:
        raise BadQueue(
            f'queue {queue.name} is {queue.state}: first "openstack market queue delete {queue.name}"'
        )
    servers = [one.server_id for one in attempts.workers(queue.id) if one.server_id]
    trusts = [
        *([queue.trust_id] if queue.trust_id else []),
        *store.replaced_trusts().get(queue.id, ()),
    ]
    store.remove(queue.id)
    return Left(queue=queue, servers=servers, trusts=trusts)
