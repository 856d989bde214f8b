# SPDX-License-Identifier: Apache-2.0
"""What keeps the market's tables from growing for ever, on every database."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.record import AllocationRecord, RoundRecord, RoundState
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bids import DatabaseBids
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.purge import purge
from nova_market.db.rounds import DatabaseRounds
from nova_market.errors import Conflict, UnknownAccount
from tests.support.servers.databases import Wall

ALICE = account('project', 'alice')


@pytest.fixture
def wall():
    return Wall()


def budget(name):
    return Account(id=account('budget', name), project_id='alice')


def moved(debit, credit, amount, key):
    return Posting(
        key=f'transfer:0:{key}', reason=Reason.TRANSFER, debit=debit, credit=credit, amount=amount
    )


# accounts


def test_of_many_who_open_a_budget_at_once_only_so_many_may(database):
    """Twelve at once with room for five: five have one, seven are told."""
    store = DatabaseAccounts(database)

    def ask(number):
        try:
            return store.open_budget(budget(f'b{number}'), 5)
        except Conflict as error:
            return str(error)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(12)))
    assert answers.count(None) == 5 and {'the project has 5 budgets: delete one first', None} == {
        *answers
    }
    assert len(store.list(project_id='alice')) == 1 + 5


def test_a_budget_that_is_opened_twice_is_there_once(database):
    """A try whose answer got lost is no reason to refuse; others and closed ones do not count."""
    store = DatabaseAccounts(database)
    store.open_budget(budget('a'), 1)
    store.open_budget(budget('a'), 1)
    store.open_budget(replace(budget('b'), project_id='bob'), 1)
    with pytest.raises(Conflict):
        store.open_budget(budget('c'), 1)
    store.close(budget('a').id)
    store.open_budget(budget('c'), 1)


def test_a_budget_nobody_has_used_leaves_nothing_behind(database, wall):
    """Opened and closed in a loop it takes no room; one with postings or a bid is closed and kept."""
    store, ledger, bids = (
        DatabaseAccounts(database),
        DatabaseLedger(database, wall),
        DatabaseBids(database, wall),
    )
    for name in ('unused', 'used', 'bid'):
        store.open_budget(budget(name), 5)
    used = budget('used').id
    ledger.post([moved(MINT, used, 5, 'in'), moved(used, MINT, 5, 'out')])
    bids.put(StoredBid(server_id='vm', project_id='alice', payer=budget('bid').id, cpu=1, memory=1))
    for name in ('unused', 'used', 'bid'):
        store.close(budget(name).id)
    assert store.account(budget('unused').id) is None
    assert store.account(used).closed and store.account(budget('bid').id).closed
    with pytest.raises(UnknownAccount):
        store.close(budget('unused').id)


def test_a_purge_takes_closed_accounts_that_nothing_names(database, wall):
    """One with a posting or a bid stays, and so does one that is open."""
    store, ledger, bids = (
        DatabaseAccounts(database),
        DatabaseLedger(database, wall),
        DatabaseBids(database, wall),
    )
    names = ('used', 'bid', 'idle')
    for name in names:
        store.open_budget(budget(name), 5)
    used = budget('used').id
    ledger.post([moved(MINT, used, 5, 'in'), moved(used, MINT, 5, 'out')])
    bids.put(StoredBid(server_id='vm', project_id='alice', payer=budget('bid').id, cpu=1, memory=1))
    for name in ('used', 'bid'):
        store.close(budget(name).id)
    assert purge(database, older_than=wall.now).rows['accounts'] == 0
    bids.remove(['vm'])
    assert purge(database, older_than=wall.now).rows['accounts'] == 1
    assert store.account(budget('bid').id) is None
    assert store.account(used) is not None and store.account(budget('idle').id) is not None
    assert ledger.discrepancies() == []


# bids


def bid(name):
    return StoredBid(server_id=name, project_id='alice', payer=ALICE, cpu=1, memory=1)


def settled(store, period, started_at, servers):
    """A round that is over, with an allocation for each server."""
    record = RoundRecord(period=period, leader='a', started_at=started_at, document={})
    allocated = [
        AllocationRecord(
            period=period, server_id=name, project_id='alice', host='h', ideal_cpu=1.0, actual_cpu=1.0,
            ideal_memory_mib=1.0, actual_memory_mib=1.0, error=0.0, charge_cpu=0, charge_memory=0,
        )
        for name in servers
    ]  # fmt: skip
    store.begin(record, [], allocated)
    store.advance(period, RoundState.PLANNED, RoundState.UNDONE)


def test_the_bids_of_some_servers_are_read_without_those_of_others(database, wall):
    """More names than one query takes; a server without a bid is left out."""
    DatabaseAccounts(database).open([Account(id=ALICE, project_id='alice')])
    store = DatabaseBids(database, wall)
    stored = {name: store.put(bid(name)) for name in ('vm1', 'vm2', 'vm999')}
    store.put(bid('other'))
    assert store.of([f'vm{number}' for number in range(2500)]) == stored
    assert store.of([]) == {}


def test_a_purge_takes_bids_of_servers_that_are_gone(database, wall):
    """Kept: of a server in a kept round, and what was set or changed since."""
    DatabaseAccounts(database).open([Account(id=ALICE, project_id='alice')])
    store, rounds = DatabaseBids(database, wall), DatabaseRounds(database, wall)
    old, horizon = wall.now, wall.now + 500.0
    first = {name: store.put(bid(name)) for name in ('gone', 'there', 'changed')}
    settled(rounds, 1, old, list(first))
    wall.now = old + 1000.0
    store.put(replace(first['changed'], cpu=5))
    store.put(bid('new'))
    assert purge(database, older_than=horizon).rows['bids'] == 0, 'no round tells who is there'
    settled(rounds, 2, wall.now, ['there'])
    assert purge(database, older_than=horizon, batch=1).rows['bids'] == 1
    assert [one.server_id for one in store.list()] == ['changed', 'new', 'there']
