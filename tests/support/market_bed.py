# SPDX-License-Identifier: Apache-2.0
"""A market in one process: a cloud and hosts in memory, a real database, engines on one manual clock."""

from collections import Counter
from dataclasses import dataclass, field, replace

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason, account
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.core.scheduler.publication import NO_TERMS, OperatorTerms
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bids import DatabaseBids
from nova_market.db.database import Database
from nova_market.db.escrow import DatabaseEscrow
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.rounds import DatabaseRounds
from nova_market.ports.stores import MarketStores
from nova_market.services.market.engine import Engine
from nova_market.services.market.rounds import RoundRunner
from nova_market.wiring.database import set_aside_report

PERIOD = 60
CREDIT = 1_000_000
SETTINGS = MarketSettings(
    period=PERIOD, return_delay=0, notice=0, host_reserve=(0.0, 0.0), new_weight=1.0
)


def host(name='a', cores=4.0, mib=8192.0, **more):
    return CloudHost(name=HostName(name), cores=cores, memory_mib=mib, **more)


def server(name, owner='red', where='a', vcpus=4, mib=4096, **more):
    return CloudServer(
        id=name, project_id=owner, host=HostName(where), vcpus=vcpus, memory_mib=mib, **more
    )


def bidding(cpu, memory=0.0):
    """Metadata of a server that bids so many credits."""
    return {'market:bid_cpu': str(cpu), 'market:bid_memory': str(memory)}


def stores_of(database: Database, wall) -> MarketStores:
    rounds = DatabaseRounds(database, wall)
    return MarketStores(
        accounts=DatabaseAccounts(database),
        ledger=DatabaseLedger(database, wall),
        escrow=DatabaseEscrow(database),
        bids=DatabaseBids(database, wall),
        rounds=rounds,
        history=rounds,
        boundary=database.boundary,
    )


@dataclass
class Market:
    """clock starts at the beginning of a period."""

    database: Database
    hosts: list = field(default_factory=lambda: [host()])
    servers: list = field(default_factory=list)
    settings: MarketSettings = SETTINGS
    terms: OperatorTerms = NO_TERMS
    clock: ManualClock = field(default_factory=lambda: ManualClock(wall=PERIOD * 1000.0))

    def __post_init__(self):
        self.cloud = MemoryCloud(self.clock, self.hosts, self.servers)
        self.enforcement = MemoryEnforcement()
        self.notices = RecordedNotices()
        self.leader = SoleLeader()
        self.stores = stores_of(self.database, self.clock.wall)
        self.decided = []
        self.rounds = self.runner(self.settings, self.stores)
        self.engine = self.another('engine', self.leader, rounds=self.rounds)
        self.engine.start()

    def another(self, name, leader, **more):
        """An engine on the same cloud, hosts and database."""
        settings = replace(self.settings, name=name)
        parts = {
            'rounds': self.runner(settings, more.pop('stores', self.stores)),
            'store': self.stores.rounds,
            'enforcement': self.enforcement,
            'leadership': leader,
            'notices': self.notices,
            'clock': self.clock,
            'settings': settings,
            'aside': set_aside_report('engine', self.database, self.clock),
            'observe': self.decided.append,
        }
        return Engine(**parts | more)

    def runner(self, settings, stores):
        return RoundRunner(self.cloud, stores, self.enforcement, self.clock, settings, self.terms)

    def grant(self, project, amount):
        """Open the project's account and mint for it."""
        name = account('project', project)
        self.stores.accounts.open([Account(id=name, project_id=project)])
        self._granted = getattr(self, '_granted', 0) + 1
        self.stores.ledger.post(
            [
                Posting(
                    key=f'grant:0:{self._granted}',
                    reason=Reason.GRANT,
                    debit=MINT,
                    credit=name,
                    amount=round(amount * CREDIT),
                )
            ]
        )

    def run(self, periods=1, engine=None):
        """Let periods pass, a tick every ten seconds; the first round is decided at once."""
        for _ in range(periods * 6):
            (engine or self.engine).tick()
            self.clock.advance(PERIOD / 6)

    def balance(self, project):
        """What it has, and what is held of it for rounds that are not settled yet."""
        name = account('project', project)
        return self.balances()[name] + self.held().get(name, 0)

    def held(self):
        """Account -> what escrow holds of it."""
        found = Counter()
        for record in self.stores.rounds.unfinished():
            for (payer, _), amount in self.stores.ledger.totals(record.period, Reason.HOLD).items():
                found[payer] += amount
            back = self.stores.ledger.totals(record.period, Reason.RELEASE)
            for (_, payer), amount in back.items():
                found[payer] -= amount
        return found

    def balances(self):
        return {one.id: one.balance for one in self.stores.accounts.list(limit=10_000)}

    def cores(self):
        """What hosts apply now, by server."""
        return {a.server_id: a.cores for given in self.enforcement.applied.values() for a in given}
