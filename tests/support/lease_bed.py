# SPDX-License-Identifier: Apache-2.0
"""The service of leases in one process: the cloud in memory, a real database, one clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.job.cloud_room import Cloud
from nova_market.core.lease.record import StoredLease
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import MINT, Posting, Reason, account
from nova_market.core.market.inventory import CloudHost
from nova_market.core.timestamp import stamp
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.database import Database
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.leases import DatabaseLeases
from nova_market.db.ledger import DatabaseLedger
from nova_market.ports import JobStateStore
from nova_market.services.lease.asking import Booker, LeaseStores
from nova_market.services.lease.booking import LeaseRequests
from nova_market.services.lease.known_hosts import KnownHosts
from nova_market.services.lease.leases import HostPower, Leases, PassSeen
from nova_market.services.lease.notices import LeaseNotices
from nova_market.services.lease.observing import observed, publish
from nova_market.services.lease.settings import LeaseSettings
from nova_market.wiring.database import set_aside_report
from tests.support.job_bed import host
from tests.support.lease_records import HOUR, NOW
from tests.support.lease_settings import SETTINGS

STEP = 10.0
"""Seconds between two passes."""

CREDITS = 1000

Around = Callable[[Any], Any]


def publish_hosts(states: JobStateStore, at: float, hosts: Sequence[CloudHost]) -> None:
    """As a pass of the service would."""
    cloud = Cloud(hosts=hosts, servers=(), aggregates={})
    publish(states, observed(cloud, None, (), SETTINGS, at))


@dataclass
class LeaseBed:
    """service: the one that `run` ticks; a core-hour costs a credit."""

    database: Database
    hosts: list[CloudHost] = field(default_factory=lambda: [host(name) for name in 'abc'])
    settings: LeaseSettings = SETTINGS
    began: float = NOW

    def __post_init__(self) -> None:
        self.clock = ManualClock(wall=self.began)
        self.cloud = MemoryCloud(self.clock, self.hosts)
        self.leases = DatabaseLeases(self.database, self.clock.wall)
        self.states = DatabaseJobStates(self.database)
        self.ledger = DatabaseLedger(self.database, self.clock.wall)
        self.notices = RecordedNotices()
        self.known = KnownHosts()
        self.service = self.another()
        for project in ('red', 'blue'):
            self.grant(project)

    @property
    def stores(self) -> LeaseStores:
        return LeaseStores(
            leases=self.leases, states=self.states, wall=self.clock.wall, known=self.known
        )

    def another(
        self,
        around: Around = lambda one: one,
        observe: Callable[[PassSeen], None] = lambda seen: None,
    ) -> Leases:
        """A service that has just started. around: put between it and what it calls."""
        leases, states = around(self.leases), around(self.states)
        made = Leases(
            leases=leases,
            states=states,
            hosts=around(self.cloud),
            leadership=SoleLeader(),
            clock=self.clock,
            settings=self.settings,
            aside=set_aside_report('leases', self.database, self.clock),
            sender=LeaseNotices(
                leases=leases,
                states=states,
                notices=self.notices,
                clock=self.clock,
                boundary=self.database.boundary,
            ),
            observe=observe,
            power=self.switching(around),
        )
        made.start()
        return made

    def switching(self, around: Around) -> HostPower | None:
        """Whoever powers hosts down; None: they are always on."""
        return None

    def grant(self, project: str, amount: int = CREDITS) -> None:
        DatabaseAccounts(self.database).open(
            [Account(id=account('project', project), project_id=project)]
        )
        self.ledger.post(
            [
                Posting(
                    key=f'g:{project}:{amount}', reason=Reason.GRANT, debit=MINT,
                    credit=account('project', project), amount=amount * MICRO,
                )
            ]
        )  # fmt: skip

    def requests(self, project: str = 'red') -> LeaseRequests:
        return LeaseRequests(self.stores, Booker(project_id=project, user_id='u'), self.settings)

    def book(self, project: str = 'red', *, after: float = 2 * HOUR, **body: Any) -> StoredLease:
        """Two cores for an hour, two hours from now, unless it is said otherwise."""
        key = body.pop('key', None)
        size = {} if 'whole' in body else {'cores': 2, 'memory_mib': 1024}
        given = {'duration': HOUR, 'earliest': stamp(self.clock.wall() + after), **size}
        return self.requests(project).book(given | body, key)[0]

    def run(self, seconds: float = STEP, step: float = STEP) -> None:
        """Passes for so long."""
        end = self.clock.wall() + seconds
        while True:
            self.service.tick()
            if self.clock.wall() >= end:
                return
            self.clock.advance(min(step, end - self.clock.wall()))

    def read(self, lease: StoredLease) -> StoredLease:
        found = self.leases.lease(lease.id)
        assert found is not None
        return found

    def actions(self, lease: StoredLease) -> list[str]:
        """What has happened to it, in order."""
        return [one.action for one in reversed(self.leases.events(lease.id))]

    def change_host(self, name: str, **changed: Any) -> None:
        (one,) = (found for found in self.cloud.hosts() if found.name == name)
        self.cloud.put_host(replace(one, **changed))

    def balance(self, name: str) -> float:
        """Credits."""
        full = name if name in ('bank', 'escrow') else f'project:{name}'
        return self.ledger.balances([full]).get(full, 0) / MICRO
