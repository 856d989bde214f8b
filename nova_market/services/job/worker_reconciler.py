# SPDX-License-Identifier: Apache-2.0
"""Brings the servers of a queue's workers to what is intended: made, suspended, resumed, deleted.

Implements rule F5 of doc/source/specs/jobs.rst for the virtual machines of SVMSched, section 4.2.3. Seconds.

A worker's row is written before Nova is asked, and its server carries the ids of its queue and its worker. So
whoever comes after a service that died finds what was made by these marks, deletes what was made twice, and
makes what is missing. Each request to make a server has a credential of its own, whose digest is written
before the request: nothing is kept that a credential follows from. Of two servers of one worker the newer one
stays, as only its agent is let in.

Whether a job goes on when its server is gone or could not be made is for core.job.progress: nothing is made
anew here for a worker that had a server. A server that was refused is shown to it as one that failed. While
the cloud refuses servers of a queue, the queue's other workers wait, each time twice as long.
"""

import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nova_market.core.app.credential import digest
from nova_market.core.job.queue import (
    DesiredWorkerState,
    StoredQueue,
    StoredWorker,
)
from nova_market.core.market.owner_server import (
    ACTIONS,
    NewServer,
    OwnerAccess,
    OwnerServer,
    ServerState,
)
from nova_market.errors import BadAmount, CloudRefused
from nova_market.ports import AttemptStore, Clock, OwnerCloud
from nova_market.row_boundary import RowBoundary
from nova_market.services.job.settings import JobsSettings
from nova_market.services.job.worker_servers import QueueServers, kept_server

LOG = logging.getLogger(__name__)

CALLS = 20
"""Changes that are asked for in one pass for one queue: all others wait meanwhile."""

AT_REST = {
    DesiredWorkerState.PRESENT: ServerState.RUNNING,
    DesiredWorkerState.SUSPENDED: ServerState.SUSPENDED,
    DesiredWorkerState.SHELVED: ServerState.SHELVED,
}
NAME_LENGTH = 255
"""Of a server, in Nova."""


@dataclass(slots=True)
class _Hold:
    """A queue for which the cloud has refused a server. until: of the clock's wall; pause: the last one."""

    until: float
    pause: float
    why: str


@dataclass(slots=True)
class _Work:
    """One queue in this pass.

    servers: of it, as the cloud has them; hosts: names of their hosts, by id; asked: changes so far
    """

    queue: StoredQueue
    access: OwnerAccess
    hosts: Mapping[str, str]
    servers: QueueServers
    asked: int = 0


