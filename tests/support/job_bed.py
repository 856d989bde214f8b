# SPDX-License-Identifier: Apache-2.0
"""The service of jobs in one process: cloud and guests in memory, the real API and database, one clock."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import entry_points
from typing import Any

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.owner_cloud import MemoryOwnerCloud
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.billing import new_holds
from nova_market.core.job.charge import reserve_of
from nova_market.core.job.part_fate import ProgressSettings
from nova_market.core.job.queue import WORKER_MARKS, QueueName
from nova_market.core.job.record import ACTIVE, ENDED, JobKind, JobState, StoredJob
from nova_market.core.job.store_values import JobFilter, JobQuotas
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, AccountId, Posting, Reason, account
from nova_market.core.market.inventory import CloudHost
from nova_market.core.market.owner_server import ServerFlavor
from nova_market.core.resource import HostName
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bag_steps import DatabaseBags
from nova_market.db.database import Database
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.ledger import DatabaseLedger
from nova_market.services.job.billing import Billing
from nova_market.services.job.inputs import JobStores
from nova_market.services.job.jobs import Jobs
from nova_market.services.job.settings import JobsSettings, WorkerImage
from nova_market.services.tender.bags import Bags, BagSettings, BagStores
from nova_market.services.tender.offers import OfferSettings, OfferStores
from nova_market.services.tender.settling import OfferSettling
from nova_market.wiring.database import set_aside_report
from nova_market.wiring.policies import utilities
from tests.support.job_records import id_of, job, new_jobs, queue
from tests.support.market.api import make_market
from tests.support.simulated_workers import SimulatedWorkers
from tests.support.standing import everybody, standings

FLAVORS = {
    'small': ServerFlavor(id='small', vcpus=1, memory_mib=1024),
    'large': ServerFlavor(id='large', vcpus=2, memory_mib=2048),
}
PACE = WorkerPace(poll=5.0, heartbeat=5.0, missed=6)
POLICIES = {one.name: one.load() for one in entry_points(group='nova_market.job_policy')}
SETTINGS = JobsSettings(
    interval=5.0,
    pace=PACE,
    progress=ProgressSettings(start_timeout=300.0, first_pause=20.0, longest_pause=80.0),
    image=WorkerImage(url='http://market', python_agent='agent', shell_agent='agent'),
    policies=POLICIES,
    settle_time=30.0,
    first_pause=20.0,
    longest_pause=80.0,
)
STEP = 5.0
"""Seconds between two passes; agents call as often."""


def host(name: str = 'a', cores: float = 4.0, mib: float = 8192.0) -> CloudHost:
    counted = {'VCPU': cores, 'MEMORY_MB': mib, 'DISK_GB': 100.0}
    return CloudHost(name=HostName(name), cores=cores, memory_mib=mib, counted=counted)


class StaticUrl:
    """The API as workers reach it."""

    def __init__(self) -> None:
        self.available = True

    def answers(self) -> bool:
        return self.available


@dataclass
class JobBed:
    """service: the one that `run` ticks. boot, leave: seconds that servers take to come and to go."""

    database: Database
    hosts: list[CloudHost] = field(default_factory=lambda: [host('a'), host('b')])
    settings: JobsSettings = SETTINGS
    boot: float = 10.0
    leave: float = 5.0
    upload: float = 10.0
    tries: int = 100

    def __post_init__(self) -> None:
        self.clock = ManualClock(wall=1_800_000_000.0)
        self.market = make_market(self.database, wall=self.clock.wall, worker_pace=PACE)
        self.cloud = MemoryCloud(self.clock, self.hosts)
        self.owners = MemoryOwnerCloud(
            self.cloud, self.clock, FLAVORS, boot=self.boot, leave=self.leave,
            upload=self.upload, marks=WORKER_MARKS, full=True,
        )  # fmt: skip
        self.url = StaticUrl()
        self.user_roles = everybody()
        self.guests = SimulatedWorkers(self.market, self.owners)
        self.stores = JobStores(
            queues=self.market.stores.queues,
            jobs=self.market.stores.jobs,
            attempts=self.market.stores.attempts,
            states=DatabaseJobStates(self.database),
            offers=self.market.stores.offers,
        )
        self.accounts = DatabaseAccounts(self.database)
        self.ledger = DatabaseLedger(self.database, self.clock.wall)
        self.seen: list[Any] = []
        self.service = self.another()
        self.service.start()
        self._count = 0

    def another(
        self, leader: Any = None, around: Callable[[Any], Any] = lambda one: one, **more: Any
    ) -> Jobs:
        """A service. around: what it gets instead of a store or a cloud."""
        stores = {one.name: around(getattr(self.stores, one.name)) for one in fields(JobStores)}
        parts = {
            'stores': JobStores(**stores),
            'cloud': around(self.owners),
            'hosts': self.cloud,
            'url': self.url,
            'billing': Billing(around(self.ledger), around(self.accounts), self.database.boundary),
            'settling': OfferSettling(
                around(self.market.stores.offers), around(self.ledger), self.database.boundary
            ),
            'bags': self.bags(around),
            'aside': set_aside_report('jobs', self.database, self.clock),
            'leadership': leader or SoleLeader(),
            'clock': self.clock,
            'settings': self.settings,
            'observe': self.seen.append,
        }
        return Jobs(**parts | more)

    def bags(self, around: Callable[[Any], Any] = lambda one: one) -> Bags:
        """Bags of tasks, as the service looks after them. around: as in `another`."""
        mine = self.market.stores
        offers = OfferStores(
            offers=around(mine.offers), queues=mine.queues, accounts=mine.accounts,
            flavors=mine.flavors, wall=self.clock.wall,
        )  # fmt: skip
        stores = BagStores(
            bags=around(DatabaseBags(self.database, self.clock.wall)),
            jobs=around(mine.jobs),
            ledger=around(self.ledger),
            offers=offers,
        )
        settings = BagSettings(offers=OfferSettings(utilities=utilities()), tries=self.tries)
        return Bags(
            stores,
            settings,
            self.clock.monotonic,
            self.database.boundary,
            standings=standings(self.user_roles, self.clock),
        )

    def add_queue(self, name: str, project: str, **more: Any) -> None:
        given = {'share': 0.5, 'flavors': ('small', 'large'), 'idle_seconds': 60, **more}
        made = queue(name, project, trust_id=self.owners.trust(project), **given)
        self.stores.queues.create(made, 100)
        for customer in made.projects:
            called = QueueName(project_id=customer, name=name, user_id='u')
            self.stores.queues.accept(made.id, called, 100)

    def submit(
        self,
        name: str,
        queue: str,
        *,
        sleep: float = 30.0,
        code: int = 0,
        array: int = 0,
        project: str = '',
        **more: Any,
    ) -> str:
        """A job that sleeps and exits; its id. array: so many elements, `name-0` and so on.

        project: who submits it, and has an account where the queue has a price; default: the queue's own
        """
        of_queue = self.stores.queues.queue(id_of(queue))
        project = project or of_queue.project_id
        flavor = FLAVORS[more.get('flavor', 'small')]
        values = {
            'cores': flavor.vcpus, 'memory_mib': flavor.memory_mib, 'time_limit': 600,
            'notice': 10, 'submitted_at': self.clock.wall(), **more,
        }  # fmt: skip
        if values.pop('best_effort', False):
            values['kind'] = JobKind.BEST_EFFORT
        made = [job(name, queue, project, **values)]
        if array:
            part = {'array_id': id_of(name), 'array_size': array}
            made = [
                job(f'{name}-{n}', queue, project, array_index=n, **part, **values)
                for n in range(array)
            ]
        made = [replace(one, reserve=reserve_of(one, of_queue)) for one in made]
        text = f'#!/bin/sh\nsleep {sleep}\nexit {code}\n'
        new = replace(new_jobs(*made, script=text), holds=new_holds(made, {of_queue.id: of_queue}))
        self.stores.jobs.submit(new, JobQuotas(most_waiting=10_000))
        return made[0].id

    def grant(self, project: str, amount: int) -> None:
        """Open the project's account and mint for it."""
        name = account('project', project)
        self.accounts.open([Account(id=name, project_id=project)])
        key = f'grant:0:{project}'
        minted = Posting(key=key, reason=Reason.GRANT, debit=MINT, credit=name, amount=amount)
        self.ledger.post([minted], by='admin')

    def balance(self, name: AccountId) -> int:
        return self.ledger.balances([name]).get(name, 0)

    def pass_(self, service: Jobs | None = None) -> None:
        """Guests, then the service, then time."""
        self.guests.tick()
        (service or self.service).turn()
        self.check()
        self.clock.advance(STEP)

    def run(self, passes: int = 1) -> None:
        for _ in range(passes):
            self.pass_()

    def until(self, done: Any, passes: int = 200) -> None:
        for _ in range(passes):
            if done():
                return
            self.pass_()
        raise AssertionError(f'it does not happen: {self.states()}')

    def check(self) -> None:
        """No part of a job runs in two guests, and no host has more than Placement allows."""
        running = self.guests.running()
        for job_id in sorted({one for one, _ in running}):
            servers = self.job(job_id).servers
            mine = [one for one in running if one[0] == job_id]
            assert len(mine) <= servers and len(set(mine)) == 1, mine
        for one in self.hosts:
            used = sum(s.vcpus for s in self.owners.hosted() if s.host == one.name)
            assert used <= one.counted['VCPU'], (one.name, used)

    def job(self, job_id: str) -> StoredJob:
        found = self.stores.jobs.job(job_id)
        assert found is not None
        return found

    def state(self, name: str) -> JobState:
        return self.job(id_of(name)).state

    def states(self) -> dict[str, str]:
        found = self.stores.jobs.jobs(JobFilter(), limit=1000)
        return {one.name: str(one.state) for one in reversed(found)}

    def all_ended(self) -> bool:
        return all(one in ENDED for one in map(JobState, self.states().values()))

    def active(self) -> int:
        return sum(JobState(one) in ACTIVE for one in self.states().values())

    def actions(self, job_id: str) -> list[str]:
        """Oldest first."""
        return [one.action for one in reversed(self.stores.attempts.events(job_id, limit=1000))]


__all__ = ['FLAVORS', 'SETTINGS', 'STEP', 'JobBed', 'host', 'id_of', 'replace']
