# SPDX-License-Identifier: Apache-2.0
"""The inputs of a round: who takes part, whose account is missing, and the snapshot that is made of it."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.carried_state import CarriedState
from nova_market.core.market.inputs import inventory_of, missing_accounts, round_inputs
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.past import Past
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName

ALL = {HostName(name): ('cpu', 'memory') for name in 'ab'}
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
        BLUE: Account(id=BLUE, project_id='blue', balance=30_000),
        WEB: Account(id=WEB, project_id='red', balance=5),
    }
    stored = {'1': StoredBid(server_id='1', project_id='red', payer=WEB, cpu=9, memory=1)}
    past = Past(price=np.array([100.0, 0.0]), allocated={'2': (1.5, 512.0)})
    cloud = inventory_of([host('a'), host('b')], [server('1', where='b'), server('2', 'blue')])
    settings = MarketSettings(reserve=(7.0, 2.0), host_reserve=(1.0, 1024.0))
    found = round_inputs(60, cloud, stored, accounts, past, settings, bank=11, enforced=ALL)
    snapshot = found.snapshot
    assert found.payers == (WEB, BLUE) and found.bank == 11
    assert snapshot.capacity.tolist() == [[3.0, 3.0], [7168.0, 7168.0]]
    assert snapshot.host.tolist() == [1, 0] and snapshot.payer.tolist() == [0, 1]
    assert snapshot.available.tolist() == [5, 30_000]
    # without a bid: a part of 1 + 60 of what it has, by what all could use of 6 cores and of 14 GiB
    assert found.means.sustainable.tolist() == [0, 30_000 // 61]
    assert snapshot.bids.tolist() == [[9, 404], [1, 87]]
    assert found.defaults.load.tolist() == pytest.approx([4 / 6, 2048 / 14336])
    assert snapshot.last.tolist() == [[0.0, 1.5], [0.0, 512.0]]


def decided(accounts, past, cloud, bank=0, **more):
    settings = MarketSettings(host_reserve=(0.0, 0.0), new_weight=1.0, **more)
    return round_inputs(60, cloud, {}, accounts, past, settings, bank=bank, enforced=ALL)


def test_wealth_is_the_balance_and_what_is_on_its_way_back():
    """`recharge`: charges that will return; `redistribute`: the weight's part of what is in the bank."""
    accounts = {
        RED: Account(id=RED, project_id='red', balance=70, weight=3.0),
        BLUE: Account(id=BLUE, project_id='blue', balance=30),
    }
    cloud = inventory_of([host('a')], [server('1'), server('2', 'blue')])
    past = Past(carried=CarriedState(coming={'red': 40}))
    found = decided(accounts, past, cloud, bank=80, return_delay=10)
    assert (found.payers, found.means.wealth.tolist()) == ((BLUE, RED), [30, 110])
    assert found.means.cycle == 11
    found = decided(accounts, Past(), cloud, bank=80, return_delay=0, renew_every=20)
    assert found.means.wealth.tolist() == [30 + 20, 70 + 60]
    assert found.means.cycle == 21


def test_hosts_that_do_not_answer_take_nothing_of_the_money():
    """The server that is reached bids all that its project can spend, the other one nothing."""
    accounts = {RED: Account(id=RED, project_id='red', balance=6100)}
    hosts = [host('a'), host('b', answering=False)]
    found = decided(accounts, Past(), inventory_of(hosts, [server('1'), server('2', where='b')]))
    assert found.snapshot.bids.sum(axis=0).tolist() == [100, 0]


def test_what_is_not_sold_gets_no_default_bid():
    """With a capacity of 0, all of the money goes to the other resource."""
    accounts = {RED: Account(id=RED, project_id='red', balance=6100)}
    bare = replace(host('a'), memory_mib=0.0)
    found = decided(accounts, Past(), inventory_of([bare], [server('1')]))
    assert found.snapshot.bids.tolist() == [[100], [0]]


def test_a_project_without_credits_waits_for_its_entitlement():
    """Its servers take no part until the round after; a project that was renewed before takes part."""
    accounts = {
        RED: Account(id=RED, project_id='red', balance=70),
        BLUE: Account(id=BLUE, project_id='blue'),
    }
    cloud = inventory_of([host('a')], [server('1'), server('2', 'blue')])
    found = decided(accounts, Past(), cloud)
    assert [one.id for one in found.servers] == ['1']
    assert [one.id for one in found.others] == ['2']
    seen = Past(carried=CarriedState(entitled={'blue': 0}))
    assert [one.id for one in decided(accounts, seen, cloud).servers] == ['1', '2']
    budget = {**accounts, WEB: Account(id=WEB, project_id='blue', balance=1)}
    assert [one.id for one in decided(budget, Past(), cloud).servers] == ['1', '2']


def inputs_of(hosts, *, enforced=None, stored=None):
    """One server that bids nothing on each host; stored: what hosts enforced in the round before."""
    servers = [server(str(row), where=one.name) for row, one in enumerate(hosts)]
    accounts = {RED: Account(id=RED, project_id='red', balance=70)}
    past = Past(enforced=stored or {})
    settings = MarketSettings(host_reserve=(1.0, 1024.0))
    cloud = inventory_of(hosts, servers)
    return round_inputs(60, cloud, {}, accounts, past, settings, bank=0, enforced=enforced or {})


def test_only_what_a_host_enforces_is_sold():
    """A host's report counts before what was stored of it; of one that has stated nothing CPU is sold."""
    found = inputs_of(
        [host('a'), host('b'), host('c')],
        enforced={HostName('a'): frozenset()},
        stored={HostName('a'): ('cpu', 'memory'), HostName('b'): ('cpu', 'memory', 'fans')},
    ).snapshot
    assert found.sells.tolist() == [[False, True, True], [False, True, False]]
    assert found.capacity.tolist() == [[0.0, 3.0, 3.0], [0.0, 7168.0, 0.0]]


def test_default_bids_go_to_what_the_servers_host_sells():
    """A server whose host does not sell memory bids all of its money for CPU; the other divides its own."""
    accounts = {
        RED: Account(id=RED, project_id='red', balance=6100),
        BLUE: Account(id=BLUE, project_id='blue', balance=6100),
    }
    cloud = inventory_of([host('a'), host('b')], [server('1'), server('2', 'blue', 'b')])
    settings = MarketSettings(host_reserve=(0.0, 0.0))
    enforced = {HostName('a'): ('cpu',), HostName('b'): ('cpu', 'memory')}
    found = round_inputs(60, cloud, {}, accounts, Past(), settings, bank=0, enforced=enforced)
    assert found.snapshot.bids[:, 0].tolist() == [100, 0]
    assert found.snapshot.bids[1, 1] > 0
