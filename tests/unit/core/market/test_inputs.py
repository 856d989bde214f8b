# SPDX-License-Identifier: Apache-2.0
"""The inputs of a round: who takes part, whose account is missing, and the snapshot that is made of it."""

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.inputs import inventory_of, missing_accounts, round_inputs
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.past import Past
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName

RED, BLUE, WEB = account('project', 'red'), account('project', 'blue'), account('budget', 'web')


def host(name, **more):
    return CloudHost(name=HostName(name), cores=4.0, memory_mib=8192.0, **more)


def server(name, owner='red', where='a', **more):
    return CloudServer(
        id=name, project_id=owner, host=HostName(where), vcpus=2, memory_mib=1024, **more
    )


def test_who_takes_part():
    """Running servers on hosts that are known; the others are kept apart."""
    servers = [server('1'), server('2', status='SHUTOFF'), server('3', where='gone')]
    found = inventory_of([host('a')], servers)
    assert [one.id for one in found.servers] == ['1']
    assert [one.id for one in found.others] == ['2', '3']
    assert found.all_answer
    assert not inventory_of([host('a'), host('b', answering=False)], servers).all_answer


def test_projects_without_an_account_are_named_once():
    """In order, with nothing in them."""
    servers = [server('1', 'red'), server('2', 'blue'), server('3', 'blue')]
    assert missing_accounts(servers, {RED: Account(id=RED, project_id='red')}) == [
        Account(id=BLUE, project_id='blue')
    ]


def test_the_snapshot_has_a_row_for_each():
    """Hosts without their reserve, servers with host, payer, bid and what they had."""
    accounts = {
        RED: Account(id=RED, project_id='red', balance=70),
        BLUE: Account(id=BLUE, project_id='blue', balance=30),
        WEB: Account(id=WEB, project_id='red', balance=5),
    }
    stored = {'1': StoredBid(server_id='1', project_id='red', payer=WEB, cpu=9, memory=1)}
    past = Past(price=np.array([100.0, 0.0]), allocated={'2': (1.5, 512.0)})
    cloud = inventory_of([host('a'), host('b')], [server('1', where='b'), server('2', 'blue')])
    settings = MarketSettings(reserve=(7.0, 2.0), host_reserve=(1.0, 1024.0))
    found = round_inputs(60, cloud, stored, accounts, past, settings, bank=11)
    snapshot = found.snapshot
    assert found.payers == (WEB, BLUE) and found.bank == 11
    assert snapshot.capacity.tolist() == [[3.0, 3.0], [7168.0, 7168.0]]
    assert snapshot.host.tolist() == [1, 0] and snapshot.payer.tolist() == [0, 1]
    assert snapshot.available.tolist() == [5, 30]
    # without a bid: the last price times what it can use, or the reserve where there was no price
    assert snapshot.bids.tolist() == [[9, 200], [1, 2048]]
    assert snapshot.last.tolist() == [[0.0, 1.5], [0.0, 512.0]]
