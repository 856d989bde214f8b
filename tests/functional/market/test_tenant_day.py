# SPDX-License-Identifier: Apache-2.0
"""A tenant's day: the command, the API, the engine and the hosts in one process, on one database.

Nova, the hosts and the clock are in memory; bids and credits go through HTTP.
"""

import pytest

from nova_market.core.ledger.money import MICRO
from tests.support.market.api import OF_ALICE, OF_BOB
from tests.support.market.api_server import PEOPLE
from tests.support.market.shell import granted, shown
from tests.support.market_bed import Market, bidding, host, server

pytestmark = pytest.mark.functional

ALICE, BOB = PEOPLE['alice'].project_id, PEOPLE['bob'].project_id


@pytest.fixture
def bed(market_service):
    """An engine on the service's database: one host of 4 cores, a server of each project on it."""
    made = Market(
        market_service.database,
        hosts=[host('compute1', cores=4.0, mib=8192.0)],
        servers=[
            server(OF_ALICE, owner=ALICE, where='compute1', vcpus=4, mib=4096),
            server(OF_BOB, owner=BOB, where='compute1', vcpus=4, mib=4096, metadata=bidding(1, 0)),
        ],
    )
    market_service.market.wall.now = made.clock.wall()
    return made


def test_a_bid_raised_by_command_is_in_force_in_the_next_period(
    market_service,
    connect,
    run,
    bed,
):
    """CPU follows the bids, 1:1 and then 3:1; what was paid is in the statement, to the last credit."""
    own = granted(market_service, connect, 'alice', 100)
    granted(market_service, connect, 'bob', 100)
    shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '1', '--memory', '0')
    bed.run(2)
    assert bed.cores()[OF_ALICE] == pytest.approx(2.0)
    shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '3')
    bed.run(2)
    assert bed.cores() == pytest.approx({OF_ALICE: 3.0, OF_BOB: 1.0})
    bed.run(1)
    lines = shown(run, 'alice', 'statement', 'show')
    charges = [-line['Change'] for line in lines if line['Reason'] == 'charge']
    assert sorted(set(charges)) == [MICRO, 3 * MICRO]
    # of the round of this period
    held = -sum(line['Change'] for line in lines if line['Reason'] in ('hold', 'release'))
    assert held == 3 * MICRO
    balance = shown(run, 'alice', 'account', 'show', own)['balance']
    assert balance == lines[0]['Balance'] == 100 * MICRO - sum(charges) - held
    seen = shown(run, 'alice', 'allocation', 'list', '--server', 'web-1')
    assert seen[1]['CPU'] == pytest.approx(3.0) and seen[1]['Confirmed']


def test_who_runs_out_of_credits_is_scaled_down_and_notified_why(
    market_service,
    connect,
    run,
    bed,
):
    """B2: a bid of 8 with 2 credits left counts as 2, and the round says so."""
    granted(market_service, connect, 'alice', 2)
    granted(market_service, connect, 'bob', 100)
    shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '8', '--memory', '0')
    bed.run(1)
    assert bed.cores() == pytest.approx({OF_ALICE: 4 * 2 / 3, OF_BOB: 4 / 3})
    _, table, _ = run('alice', 'round', 'show', '--fit-width')
    assert 'can pay 2 of 8 bid' in ' '.join(table.split())


def test_a_private_flavor_is_quoted_to_those_who_may_see_it(market_service, run, bed):
    """By what it holds: the market itself knows public flavors only. The command names it all the same."""
    bed.run(1)
    quote = shown(run, 'alice', 'price', 'quote', '--flavor', 'm1.own')
    assert (quote['flavor'], quote['cpu'], quote['memory_mib']) == ('own', 2.0, 512.0)
    assert shown(run, 'alice', 'price', 'quote', '--flavor', 'm1.small')['flavor'] == 'small'
    status, _, err = run('bob', 'price', 'quote', '--flavor', 'm1.own')
    assert status == 1 and 'm1.own' in err
