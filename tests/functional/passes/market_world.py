# SPDX-License-Identifier: Apache-2.0
"""Two projects with a server each on one host, under the engine."""

import json
import zlib

from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.record import RoundState
from nova_market.core.rebalancing.plan import PlanState, StoredMove, StoredPlan
from nova_market.core.rebalancing.settings import AUTO, RebalancingSettings
from nova_market.core.scheduler.snapshot import snapshot_from
from nova_market.db.plans import DatabasePlans
from nova_market.services.market.rebalancing import Rebalancing
from tests.functional.passes.world import Bad, World
from tests.support.market_bed import Market, bidding, host, server
from tests.support.poison import NO_JSON, UNKNOWN, Poison
from tests.support.rebalancing_bed import Inline

OWNERS = {'bad': 'blue', 'good': 'red', 'beside': 'green'}


class MarketWorld(World):
    """The server `bad` is of blue, `good` of red, `beside` of green; all bid the same."""

    service = 'engine'

    def __init__(self, database):
        super().__init__(database)
        servers = [
            server(name, owner, vcpus=2, mib=1024, metadata=bidding(2))
            for name, owner in OWNERS.items()
        ]
        self.market = Market(database, hosts=[host('a'), host('b')], servers=servers)
        self.cloud = self.market.cloud
        for owner in OWNERS.values():
            self.market.grant(owner, 100)
        self.plans = DatabasePlans(database, self.market.clock.wall)
        self.moves = Rebalancing(
            self.plans, self.market.cloud, self.market.clock, RebalancingSettings(mode=AUTO),
            Inline(), boundary=database.boundary,
        )  # fmt: skip
        engine = self.market.another('e', self.market.leader, rebalancing=self.moves)
        self.market.engine = engine
        engine.start()
        self.go(3)

    def prepare(self, poison):
        return getattr(self, f'_{poison.table}')(poison)

    def _accounts(self, poison):
        name = account('project', 'blue')
        self.market.stores.accounts.set(name, {'weight': 1.0})
        return Bad(name, 'blue', 'id = :id', {'id': name})

    def _bids(self, poison):
        for name, owner in OWNERS.items():
            payer = account('project', owner)
            bid = StoredBid(server_id=name, project_id=owner, payer=payer, cpu=10**6, memory=0)
            self.market.stores.bids.put(bid)
        return Bad('bad', 'blue', 'server_id = :id', {'id': 'bad'})

    def _rounds(self, poison):
        return self._of_round(poison, 'period = :period')

    def _round_documents(self, poison):
        return self._of_round(poison, 'period = :period AND part = 0')

    def _prices(self, poison):
        bad = self._of_round(poison, "period = :period AND resource = 'cpu'")
        return Bad(f'{bad.id}/cpu', '', bad.where, bad.given)

    def _allocations(self, poison):
        bad = self._of_round(poison, "period = :period AND server_id = 'bad'")
        return Bad(f'{bad.id}/bad', '', bad.where, bad.given)

    def _economy(self, poison):
        return self._of_round(poison, 'period = :period')

    def _of_round(self, poison, where):
        """The one that was just decided."""
        self.market.engine.tick()
        self.period = self.market.stores.history.rounds(limit=1)[0].period
        assert self.period == self.market.engine.period()
        return Bad(str(self.period), '', where, {'period': self.period})

    def _plans(self, poison):
        self._add_plans()
        return Bad('bad', '', 'id = :id', {'id': 'bad'})

    def _plan_moves(self, poison):
        self._add_plans()
        return Bad('bad', '', 'plan_id = :id', {'id': 'bad'})

    def _add_plans(self):
        for number, (name, moves) in enumerate((('good', 'good'), ('bad', 'bad'))):
            move = StoredMove(
                server_id=moves, source='a', destination='b', error_before=1.0, error_after=0.0,
                gain=1.0, cost=0.0,
            )  # fmt: skip
            made = StoredPlan(
                id=name, period=1, mode=AUTO, created_at=self.market.clock.wall() - number,
                moves=(move,),
            )  # fmt: skip
            self.plans.add(made)
            self.plans.advance(name, PlanState.PROPOSED, PlanState.APPROVED, by='me')
        self.plans.advance('bad', PlanState.APPROVED, PlanState.RUNNING)

    def go(self, periods=2):
        self.market.run(periods)

    def go_far(self):
        self.go(6)

    def check_others(self, poison):
        found = self._last()
        assert {'good', 'beside'} <= found.keys() and found['good'] == found['beside'] > 0
        if poison.table in ('accounts', 'bids'):
            assert 'bad' not in found, 'nobody knows what it pays, or who'
        else:
            assert found['bad'] > 0
        ledger = self.market.stores.ledger
        assert not [one for one in ledger.discrepancies() if 'blue' not in one]
        assert self.market.balance('red') == self.market.balance('green')
        if poison.table.startswith('plan'):
            assert self.plans.plan('good').state is PlanState.DONE

    def check_bad(self, poison):
        found = self._last()
        assert found['bad'] == found['good'], found
        assert self.market.stores.ledger.discrepancies() == []
        if poison.table in ('rounds', 'round_documents'):
            assert self.market.stores.history.round(self.period).state is RoundState.SETTLED
        if poison.table.startswith('plan'):
            assert self.plans.plan('bad').state in (PlanState.DONE, PlanState.FAILED)
        elif poison.table not in ('accounts', 'allocations', 'bids'):
            assert self.market.balance('blue') == self.market.balance('red')

    def _last(self):
        """Cores by server, of the newest round, which Nova's scheduler can read."""
        newest = self.market.stores.history.rounds(limit=1)[0]
        assert newest.period >= self.market.engine.period() - 1, 'rounds go on'
        document = self.market.stores.history.round(newest.period).document
        snapshot_from({**document['scheduler'], 'age': 0.0})
        allocated = self.market.stores.history.allocations(newest.period)
        return {one.server_id: one.actual_cpu for one in allocated}


BAD_DOCUMENT = zlib.compress(json.dumps({'memory': {'low': 1}, 'hosts': 'all'}).encode())

OF_MARKET = [
    Poison(table='accounts', column='weight', value='heavy', kind='account'),
    Poison(table='accounts', column='weight', value=1e300, kind='account'),
    Poison(table='accounts', column='renew_every', value=0, kind='account'),
    Poison(table='bids', column='max_cpu', value=1e-303, kind='bid'),
    Poison(table='bids', column='max_memory_mib', value='all', kind='bid'),
    Poison(table='rounds', column='state', value=UNKNOWN, kind='round'),
    Poison(table='rounds', column='started_at', value='then', kind='round'),
    Poison(table='round_documents', column='content', value=NO_JSON, kind='round', once=True),
    Poison(table='round_documents', column='content', value=BAD_DOCUMENT, kind='round', once=True),
    Poison(table='prices', column='price', value='low', kind='price', once=True),
    Poison(table='allocations', column='charge_cpu', value=-1, kind='allocation', once=True),
    Poison(table='economy', column='base_cpu', value='all', kind='economy', once=True),
    Poison(table='plans', column='state', value=UNKNOWN, kind='plan'),
    Poison(table='plan_moves', column='state', value=UNKNOWN, kind='plan'),
    Poison(table='plan_moves', column='gain', value='much', kind='plan'),
]
