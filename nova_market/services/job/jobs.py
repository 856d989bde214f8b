# SPDX-License-Identifier: Apache-2.0
"""The service of jobs: while it leads, one pass over all queues in each interval.

Implements SVMSched, section 4.2 (jobs run in virtual machines that are made for them) with rules J3 to J6 and
F5 of doc/source/specs/jobs.rst. Seconds. One pass, in this order:

1. jobs whose predecessors have ended wait; what has happened to active jobs and their servers is stored, and
   what has ended is paid before its end is stored (services.job.progressing)
2. workers that run nothing and are not needed any more are to go
3. jobs start, others are preempted: each decision is stored before anything is asked of the cloud
4. servers of workers are made, suspended, brought back and deleted
5. queues that are being deleted end with their last worker
6. jobs that were done later than an offer promised get money back (services.tender.settling)
7. bags of tasks negotiate (services.tender.bags)

Any number of services may run; those that do not lead do nothing. Killed at any point, the next one goes on
from the rows. What fails for one queue, job or worker does not stop the others (doc/source/specs/passes.rst);
while the cloud is away, jobs that run go on and their results count; without the database nothing is done,
and nobody is declared lost for that time.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol
from uuid import uuid4

from nova_market.core.job.cloud_room import Cloud, CloudRoom, cloud_room
from nova_market.core.job.minutes import PassRead
from nova_market.core.job.pass_input import PassMemory, StoredWork
from nova_market.core.job.queue import WORKER_MARKS, QueueState, StoredQueue, StoredWorker
from nova_market.core.job.record import StoredJob
from nova_market.core.job.worker_upkeep import upkeep
from nova_market.core.market.inventory import CloudServer
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, JobHosts, Leadership, OwnerCloud, WorkerUrl
from nova_market.services.failures import AWAY, DATABASE_AWAY, Failures
from nova_market.services.job.billing import Billing
from nova_market.services.job.closing import QueueClosing
from nova_market.services.job.forecasting import ForecastWriter
from nova_market.services.job.inputs import (
    CloudReader,
    HostSizes,
    JobStores,
    Listening,
    active_jobs,
    queues_in_force,
)
from nova_market.services.job.pass_seen import PassSeen
from nova_market.services.job.pass_state import Pass, remembered
from nova_market.services.job.progressing import Progressing
from nova_market.services.job.selecting import Selecting
from nova_market.services.job.settings import JobsSettings
from nova_market.services.job.stored_state import UsageAccount, capacities, hosts_of, lifecycles
from nova_market.services.job.worker_reconciler import WorkerReconciler
from nova_market.services.job.worker_servers import ServerView, read_servers
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.set_aside import SetAsideReport
from nova_market.services.tender.bags import Bags
from nova_market.services.tender.settling import OfferSettling
from nova_market.services.tender.tender_pass import TenderPass

LOG = logging.getLogger(__name__)

LOST = 'no job is started or looked after, jobs that run go on'
STAYS = 'workers are neither made nor deleted, jobs that run go on'
ACTS = 'workers are made and deleted again'
STATE = 'pass'
"""Name of what a pass leaves to the next one, among the documents of the service."""


class Reporter(Protocol):
    """Whoever keeps or shows what passes do. May raise errors.DatabaseUnavailable."""

    def record(self, read: PassRead) -> None:
        """What was read, before jobs are chosen."""

    def forget(self) -> None:
        """Another service has led meanwhile."""


class Sender(Protocol):
    """Whoever sends what has happened, at the end of each pass. May raise errors.DatabaseUnavailable."""

    def send(self) -> None: ...

    def forget(self) -> None:
        """Another service has led meanwhile."""


class Jobs(LeaderLoop):
    """A turn in each interval: a pass over all queues."""

    away = DATABASE_AWAY
    noun = 'service of jobs'

    def __init__(
        self,
        *,
        stores: JobStores,
        cloud: OwnerCloud,
        hosts: JobHosts,
        url: WorkerUrl,
        billing: Billing,
        settling: OfferSettling,
        bags: Bags,
        aside: SetAsideReport,
        leadership: Leadership,
        clock: Clock,
        settings: JobsSettings,
        reporter: Reporter | None = None,
        sender: Sender | None = None,
        observe: Callable[[PassSeen], None] = lambda seen: None,
        new_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        """cloud: as the owners of queues see it; hosts: as the operator does.

        observe: called after each pass; new_id: an id for a worker
        """
        super().__init__(
            name=settings.name,
            leadership=leadership,
            clock=clock,
            outage=OutageLog(LOG, lost=LOST, back='jobs are looked after again'),
            interval=settings.interval,
            pause=settings.interval,
        )
        self._stores, self._cloud, self._settings = stores, cloud, settings
        self._aside, self._boundary = aside, aside.boundary
        self._reporter, self._sender, self._observe = reporter, sender, observe
        self._reader = CloudReader(hosts, self._boundary)
        self._listening = Listening(url, clock.wall)
        self._sizes = HostSizes(stores.queues)
        self._usage = UsageAccount(stores.states, self._boundary)
        self._settling, self._bags = settling, bags
        self._forecasts = ForecastWriter(stores.states, self._boundary, settings.handover)
        self._tender = TenderPass(stores, settings, self._forecasts.starts, self._boundary)
        self._progressing = Progressing(stores, billing, settings, self._boundary)
        self._selecting = Selecting(stores.jobs, settings, new_id, self._boundary)
        self._reconciler = WorkerReconciler(stores.attempts, cloud, clock, settings, self._boundary)
        self._closing = QueueClosing(stores.queues, cloud, clock)
        self._troubles = Failures[StoredQueue]('queue', _note, self._boundary)
        self._capacity: Mapping[str, tuple[float, float]] = {}
        self._memory: PassMemory | None = None
        self._turn = 0
        self._owners_away = OutageLog(LOG, lost=STAYS, back=ACTS)

    def turn(self) -> None:
        """One pass.

        :raises DatabaseUnavailable, SchemaBehind: nothing can be known.
        """
        try:
            with self._aside.kept(self._leadership.leading):
                self._pass()
        except DATABASE_AWAY:
            self._listening.forget()
            raise

    def _pass(self) -> None:
        began = self._clock.monotonic()
        memory = self._remembered()
        one = self._begun()
        self._outage.works()
        one.steps += self._progressing.release(one.now)
        one.steps += self._progressing.progress(
            one.queues, one.workers, one.view, self._reconciler.refused(), one.now, one.since
        )
        if one.steps:
            one.workers = self._read_workers()
        read, memory = self._choose(one, memory)
        self._reconcile(one)
        if self._leadership.leading():
            self._settling.settle({queue.id: queue for queue in one.queues})
        self._keep(memory, one.now)
        if self._sender is not None:
            with self._boundary.row('pass', 'notices', 'send'):
                self._sender.send()
        if self._leadership.leading():
            self._bags.turn(negotiates=one.room is not None)
        seconds = self._clock.monotonic() - began
        self._observe(
            PassSeen(
                read=read,
                workers=one.rows(),
                steps=one.steps,
                seconds=seconds,
                selection_seconds=one.selection_seconds,
                troubled=self._troubles.count,
            )
        )
        LOG.debug(
            'pass %d: %d waiting, %d active, %d steps, %.2f s',
            self._turn, len(read.waiting.ids), len(read.active), len(one.steps), seconds,
        )  # fmt: skip

    def _begun(self) -> Pass:
        """What there is when the pass begins: rows first, then the servers that belong to them."""
        queues = queues_in_force(self._stores.queues, self._settings.limits)
        one = Pass(
            now=self._clock.wall(),
            since=self._listening.since(),
            queues=queues,
            workers=self._read_workers(),
            cloud=self._reader.read(),
        )
        self._troubles.begin(queues)
        workers = one.of_queues()
        marked = {server.metadata.get(WORKER_MARKS.owner) for server in _servers(one.cloud)}
        due = [
            queue
            for queue in self._troubles.in_turn(sorted(queues, key=lambda queue: queue.id))
            if workers[queue.id] or queue.id in marked or queue.state is QueueState.DELETING
        ]
        one.view = read_servers(self._cloud, self._troubles, due, workers)
        unread = self._boundary.unread('queue')
        one.view.unknown.update(name for name, w in one.workers.items() if w.queue_id in unread)
        if one.cloud is not None:
            one.view.hosts = hosts_of(one.cloud, one.view.by_worker)
        return one

    def _choose(self, one: Pass, memory: PassMemory) -> tuple[PassRead, PassMemory]:
        """Upkeep and selection, from rows as they are after what has happened is stored."""
        active = self._progressing.readable(
            active_jobs(self._stores.jobs, one.queues, self._settings.limits)
        )
        waiting = self._stores.jobs.waiting()
        changed = self._upkept(one, active, frozenset(waiting.queue_ids))
        one.workers |= {worker.id: worker for worker in self._put(changed)}
        # a job starts after the one that left it room while the cloud was read; upkeep looked at older rows
        one.now = self._clock.wall()
        rows = one.rows()
        if one.cloud is not None:
            wanted = [queue.aggregate for queue in one.queues if queue.aggregate]
            one.room = cloud_room(one.cloud, rows, wanted)
            self._capacity = capacities(one.room)
        attempts = self._stores.attempts.attempts([job.id for job in active])
        active = self._progressing.readable(active)
        work = StoredWork(
            waiting=waiting,
            active=active,
            attempts=attempts,
            workers=rows,
            queues=one.queues,
            usage=self._usage.until(one.now, one.queues, active),
            lifecycles=lifecycles(_servers(one.cloud), rows),
            tender=self._tender.facts(one.queues, waiting, active, one.room, one.now),
        )
        read = PassRead(
            now=one.now,
            queues=one.queues,
            waiting=waiting,
            active=active,
            attempts=work.attempts,
            capacity=self._capacity,
        )
        if self._reporter is not None:
            with self._boundary.row('pass', 'statistics', 'record'):
                self._reporter.record(read)
        if one.room is None:
            return read, memory
        self._sizes.note(one.room.capacity)
        select = partial(self._select, one, one.room, work, memory)
        return read, self._boundary.value('pass', 'selection', 'decide', select, memory)

    def _upkept(
        self, one: Pass, active: Sequence[StoredJob], with_waiting: frozenset[str]
    ) -> list[StoredWorker]:
        """Workers whose rows change. with_waiting: queues with jobs that wait."""
        # what cannot be read may be active
        going = frozenset(job.id for job in active) | self._boundary.unread('job')
        workers = one.of_queues()
        found: list[StoredWorker] = []
        for queue in one.queues:
            with self._boundary.row('queue', queue.id, 'upkeep'):
                found += upkeep(
                    queue,
                    workers[queue.id],
                    active=going,
                    now=one.now,
                    listening_since=one.since,
                    pace=self._settings.pace,
                    has_waiting=queue.id in with_waiting,
                )
        return found

    def _put(self, workers: Sequence[StoredWorker]) -> Sequence[StoredWorker]:
        """Those that were written."""

        def put(some: Sequence[StoredWorker]) -> Sequence[StoredWorker]:
            self._stores.attempts.put(some)
            return some

        return self._boundary.batch('worker', workers, lambda one: one.id, 'store', put)

    def _select(
        self, one: Pass, room: CloudRoom, work: StoredWork, memory: PassMemory
    ) -> PassMemory:
        began = self._clock.monotonic()
        held = {**self._reconciler.held(), **one.view.lost}
        chosen = self._selecting.chosen(work, room, memory, held, turn=self._turn, now=one.now)
        one.selection_seconds = self._clock.monotonic() - began
        if not self._leadership.leading():
            return memory  # another one decides now
        written = self._progressing.store(chosen.steps.steps)
        if written:
            one.steps += written
            one.workers = self._read_workers()
        self._progressing.explain([*chosen.steps.explanations, *chosen.more])
        self._forecasts.write(chosen.forecast, work.attempts.values(), one.workers)
        return chosen.steps.memory

    def _reconcile(self, one: Pass) -> None:
        """The servers of every queue whose servers are known; then queues that are to end."""
        self._closing.read()
        workers = one.of_queues()
        hosts = {server.id: str(server.host) for server in _servers(one.cloud)}
        for queue in self._troubles.in_turn(sorted(one.queues, key=lambda queue: queue.id)):
            if not self._leadership.leading():
                break  # a pass may take long; the service that leads now does the rest
            self._troubles.asking(
                queue, 'workers', partial(self._serve, queue, workers[queue.id], one.view, hosts)
            )
        self._reconciler.keep([queue.id for queue in one.queues], one.workers)
        self._troubles.keep([queue.id for queue in one.queues])
        if self._troubles.cloud_away:
            self._owners_away.failed(AWAY)
        else:
            self._owners_away.works()

    def _serve(
        self,
        queue: StoredQueue,
        workers: Sequence[StoredWorker],
        view: ServerView,
        hosts: Mapping[str, str],
    ) -> bool:
        servers = view.of_queue.get(queue.id)
        if servers is None and (workers or queue.state is QueueState.DELETING):
            # new workers of a queue that had none have no servers yet
            fresh = read_servers(self._cloud, self._troubles, [queue], {queue.id: workers})
            servers = fresh.of_queue.get(queue.id)
            if servers is None:
                return True
        empty = not workers
        if servers is not None:
            empty = self._reconciler.converge(queue, workers, servers, hosts)
        self._closing.end(queue, empty=empty)
        return True

    def _read_workers(self) -> dict[str, StoredWorker]:
        return {one.id: one for one in self._stores.attempts.workers()}

    def _remembered(self) -> PassMemory:
        if self._memory is None:
            stored = self._stores.states.read(STATE)
            self._turn, self._memory = self._boundary.value(
                'document', STATE, 'parse', partial(remembered, stored), (0, PassMemory())
            )
        self._turn += 1
        return self._memory

    def _keep(self, memory: PassMemory, now: float) -> None:
        """After the decisions it goes with: a claim is also found in the rows of those who made room."""
        document = {
            'order': list(memory.order),
            'claims': list(memory.claims),
            'turn': self._turn,
            'at': now,
            'interval': self._settings.interval,
        }
        self._stores.states.write(STATE, document)
        self._memory = memory

    def _lead_changed(self) -> None:
        """Another service has led, or may have: what is kept of passes is in the database."""
        self._memory = None
        self._listening.forget()
        self._sizes.forget()
        self._usage.forget()
        self._progressing.forget()
        self._forecasts.forget()
        self._aside.forget()
        for one in (self._reporter, self._sender):
            if one is not None:
                one.forget()


def _servers(cloud: Cloud | None) -> Sequence[CloudServer]:
    return () if cloud is None else cloud.servers


def _note(queue: StoredQueue, trouble: str) -> None:
    """Failures are in the log, and waiting jobs of the queue have them as their reason."""
