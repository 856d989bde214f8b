# SPDX-License-Identifier: Apache-2.0
"""The engine with rebalancing: rounds go on while servers move, and what is charged adds up."""

from dataclasses import replace

import pytest

from nova_market.core.rebalancing.plan import MoveState, PlanState
from nova_market.db.plans import DatabasePlans
from nova_market.services.market.rebalancing import Rebalancing
from tests.support.market_bed import Market, bidding, host, server
from tests.support.rebalancing_bed import SETTINGS, Inline

pytestmark = pytest.mark.functional

LONG = 60_000
"""MiB: a migration of one minute."""


@pytest.fixture
def market(database):
    """Two hosts of four cores; red and blue share the first, the second is empty."""
    made = Market(
        database,
        hosts=[host('a', mib=200_000.0), host('b', mib=200_000.0)],
        servers=[
            server('red1', 'red', mib=LONG, metadata=bidding(2.0)),
            server('blue1', 'blue', mib=LONG, metadata=bidding(1.0)),
        ],
    )
    for project in ('red', 'blue'):
        made.grant(project, 1000.0)
    return made


def engine(market, name='engine', **settings):
    plans = DatabasePlans(market.database, market.clock.wall)
    moves = Rebalancing(plans, market.cloud, market.clock, replace(SETTINGS, **settings), Inline())
    made = market.another(name, market.leader, rebalancing=moves)
    return made, plans


def errors(market):
    """Largest error of each round decided so far."""
    return [one.outcome.largest_error for one in market.decided]


def test_an_imbalance_is_removed_while_rounds_go_on(market):
    """One server moves, the error falls to nothing, both are paid for where they are, no credit is lost."""
    made, plans = engine(market)
    market.run(1, made)
    assert {one.status for one in market.cloud.servers()} == {'ACTIVE', 'MIGRATING'}
    market.run(4, made)
    (plan,) = plans.list(PlanState.DONE)
    (move,) = plans.plan(plan.id).moves
    assert move.state == MoveState.DONE and 'in the cloud the largest error falls' in move.reason
    assert {one.host for one in market.cloud.servers()} == {'a', 'b'}
    assert errors(market)[0] > 0.3 and errors(market)[-1] == pytest.approx(0.0, abs=1e-9)
    assert market.cores() == pytest.approx({'red1': 4.0, 'blue1': 4.0})
    assert sum(market.balances().values()) == 0
    assert market.stores.ledger.discrepancies() == []
    assert len(market.stores.history.rounds()) == 5


def test_an_engine_that_ends_while_a_server_moves(market):
    """The next one watches the migration; rounds, plans and credits are as if nothing had happened."""
    first, plans = engine(market)
    market.run(1, first)
    second, _ = engine(market, 'second')
    market.run(4, second)
    assert [one.state for one in plans.list()] == [PlanState.DONE]
    moved = [market.cloud.migration(name) for name in ('red1', 'blue1')]
    assert [one.id for one in moved if one] == ['1']
    assert sum(market.balances().values()) == 0


def test_advice_leaves_servers_where_they_are(market):
    """And is the same plan for as long as nothing changes."""
    made, plans = engine(market, mode='advise')
    market.run(4, made)
    assert [one.state for one in plans.list()] == [PlanState.PROPOSED]
    assert {one.host for one in market.cloud.servers()} == {'a'}
