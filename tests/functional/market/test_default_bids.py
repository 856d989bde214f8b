# SPDX-License-Identifier: Apache-2.0
"""Sustainable bids (B3) by the engine on a real database: prices stay, documents explain, upgrades work."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import delete, insert

from nova_market.core.ledger.currency import recharge, redistribute
from nova_market.core.market.carried_state import KEY
from nova_market.db.market_tables import round_documents
from nova_market.sim.market.economy import Economy
from tests.support.market_bed import CREDIT, PERIOD, SETTINGS, Market, bidding, host, server

pytestmark = pytest.mark.functional

RECHARGE = replace(
    SETTINGS, currency=recharge, total=300 * CREDIT, renew_every=5, return_delay=4, notice=60
)


def three_servers(**more):
    """12 vCPU on 8 cores; the first server's metadata may be given."""
    return [
        server('r', 'red', vcpus=4, mib=1024, **more),
        server('b', 'blue', vcpus=4, mib=1024),
        server('g', 'green', vcpus=4, mib=1024),
    ]


def market_on(database, settings=RECHARGE, **more):
    return Market(
        database, hosts=[host(cores=8.0)], servers=three_servers(**more), settings=settings
    )


def prices(market):
    return np.array([one.outcome.price for one in market.decided])


def test_prices_stay_while_nobody_bids(database):
    """Through three returns of all credits; nobody is notified, scaled down or without cores."""
    market = market_on(database)
    market.run(16)
    assert prices(market)[1:].tolist() == [prices(market)[1].tolist()] * 15
    assert market.notices.sent == []
    assert market.cores() == pytest.approx(dict.fromkeys('rbg', 8 / 3))
    assert sum(market.balances().values()) == 0


@pytest.mark.parametrize('currency', [recharge, redistribute])
def test_the_simulated_economy_is_that_of_the_engine(database, currency):
    """Price by price and account by account, with a bid that is set beside two that are not."""
    delay = 4 if currency is recharge else 0
    settings = replace(RECHARGE, currency=currency, return_delay=delay)
    market = market_on(database, settings, metadata=bidding(7))
    economy = Economy(market.hosts, market.cloud.servers(), settings, first=market.engine.period())
    if currency is redistribute:
        market.grant('red', 50)
        for posting in [line.posting for line in market.stores.ledger.statement('project:red')]:
            economy.grant(posting)
    seen = [economy.pass_period()[1].outcome.price for _ in range(14)]
    market.run(14)
    market.engine.settle()
    assert prices(market).tolist() == np.array(seen).tolist()
    assert {n: b for n, b in market.balances().items() if b} == {
        name: balance for name, balance in economy.book.balances().items() if balance
    }


def test_the_document_explains_a_default_bid(database):
    """From the wealth of its payer to the bid, with the numbers that are stored."""
    market = market_on(database, metadata=bidding(7))
    market.run(9)
    found = market.decided[-1].stored.document
    explained, load = found['default_bids'], np.array(found['default_bids']['load'])
    payers = {one['id']: one for one in found['payers']}
    lines = {one['id']: one for one in found['servers']}
    red, blue = payers['project:red'], payers['project:blue']
    assert explained == {'cycle': 5, 'load': [12 / 8, 3072 / 8192]}
    assert blue['wealth'] == 100 * CREDIT
    assert blue['default_bids'] == 100 * CREDIT // 5 == sum(lines['b']['bid'])
    assert lines['b']['bid'][0] == pytest.approx(20 * CREDIT * load[0] / load.sum(), abs=1)
    assert lines['b']['source'] == ['sustainable', 'sustainable']
    assert (red['committed'], red['default_bids']) == (7 * CREDIT, 0)
    assert lines['r']['source'] == ['server', 'server']


def test_what_is_on_its_way_back_is_counted_where_a_document_lacks_it(database):
    """An upgrade: the document of the version before has no sums, so the ledger is read; no price changes."""
    market = market_on(database)
    market.run(7)
    newest = market.decided[-1].inputs.period
    document = market.stores.rounds.round(newest).document
    del document[KEY]['counted'], document[KEY]['coming']
    content = zlib.compress(json.dumps(document).encode())

    def store(connection):
        connection.execute(delete(round_documents).where(round_documents.c.period == newest))
        part = {'period': newest, 'part': 0, 'content': content}
        connection.execute(insert(round_documents), part)

    market.database.write(store)
    market.run(3)
    assert prices(market)[1:].tolist() == [prices(market)[1].tolist()] * 9


def test_a_new_project_waits_one_round(database):
    """Its server has no allocation in its first round, which its host treats as the average (A5)."""
    market = market_on(database)
    market.run(3)
    market.cloud.put_server(server('n', 'new', vcpus=4, mib=1024))
    market.run()
    assert market.decided[-1].inputs.period == market.clock.wall() // PERIOD - 1
    assert 'n' not in market.cores()
    market.run()
    assert market.cores() == pytest.approx(dict.fromkeys('rbgn', 2.0), rel=0.01)
