# SPDX-License-Identifier: Apache-2.0
"""A market with applications in one process: cloud in memory, real database, one clock."""

from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

from nova_market.adapters.in_memory.owner_cloud import MemoryOwnerCloud
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.app.credential import digest
from nova_market.core.app.record import AppReport, StoredApp
from nova_market.core.app.template import document, parsed, user_data
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import Posting, Reason, account
from nova_market.core.market.owner_server import ServerFlavor
from nova_market.db.app_events import DatabaseAppEvents
from nova_market.db.apps import DatabaseApps
from nova_market.db.database import Database
from nova_market.services.app.controller import Controller
from nova_market.services.app.inputs import AppStores
from nova_market.services.app.settings import ControllerSettings
from nova_market.wiring.database import set_aside_report
from tests.support.market_bed import CREDIT, PERIOD, Market, host
from tests.support.market_bed import SETTINGS as MARKET
from tests.support.standing import everybody, standings

FLAVORS = {
    'small': ServerFlavor(id='f1', vcpus=1, memory_mib=1024),
    'large': ServerFlavor(id='f4', vcpus=4, memory_mib=4096),
}
POLICIES = {one.name: one.load() for one in entry_points(group='nova_market.scaling')}
SETTINGS = ControllerSettings(interval=10.0, period=PERIOD, policies=POLICIES, settle_time=20.0)


def app_stores(database: Database, wall, market_stores) -> AppStores:
    apps = DatabaseApps(database, wall)
    return AppStores(
        apps=apps,
        slots=apps,
        events=DatabaseAppEvents(database),
        bids=market_stores.bids,
        accounts=market_stores.accounts,
        ledger=market_stores.ledger,
        history=market_stores.history,
        boundary=database.boundary,
    )


def component(name='worker', flavor='small', count=(1, 1), least=(0.25, 0.0), **more):
    return {
        'name': name,
        'flavor': flavor,
        'image': 'cirros',
        'least_count': count[0],
        'most_count': count[1],
        'least': {'cpu': least[0], 'memory_mib': least[1]},
        **more,
    }


def template(policy='vertical', slo=None, components=None, **more):
    return {
        'name': 'app',
        'policy': policy,
        'slo': slo or {'metric': {'low': 0.75, 'reference': 0.9, 'high': 1.0}},
        'components': components or [component()],
        **more,
    }


@dataclass
class Bed:
    """hosts: of the cloud. controller: the one that `run` ticks. breaker: inf = prices change at once."""

    database: Database
    hosts: list = field(default_factory=lambda: [host(cores=4.0, mib=16384.0)])
    servers: list = field(default_factory=list)
    settings: ControllerSettings = SETTINGS
    boot: float = 0.0
    leave: float = 0.0
    clock: object = None
    ids: str = 'server-{:04d}'
    period: int = PERIOD
    breaker: float = MARKET.breaker

    def __post_init__(self):
        more = {} if self.clock is None else {'clock': self.clock}
        settings = replace(MARKET, period=self.period, breaker=self.breaker)
        self.market = Market(
            self.database, hosts=self.hosts, servers=self.servers, settings=settings, **more
        )
        self.clock = self.market.clock
        self.cloud = MemoryOwnerCloud(
            self.market.cloud, self.clock, FLAVORS, boot=self.boot, leave=self.leave, ids=self.ids
        )
        self.stores = app_stores(self.database, self.clock.wall, self.market.stores)
        self.seen = []
        self.leader = SoleLeader()
        self.user_roles = everybody()
        self.controller = self.another(self.leader)
        self.controller.start()

    def another(self, leader, **more):
        parts = {
            'stores': self.stores,
            'cloud': self.cloud,
            'standings': standings(self.user_roles, self.clock),
            'leadership': leader,
            'clock': self.clock,
            'settings': self.settings,
            'aside': set_aside_report('controller', self.database, self.clock),
            'observe': self.seen.append,
        }
        return Controller(**parts | more)

    def add(
        self, name, given, *, project='red', balance=1000.0, renew=None, every=1, credential=''
    ):
        """An application with so much in its budget, as the API makes it."""
        accounts = self.stores.accounts
        budget = account('budget', name)
        renewal = None if renew is None else round(renew * CREDIT)
        accounts.open_budget(
            Account(id=budget, project_id=project, renew_amount=renewal, renew_every=every), 100
        )
        if balance:
            self.market.grant(project, balance)
            self.stores.ledger.post(
                [
                    Posting(
                        key=f'transfer:0:{name}',
                        reason=Reason.TRANSFER,
                        debit=account('project', project),
                        credit=budget,
                        amount=round(balance * CREDIT),
                    )
                ]
            )
        read = parsed(given)
        made = StoredApp(
            id=name,
            project_id=project,
            user_id='user',
            template=document(read),
            trust_id=self.cloud.trust(project),
            credential=digest(credential) if credential else '',
        )
        return self.stores.apps.create(made, 100, user_data(read))

    def run(self, periods=1, controller=None):
        """Let periods pass; engine and controller tick every ten seconds."""
        for _ in range(periods * 6):
            self.market.engine.tick()
            (controller or self.controller).tick()
            self.clock.advance(PERIOD / 6)

    def app(self, name):
        return self.stores.apps.app(name)

    def change(self, name, **changed):
        return self.stores.apps.change(name, changed, self.app(name).generation)

    def report(self, name, **more):
        self.stores.events.report(AppReport(app_id=name, at=self.clock.wall(), **more))

    def own(self, name):
        """Its servers as the cloud has them, by slot."""
        found = {}
        for server_id, one in self.cloud.made.items():
            if one.metadata.get('market:app') == name:
                found.setdefault(one.metadata['market:slot'], []).append(server_id)
        return found

    def cores(self, name):
        """What its servers get now, together."""
        given = self.market.cores()
        return sum(given.get(s, 0.0) for ids in self.own(name).values() for s in ids)

    def bid(self, name):
        """CPU bids of its servers, in credits."""
        ids = [s for found in self.own(name).values() for s in found]
        return sum(b.cpu for b in self.stores.bids.of(ids).values()) / CREDIT

    def actions(self, name):
        """Actions, oldest first."""
        return [e.action for e in reversed(self.stores.events.events(name, limit=1000))]

    def reasons(self, name, action):
        return [e.reason for e in self.stores.events.events(name, limit=1000) if e.action == action]


__all__ = ['CREDIT', 'PERIOD', 'Bed', 'component', 'host', 'replace', 'template']