class WorkerReconciler:
    """One pass over the workers of one queue at a time."""

    def __init__(
        self,
        attempts: AttemptStore,
        cloud: OwnerCloud,
        clock: Clock,
        settings: JobsSettings,
        boundary: RowBoundary,
    ) -> None:
        self._boundary = boundary
        self._attempts = attempts
        self._cloud = cloud
        self._clock = clock
        self._settings = settings
        self._holds: dict[str, _Hold] = {}
        self._refused: dict[str, str] = {}
        self._silent: set[tuple[str, str]] = set()
        self._first: dict[str, int] = {}

    def held(self) -> Mapping[str, str]:
        """Queues for which nothing is made now, by id, and why."""
        now = self._clock.wall()
        return {name: one.why for name, one in self._holds.items() if now < one.until}

    def refused(self) -> Mapping[str, OwnerServer]:
        """Servers that the cloud has refused to make, by worker, as if they had failed."""
        return {
            worker_id: OwnerServer(
                id='', owner='', place=worker_id, state=ServerState.FAILED, fault=why
            )
            for worker_id, why in self._refused.items()
        }

    def keep(self, queue_ids: Iterable[str], worker_ids: Iterable[str]) -> None:
        """Forget all others: they are gone."""
        queues, workers = frozenset(queue_ids), frozenset(worker_ids)
        self._holds = {one: self._holds[one] for one in self._holds if one in queues}
        self._first = {one: self._first[one] for one in self._first if one in queues}
        self._refused = {one: self._refused[one] for one in self._refused if one in workers}
        self._silent = {one for one in self._silent if one[0] in workers}

    def converge(
        self,
        queue: StoredQueue,
        workers: Sequence[StoredWorker],
        servers: QueueServers,
        hosts: Mapping[str, str],
    ) -> bool:
        """One step for each worker; whether nothing is left of the queue in the cloud.

        servers: of it, read before `workers`
        hosts: names of the hosts of servers, by the server's id

        :raises CloudUnavailable, AccessLost, DatabaseUnavailable: the rest waits for the next pass.
        """
        access = OwnerAccess(project_id=queue.project_id, trust_id=queue.trust_id)
        work = _Work(queue, access, hosts, servers)
        self._delete_strangers(work, workers)
        # begin with what the last pass did not come to
        first = self._first.pop(queue.id, 0) % max(len(workers), 1)
        left = len(workers)
        for n, worker in enumerate([*workers[first:], *workers[:first]]):
            if work.asked >= CALLS:
                self._first[queue.id] = first + n
                return False
            with self._boundary.row('worker', worker.id, 'server'):
                left -= self._one(work, worker)
        return not left and not servers.by_place and not servers.blind

    def _delete_strangers(self, work: _Work, workers: Sequence[StoredWorker]) -> None:
        """Servers that carry this queue's id and are no worker of it: it deletes what was made too late."""
        # one that cannot be read is there all the same
        known = {one.id for one in workers} | self._boundary.unread('worker')
        for worker_id in sorted(work.servers.by_place.keys() - known):
            for one in work.servers.by_place[worker_id]:
                if one.state is not ServerState.DELETING and work.asked < CALLS:
                    self._delete(work, one, 'it is no worker of the queue')

    def _one(self, work: _Work, worker: StoredWorker) -> bool:
        """One step; whether the worker is gone."""
        own = work.servers.of(worker)
        kept = kept_server(worker, own)
        for one in own:
            if one is not kept and one.state is not ServerState.DELETING:
                self._delete(work, one, f'worker {worker.id} has another one')
        if kept is not None:
            worker = self._noted(work, worker, kept)
        if worker.intention is DesiredWorkerState.GONE:
            return self._leave(work, worker, kept)
        if kept is not None:
            self._keep(work, worker, kept)
            return False
        if not worker.server_id:
            self._make(work, worker)
        elif not worker.job_id:
            # nobody waits for it: it is forgotten, as its server has been deleted by somebody
            LOG.info('queue %s: server %s is gone', work.queue.name, worker.server_id)
            self._attempts.drop([worker.id])
            return True
        return False

    def _noted(self, work: _Work, worker: StoredWorker, kept: OwnerServer) -> StoredWorker:
        """The row with what the cloud shows of its server."""
        before = worker
        if kept.id != worker.server_id:
            LOG.info('queue %s: server %s is worker %s', work.queue.name, kept.id, worker.id)
        if kept.id != worker.server_id:
            # the one that was asked for, and whose answer got lost
            worker = replace(worker, tries=0, retry_at=0.0)
        seen = replace(
            worker,
            server_id=kept.id,
            address=kept.address or worker.address,
            host=work.hosts.get(kept.id, worker.host),
        )
        return self._write(seen) if seen != before else before

    def _leave(self, work: _Work, worker: StoredWorker, kept: OwnerServer | None) -> bool:
        if kept is not None:
            if kept.state not in (ServerState.DELETING, ServerState.UNKNOWN):
                self._delete(work, kept, 'it is not needed any more')
            return False
        # one that was asked for may still come
        if not worker.server_id and worker.tries and self._clock.wall() < worker.retry_at:
            return False
        if work.servers.blind and not worker.server_id:
            return False
        self._attempts.drop([worker.id])
        self._refused.pop(worker.id, None)
        return True

    def _make(self, work: _Work, worker: StoredWorker) -> None:
        queue, now = work.queue, self._clock.wall()
        hold = self._holds.get(queue.id)
        held = hold is not None and now < hold.until
        if held or work.servers.blind or now < worker.retry_at or worker.id in self._refused:
            return
        credential = secrets.token_urlsafe(32)
        # before the request: when the answer gets lost, or we die, the server may still come
        worker = self._write(
            replace(
                worker,
                credential=digest(credential),
                tries=worker.tries + 1,
                retry_at=now + self._settings.settle_time,
            )
        )
        work.asked += 1
        try:
            wanted = NewServer(
                owner=queue.id,
                place=worker.id,
                name=f'{queue.name}-{worker.id[:8]}'[:NAME_LENGTH],
                flavor=worker.flavor,
                image=queue.image,
                networks=queue.networks,
                user_data=self._settings.image.user_data(worker.id, credential),
            )
            server_id = self._cloud.create(work.access, wanted)
        except (CloudRefused, BadAmount) as error:
            self._refuse(queue, worker, str(error))
            return
        self._holds.pop(queue.id, None)
        self._write(replace(worker, server_id=server_id, tries=0, retry_at=0.0))
        LOG.info('queue %s: server %s is made for worker %s', queue.name, server_id, worker.id)

    def _refuse(self, queue: StoredQueue, worker: StoredWorker, why: str) -> None:
        """No server comes: its job waits again, and the queue for longer each time."""
        before = self._holds.get(queue.id)
        settings = self._settings
        pause = settings.first_pause if before is None else 2.0 * before.pause
        pause = min(pause, settings.longest_pause)
        now = self._clock.wall()
        self._holds[queue.id] = _Hold(now + pause, pause, f'no server can be made: {why}')
        if before is None or before.why != self._holds[queue.id].why:
            LOG.warning('queue %s: no server can be made: %s', queue.name, why)
        self._refused[worker.id] = why
        self._write(replace(worker, tries=0, retry_at=0.0))

    def _keep(self, work: _Work, worker: StoredWorker, kept: OwnerServer) -> None:
        action = ACTIONS.get((kept.state, AT_REST[worker.intention]))
        if action is None:
            return
        ask = {name: getattr(self._cloud, name) for name in ACTIONS.values()}[action]
        work.asked += 1
        try:
            ask(work.access, kept.id)
        except CloudRefused as error:
            self._once(worker, action, error)
            return
        self._silent.discard((worker.id, action))
        LOG.info('queue %s: %s of server %s', work.queue.name, action, kept.id)

    def _delete(self, work: _Work, server: OwnerServer, why: str) -> None:
        work.asked += 1
        try:
            self._cloud.delete(work.access, server.id)
        except CloudRefused as error:
            LOG.log(
                logging.DEBUG if (server.place, 'delete') in self._silent else logging.WARNING,
                'queue %s: server %s cannot be deleted: %s', work.queue.name, server.id, error,
            )  # fmt: skip
            self._silent.add((server.place, 'delete'))
            return
        LOG.info('queue %s: server %s is deleted: %s', work.queue.name, server.id, why)

    def _once(self, worker: StoredWorker, action: str, error: CloudRefused) -> None:
        """Logged once, and tried again in each pass."""
        if (worker.id, action) not in self._silent:
            self._silent.add((worker.id, action))
            LOG.warning('worker %s: %s is refused: %s', worker.id, action, error)

    def _write(self, worker: StoredWorker) -> StoredWorker:
        self._attempts.put([worker])
        return worker
