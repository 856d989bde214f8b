# SPDX-License-Identifier: Apache-2.0
"""The simulator's market in arrays and the engine with its ledger and rebalancing decide the same."""

import numpy as np
import pytest

from nova_market.core.ledger.currency import redistribute
from nova_market.core.ledger.money import MICRO
from nova_market.core.rebalancing.tabu_search import BalanceSettings
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.plans import DatabasePlans
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.engine_market import EngineMarket
from nova_market.sim.cloud.hosts import HostKind
from nova_market.sim.cloud.migrations import MoveSetting
from nova_market.sim.cloud.scheduler import PlacingSetting, Weights
from nova_market.sim.cloud.vector_market import VectorMarket
from tests.support.market_bed import stores_of
from tests.support.simulated_cloud import cloud_run, mixed

pytestmark = pytest.mark.functional

KINDS = [HostKind(count=3, cores=4, memory_mib=6000), HostKind(count=2, cores=2, memory_mib=3000)]
PACKED = PlacingSetting(
    weights=Weights(cpu=0.0, ram=0.0, bid_load=0.0, allocation_error=0.0, packing=1.0)
)
"""So that there is something to migrate."""

MONEY = {
    'scarce': MoneySetting(total=9000 * MICRO, projects=2, renew_every=7, return_delay=3),
    'taxed': MoneySetting(
        total=30_000 * MICRO, projects=3, renew_every=5, return_delay=4, tax_rate=20_000
    ),
    'bank': MoneySetting(
        grant=9000 * MICRO, projects=2, renew_every=3, return_delay=0, currency=redistribute
    ),
}


@pytest.fixture
def engine_market(tmp_path):
    made = Database({'connection': f'sqlite:///{tmp_path}/sim.sqlite', 'sqlite_synchronous': False})
    schema.sync(made)

    def market(hosts, setting, targets, project, rate):
        def stores(wall):
            return stores_of(made, wall), DatabasePlans(made, wall)

        return EngineMarket(hosts, setting, targets, project, rate, stores)

    yield market
    made.close()


def recorded(market, **how):
    """(what was decided in each round, the result): prices, allocations, hosts, balances."""
    jobs, wanted = mixed(count=8, widest=4, span=400.0, longest=1200.0)
    seen = []

    def recording(*arguments):
        made = market(*arguments)
        decide = made.round

        def round_and_tell(period, offers):
            balances = made.balances()
            ruling = decide(period, offers)
            seen.append(
                {
                    'period': period,
                    'server': offers.server.tolist(),
                    'host': offers.host.tolist(),
                    'price': ruling.outcome.price.tolist(),
                    'actual': ruling.outcome.actual.tolist(),
                    'due': ruling.outcome.due().tolist(),
                    'economy': ruling.economy,
                    'moves': [(m.server, m.target, m.began, m.ended) for m in ruling.ended],
                    'balances': {n: b for n, b in balances.items() if n != 'escrow'},
                }
            )
            return ruling

        made.round = round_and_tell
        return made

    run, _ = cloud_run(
        jobs, wanted, KINDS, market=recording, project=np.arange(len(jobs)) % 2,
        costs=Costs(boot=30.0), placing=PACKED, **how,
    )  # fmt: skip
    return seen, run.run()


@pytest.mark.parametrize('money', MONEY)
def test_both_markets_decide_the_same(engine_market, money):
    """Round by round: prices, every server's allocation, charges, migrations, every balance."""
    moves = MoveSetting(every=2, rest=120.0, balance=BalanceSettings(tolerated_error=0.01))
    how = {'money': MONEY[money], 'moves': moves, 'period': 120.0}
    ours, result = recorded(VectorMarket, **how)
    theirs, other = recorded(engine_market, **how)
    assert len(ours) > 10 and len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        assert one == two
    assert np.array_equal(result.schedule.end, other.schedule.end, equal_nan=True)
    assert any(one['moves'] for one in ours) and any(one['due'] for one in ours)


@pytest.mark.parametrize('enforced', [('cpu', 'memory'), ('cpu',)], ids=len)
def test_both_markets_sell_what_hosts_control(engine_market, enforced):
    """B5: memory has at least its reserve price, or none, and then everybody has all of it."""
    how = {
        'money': MONEY['bank'], 'period': 120.0, 'enforced': enforced, 'reserve_memory': 1e-5,
    }  # fmt: skip
    ours, _ = recorded(VectorMarket, **how)
    theirs, _ = recorded(engine_market, **how)
    assert len(ours) > 10 and ours == theirs
    prices = {price for one in ours for price in one['price'][1:]}
    assert prices == ({10.0} if 'memory' in enforced else {0.0})
    assert any(one['due'] for one in ours)
