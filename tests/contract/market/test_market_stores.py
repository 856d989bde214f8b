# SPDX-License-Identifier: Apache-2.0
"""What every database does for the market: accounts, postings, bids, rounds, plans, purge, schema."""

import json
import zlib
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from oslo_db.exception import DBError
from sqlalchemy import delete, insert, text, update
from sqlalchemy.exc import DBAPIError

from nova_market.core.job.record import JobState
from nova_market.core.job.store_values import JobStep
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.ledger.posting import (
    BANK,
    ESCROW,
    MINT,
    Posting,
    Reason,
    account,
    posting_key,
)
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
    RoundRecord,
    RoundState,
)
from nova_market.core.market.round_sections import sections
from nova_market.core.rebalancing.plan import MoveState, PlanState, StoredMove, StoredPlan
from nova_market.core.tender.stored_offer import OfferState
from nova_market.db import schema
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bids import DatabaseBids
from nova_market.db.database import Database
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.ledger_tables import Base, accounts, postings
from nova_market.db.market_tables import round_documents
from nova_market.db.offers import open_offer
from nova_market.db.plans import DatabasePlans
from nova_market.db.purge import purge
from nova_market.db.queues import DatabaseQueues
from nova_market.db.rounds import DatabaseRounds
from nova_market.errors import (
    BadAmount,
    BadRow,
    BalanceTooLow,
    ConfigurationError,
    Conflict,
    KeyReused,
    PeriodPurged,
    SchemaBehind,
    UnknownAccount,
)
from tests.support.job_records import QUOTAS, id_of, job, new_jobs, queue
from tests.support.offer_builders import offer
from tests.support.servers.databases import Wall

ALICE, BOB, WEB = account('project', 'alice'), account('project', 'bob'), account('budget', 'web')


@pytest.fixture
def wall():
    return Wall()


@pytest.fixture
def book(database, wall):
    """A ledger in which Alice has 1,000 micro-credits and Bob none."""
    DatabaseAccounts(database).open(
        [Account(id=ALICE, project_id='alice', weight=2.0), Account(id=BOB, project_id='bob')]
    )
    ledger = DatabaseLedger(database, wall)
    ledger.post([posting(MINT, ALICE, 1000, key='grant:0:first')], by='admin')
    return ledger


def posting(debit, credit, amount, *, key, reason=Reason.TRANSFER):
    return Posting(key=key, reason=reason, debit=debit, credit=credit, amount=amount)


def charge(period, amount=10, server_id='vm'):
    key = posting_key(Reason.CHARGE, period, server_id)
    return posting(ALICE, BANK, amount, key=key, reason=Reason.CHARGE)


# postings


def test_a_posting_moves_money_once(book):
    """M2: posted twice, it changes nothing the second time, also within one batch."""
    one = posting(ALICE, BOB, 300, key='transfer:0:x')
    assert (book.post([one, one]), book.post([one])) == (1, 0)
    assert book.balances([ALICE, BOB, MINT]) == {ALICE: 700, BOB: 300, MINT: -1000}


def test_a_batch_is_written_whole_or_not_at_all(book):
    """The second posting can't be paid, so the first one is not made either, and the text says why."""
    batch = [
        posting(ALICE, BOB, 900, key='transfer:0:a'),
        posting(ALICE, BOB, 101, key='transfer:0:b'),
    ]
    with pytest.raises(BalanceTooLow, match=r'project:alice has 0.0001 credits left, 0.000101'):
        book.post(batch)
    assert book.balances([ALICE, BOB]) == {ALICE: 1000, BOB: 0}
    assert len(book.statement(ALICE)) == 1


def test_a_key_belongs_to_one_posting(book):
    """Another amount or other accounts under a key that is taken are refused."""
    book.post([posting(ALICE, BOB, 1, key='transfer:0:x')])
    for other in (
        posting(ALICE, BOB, 2, key='transfer:0:x'),
        posting(BOB, BANK, 1, key='transfer:0:x'),
    ):
        with pytest.raises(KeyReused):
            book.post([other])
    assert book.balances([ALICE, BOB]) == {ALICE: 999, BOB: 1}


def test_keys_differ_in_case(book):
    """MariaDB's usual collation would take them for the same."""
    keys = ['transfer:0:x', 'transfer:0:X']
    assert book.post([posting(ALICE, BOB, 1, key=key) for key in keys]) == 2


@pytest.mark.parametrize('key', ['', 'with blank', 'end ', 'nul\0', 'ä', 'x' * 400])
def test_a_key_that_databases_read_differently_is_refused(book, key):
    """Blanks at the end, NUL and long keys are no keys."""
    with pytest.raises(BadAmount, match='printable'):
        book.post([posting(ALICE, BOB, 1, key=key)])


def test_an_account_has_to_be_there_and_open(book, database):
    """Nothing is posted to an account that was never opened, or that is closed."""
    nobody = account('project', 'nobody')
    with pytest.raises(UnknownAccount, match='project:nobody'):
        book.post([posting(ALICE, nobody, 1, key='transfer:0:n')])
    DatabaseAccounts(database).close(BOB)
    with pytest.raises(UnknownAccount, match='closed'):
        book.post([posting(ALICE, BOB, 1, key='transfer:0:c')])


def test_nobody_can_have_more_than_is_exact(book):
    """2^53 micro-credits, the largest that JSON carries exactly, is the most in one account."""
    with pytest.raises(BadAmount, match='would have more'):
        book.post([posting(MINT, ALICE, MAX_AMOUNT, key='grant:0:huge')])
    book.post([posting(MINT, ALICE, MAX_AMOUNT - 1000, key='grant:0:large')])
    assert book.balances([ALICE, MINT]) == {ALICE: MAX_AMOUNT, MINT: -MAX_AMOUNT}


def test_a_statement_goes_back_in_pages(book, wall):
    """Newest first, with what each posting did to this account and what it left."""
    wall.now += 60
    for number in range(5):
        book.post([posting(ALICE, BOB, 100, key=f'transfer:0:{number}')], by='alice-user')
    first = book.statement(ALICE, limit=2)
    rest = book.statement(ALICE, before=first[-1].number)
    assert [(line.change, line.balance) for line in first] == [(-100, 500), (-100, 600)]
    assert [(line.change, line.balance) for line in rest][-2:] == [(-100, 900), (1000, 1000)]
    assert (first[0].by, rest[-1].by) == ('alice-user', 'admin')
    assert first[0].posted_at == rest[-1].posted_at + 60
    assert [line.change for line in book.statement(BOB)] == [100] * 5


def test_what_a_period_cost_is_added_up(book):
    """Charges of one period by payer, from which returns are computed."""
    book.post([charge(7, 10, 'a'), charge(7, 5, 'b'), charge(8, 1, 'a')])
    assert book.totals(7, Reason.CHARGE) == {(ALICE, BANK): 15}
    assert book.totals(9, Reason.CHARGE) == {}


@pytest.mark.parametrize(
    'change', [{'balance': -1}, {'balance': MAX_AMOUNT + 1}, {'weight': -1.0}], ids=str
)
def test_the_database_itself_refuses_what_breaks_a_rule(book, database, change):
    """Below the code stands a constraint: no balance below zero or out of range, by whatever program."""
    with pytest.raises(Exception, match=r'(?i)constraint'):
        database.write(
            lambda c: c.execute(update(accounts).where(accounts.c.id == ALICE).values(**change))
        )
    assert book.balances([ALICE]) == {ALICE: 1000}


@pytest.mark.parametrize(
    'change',
    [{'posting_key': 'grant:0:first'}, {'amount': 0}, {'credit': MINT}, {'debit': 'project:none'}],
    ids=str,
)
def test_the_database_itself_refuses_a_bad_posting(book, database, change):
    """One key twice, no amount, one account twice, an account that is not there."""
    row = {
        'posting_key': 'k', 'reason': 'grant', 'period': 0, 'debit': MINT, 'credit': ALICE, 'amount': 1,
        'debit_balance': 0, 'credit_balance': 0, 'posted_at': 0.0,
    }  # fmt: skip
    with pytest.raises(Exception, match=r'(?i)constraint|duplicate'):
        database.write(lambda c: c.execute(insert(postings), {**row, **change}))
    database.write(lambda c: c.execute(insert(postings), row))


def test_a_balance_that_was_tampered_with_is_found(book, database):
    """discrepancies() names the account and both figures."""
    assert book.discrepancies() == []
    forged = update(accounts).where(accounts.c.id == BOB).values(balance=5)
    database.write(lambda connection: connection.execute(forged))
    assert book.discrepancies() == [
        'project:bob has 5 micro-credits, its postings add up to 0',
        'all accounts add up to 5 micro-credits, not to zero',
    ]


# accounts


def test_accounts_are_opened_once_and_listed_in_pages(book, database):
    """Opening again keeps what is there; bank, escrow and mint exist from the start."""
    store = DatabaseAccounts(database)
    assert store.open([Account(id=ALICE, weight=9.0)]) == 0
    assert store.account(ALICE) == Account(id=ALICE, project_id='alice', weight=2.0, balance=1000)
    assert store.account(account('project', 'ALICE')) is None
    assert [one.id for one in store.list(limit=3)] == [BANK, ESCROW, MINT]
    assert [one.id for one in store.list(after=MINT)] == [ALICE, BOB]
    assert [one.id for one in store.list(project_id='bob')] == [BOB]


def test_only_what_is_named_is_changed(book, database):
    """Two who change different things of one account keep each other's; what is returned is stored."""
    store = DatabaseAccounts(database)
    read = store.account(ALICE)
    assert store.set(ALICE, {'weight': 0.5}) == replace(read, weight=0.5)
    renamed = store.set(ALICE, {'name': 'Wéb', 'renew_amount': 500, 'renew_every': 60})
    assert renamed == store.account(ALICE)
    assert (renamed.weight, renamed.name, renamed.balance) == (0.5, 'Wéb', 1000)
    assert store.set(ALICE, {'renew_amount': None}).renew_amount is None


@pytest.mark.parametrize(
    'change',
    [{'balance': 5}, {'closed': True}, {'project_id': 'bob'}, {'weight': -1.0}, {'renew_every': 0}],
    ids=str,
)
def test_what_is_no_setting_is_not_changed(book, database, change):
    """Money, owner and end of an account have their own ways; settings have their ranges."""
    store = DatabaseAccounts(database)
    before = store.account(ALICE)
    with pytest.raises(BadAmount):
        store.set(ALICE, {'name': 'x', **change})
    assert store.account(ALICE) == before
    with pytest.raises(UnknownAccount):
        store.set(account('project', 'nobody'), {'name': 'x'})


@pytest.mark.parametrize(
    'change',
    [{'weight': -1.0}, {'weight': float('nan')}, {'renew_amount': -1}, {'renew_amount': 2**60},
     {'renew_every': 0}, {'id': 'purse:x'}, {'id': 'project:a b'}],
    ids=str,
)  # fmt: skip
def test_an_account_out_of_range_is_refused(database, change):
    """Each value that no account can have, before it reaches the database."""
    with pytest.raises(BadAmount):
        DatabaseAccounts(database).open([replace(Account(id=ALICE), **change)])


def test_an_account_with_money_stays_open(book, database):
    """Closing asks for an empty account, and the cloud's own can't be closed."""
    store = DatabaseAccounts(database)
    with pytest.raises(Conflict, match=r'0\.001 credits'):
        store.close(ALICE)
    with pytest.raises(UnknownAccount):
        store.close(BANK)


def test_what_is_claimed_is_what_was_claimed_last(book, database):
    """M6: of whom nothing is claimed any more, is free."""
    store = DatabaseAccounts(database)
    for claims in ({'alice': 7, 'bob': 3}, {'bob': 5}, {'bob': 5}, {}):
        store.claim(claims)
        found = {one.project_id: one.claimed for one in store.list() if one.claimed}
        assert found == claims


@pytest.mark.parametrize(
    ('amount', 'key', 'reason', 'credit', 'refused'),
    [
        (500, 'transfer:0:x', Reason.TRANSFER, BOB, False),
        (501, 'transfer:0:x', Reason.TRANSFER, BOB, True),
        (501, 'hold:0:job/x', Reason.HOLD, ESCROW, True),
        (800, 'transfer:0:x', Reason.TRANSFER, WEB, False),
        (800, f'hold:7:{ALICE}', Reason.HOLD, ESCROW, False),
        (800, 'tax:7:alice', Reason.TAX, BANK, False),
        (800, 'charge:7:vm', Reason.CHARGE, BANK, False),
    ],
)
def test_what_is_claimed_is_neither_promised_nor_given(
    book, database, amount, key, reason, credit, refused
):
    """M6: of 800 and 200 in a budget 500 are claimed; rounds, the operator and own budgets are free."""
    store = DatabaseAccounts(database)
    store.open([Account(id=WEB, project_id='alice', name='web')])
    book.post([posting(ALICE, WEB, 200, key='transfer:0:first')])
    store.claim({'alice': 500})
    one = posting(ALICE, credit, amount, key=key, reason=reason)
    if not refused:
        assert book.post([one]) == 1
        return
    with pytest.raises(
        BalanceTooLow, match=r'has 0\.001 credits, and the operator claims 0\.0005 of'
    ):
        book.post([one])
    assert book.balances([ALICE]) == {ALICE: 800}


# bids

BID_ROW = (
    'INSERT INTO bids (server_id, project_id, payer, cpu, memory, source, generation, changed_at) '
    "VALUES ('{server}', 'x', 'project:x', {cpu}, 3, 'tenant', 1, 0)"
)


def test_a_bid_stays_until_it_is_changed(book, database):
    """Of two changes of the same bid the second one is told; a bid can be read, listed and removed."""
    store = DatabaseBids(database, Wall())
    first = store.put(StoredBid(server_id='vm', project_id='alice', payer=ALICE, cpu=5, memory=3))
    raised = store.put(replace(first, cpu=50, max_cpu=1.5, source='hint'))
    with pytest.raises(Conflict, match='generation 2, not 1'):
        store.put(replace(first, cpu=7))
    with pytest.raises(Conflict):
        store.put(replace(first, generation=0, cpu=7))
    assert store.bid('vm') == raised and raised.generation == 2
    store.put(StoredBid(server_id='vm2', project_id='bob', payer=BOB, cpu=0, memory=MAX_AMOUNT))
    assert [bid.server_id for bid in store.list()] == ['vm', 'vm2']
    assert [bid.server_id for bid in store.list(project_id='bob')] == ['vm2']
    assert [bid.server_id for bid in store.list(after='vm')] == ['vm2']
    assert store.remove(['vm', 'gone']) == 1
    assert store.bid('vm') is None


def test_a_bid_may_leave_a_resource_to_its_default(book, database):
    """B1: nothing is stored of it, and it can be set later."""
    store = DatabaseBids(database, Wall())
    first = store.put(
        StoredBid(server_id='vm', project_id='alice', payer=ALICE, cpu=5, memory=None)
    )
    assert store.of(['vm']) == {'vm': first} and first.memory is None
    assert store.put(replace(first, memory=3)).memory == 3


def test_bids_outlast_the_step_that_lets_them_leave_out_a_resource(empty):
    """A step from the first revision keeps bids, their ranges and their index."""
    schema.sync(empty, '7d14e8b3f960')
    with empty.engine.begin() as connection:
        connection.execute(text("INSERT INTO accounts (id, project_id) VALUES ('project:x', 'x')"))
        connection.execute(text(BID_ROW.format(server='vm', cpu=5)))
    schema.sync(empty)
    found = DatabaseBids(empty, Wall()).list('x')
    assert [(one.server_id, one.cpu, one.memory) for one in found] == [('vm', 5, 3)]
    with pytest.raises((DBError, DBAPIError)), empty.engine.begin() as connection:
        connection.execute(text(BID_ROW.format(server='vm2', cpu=-1)))


@pytest.mark.parametrize(
    'change',
    [{'cpu': -1}, {'cpu': 1.5}, {'memory': MAX_AMOUNT + 1}, {'max_cpu': float('nan')},
     {'max_memory_mib': 0.0}],
    ids=str,
)  # fmt: skip
def test_a_bid_out_of_range_is_refused(book, database, change):
    """Negative, fractional, above 2^53, not a number."""
    good = StoredBid(server_id='vm', project_id='alice', payer=ALICE, cpu=5, memory=3)
    with pytest.raises(BadAmount):
        DatabaseBids(database, Wall()).put(replace(good, **change))


def test_a_bid_needs_somebody_who_pays(database):
    """The payer's account must exist."""
    with pytest.raises(UnknownAccount):
        DatabaseBids(database, Wall()).put(
            StoredBid(server_id='vm', project_id='x', payer=account('budget', 'x'), cpu=1, memory=1)
        )


# rounds


def a_round(period=7, leader='engine-a', size=1, started_at=1000.0):
    record = RoundRecord(
        period=period, leader=leader, started_at=started_at,
        document={'why': 'é' * size, 'errors': [0.25, None]},
    )  # fmt: skip
    price = PriceRecord(
        period=period,
        resource='cpu',
        price=1.5,
        bid_price=2.0,
        capacity=8.0,
        allocated=7.5,
        bids=16,
    )
    allocation = AllocationRecord(
        period=period, server_id='vm', project_id='alice', host='h1', ideal_cpu=2.0,
        actual_cpu=1.5, ideal_memory_mib=512.0, actual_memory_mib=512.0, error=0.25,
        charge_cpu=10, charge_memory=0,
    )  # fmt: skip
    return record, [price], [allocation, replace(allocation, server_id='vm2')]


def test_the_first_leader_to_store_a_round_decides_it(database, wall):
    """F1: another leader gets what is stored, document and all, and completes it step by step."""
    store = DatabaseRounds(database, wall)
    mine = a_round()
    assert store.begin(*mine) == mine[0]
    assert store.begin(*a_round(leader='engine-b', size=9)) == mine[0]
    store.begin(*a_round(period=8))
    store.advance(7, RoundState.PLANNED, RoundState.APPLIED)
    store.advance(7, RoundState.PLANNED, RoundState.APPLIED)
    assert [(one.period, one.state) for one in store.unfinished()] == [
        (7, RoundState.APPLIED),
        (8, RoundState.PLANNED),
    ]
    store.advance(7, RoundState.APPLIED, RoundState.SETTLED)
    assert [one.period for one in store.unfinished()] == [8]
    with pytest.raises(Conflict, match='settled'):
        store.advance(7, RoundState.APPLIED, RoundState.UNDONE)
    with pytest.raises(Conflict):
        store.advance(7, RoundState.SETTLED, RoundState.PLANNED)


def test_a_round_is_stored_with_its_holds(book, database, wall):
    """M1: each at most what its account has, none for an empty one; who comes second holds nothing."""
    store = DatabaseRounds(database, wall)
    holds = [
        posting(who, ESCROW, 1500, key=f'hold:7:{who}', reason=Reason.HOLD) for who in (ALICE, BOB)
    ]
    first = a_round()
    assert store.begin(*first, holds) == first[0]
    store.begin(*a_round(leader='engine-b'), [replace(holds[1], amount=1)])
    assert book.balances([ALICE, BOB, ESCROW]) == {ALICE: 0, BOB: 0, ESCROW: 1000}
    assert book.totals(7, Reason.HOLD) == {(ALICE, ESCROW): 1000}


def test_a_document_longer_than_a_packet(database, wall):
    """40 MB that do not compress well are stored and read back."""
    import random

    noise = random.Random(1).randbytes(12_000_000).hex()
    store = DatabaseRounds(database, wall)
    record = RoundRecord(period=1, leader='a', started_at=0.0, document={'noise': noise})
    store.begin(record, [], [])
    assert store.round(1) == record


def test_history_is_served_in_pages(database, wall):
    """P3: prices by periods, allocations by period and by server, rounds newest first."""
    store = DatabaseRounds(database, wall)
    for period in (1, 2, 3):
        store.begin(*a_round(period))
    store.confirm(2, ['vm2'])
    assert [one.period for one in store.prices(2, 3, 'cpu')] == [2, 3]
    assert store.prices(1, 3, 'memory') == []
    assert [(one.server_id, one.confirmed) for one in store.allocations(2)] == [
        ('vm', False),
        ('vm2', True),
    ]
    assert [one.server_id for one in store.allocations(2, after='vm')] == ['vm2']
    assert [one.period for one in store.allocations_of('vm', before=3)] == [2, 1]
    assert [one.period for one in store.rounds(limit=2)] == [3, 2]
    assert store.round(4) is None


def economy_of(period, **more):
    known = {
        'projects': 70, 'budgets': 20, 'escrow': 0, 'bank': 10, 'price_index': 123.5,
        'base_rounds': 2, 'base_level': 100.0, 'base_cpu': 6.5, 'base_memory': 0.0,
        'base_cpu_value': 1e6, 'base_memory_value': 0.0,
    }  # fmt: skip
    return EconomyRecord(period=period, **known | more)


def power_of(period, project, **more):
    known = {'wealth': 90, 'spend': 9, 'cores': 1.5, 'part': 0.25, 'real': None}
    return PowerRecord(period=period, project_id=project, **known | more)


def test_a_project_reads_its_part_of_a_round(database, wall):
    """What everybody may see, and its lines; of a round that an older version has stored, all of it."""
    store = DatabaseRounds(database, wall)
    servers = [{'id': f's{n}', 'project_id': f'p{n % 200}'} for n in range(2000)]
    document = {'demand': [1.0], 'servers': servers, 'secret': 'x' * 2_000_000, 'payers': []}
    record = replace(a_round()[0], document=document)
    store.begin(record, [], [])
    assert store.round(7) == record and len(sections(document)) == 6
    found = store.round_for(7, 'p8')
    assert found.document['demand'] == [1.0] and 'secret' not in found.document
    assert [one for one in found.document['servers'] if one['project_id'] == 'p8'] == servers[
        8::200
    ]
    assert len(found.document['servers']) < 1000
    assert store.round_for(8, 'p8') is None
    with database.engine.begin() as connection:
        connection.execute(delete(round_documents))
        content = zlib.compress(json.dumps(document).encode())
        connection.execute(insert(round_documents), {'period': 7, 'part': 0, 'content': content})
    assert store.round(7) == store.round_for(7, 'p8') == record


@pytest.mark.usefixtures('defects')
@pytest.mark.parametrize('document', [{'sections': 0}, {'sections': 'many'}, {'sections': 2}])
def test_a_damaged_part_of_a_round_is_an_error_that_the_operator_sees(database, wall, document):
    """Its number of sections is none, or one of them is not there."""
    store = DatabaseRounds(database, wall)
    store.begin(a_round()[0], [], [])
    content = zlib.compress(json.dumps(document).encode())
    with database.engine.begin() as connection:
        connection.execute(delete(round_documents))
        connection.execute(insert(round_documents), {'period': 7, 'part': 0, 'content': content})
    with pytest.raises(BadRow):
        store.round_for(7, 'p8')


def test_the_economy_is_stored_with_the_round(database, wall):
    """P4: what the first engine stores for a period counts; what was charged is noted once it is known."""
    store = DatabaseRounds(database, wall)
    for period in (1, 2, 3):
        powers = [power_of(period, name) for name in ('alice', 'bob')]
        store.begin(*a_round(period), (), economy_of(period), powers)
    store.begin(*a_round(3, leader='engine-b'), (), economy_of(3, bank=99), [power_of(3, 'carol')])
    store.charged(2, 40)
    store.charged(2, 50)
    assert store.economy(2, 3) == [economy_of(2, charged=50), economy_of(3, charged=None)]
    assert store.economy(4, 9) == []


def test_what_projects_could_buy_is_served_in_pages(database, wall):
    """By period and project, of one or all."""
    store = DatabaseRounds(database, wall)
    for period in (1, 2):
        powers = [power_of(period, name, wealth=10 * period) for name in ('alice', 'bob')]
        store.begin(*a_round(period), (), economy_of(period), powers)
    everything = [(1, 'alice'), (1, 'bob'), (2, 'alice'), (2, 'bob')]
    assert [(one.period, one.project_id) for one in store.powers(1, 2)] == everything
    after = store.powers(1, 2, after='alice')
    assert [(one.period, one.project_id) for one in after] == everything[1:]
    assert store.powers(2, 2, 'bob') == [power_of(2, 'bob', wealth=20)]


# plans


def test_a_plan_is_approved_or_rejected_once(database, wall):
    """A3: of an approval and a rejection one counts; each move has its state and outcome."""
    store = DatabasePlans(database, wall)
    move = StoredMove(
        server_id='vm', source='h1', destination='h2', error_before=0.3, error_after=0.1,
        gain=2.0, cost=1.0, reason='largest error',
    )  # fmt: skip
    plan = StoredPlan(id='p1', period=7, mode='advise', created_at=5.0, moves=(move, move))
    store.add(plan)
    store.add(replace(plan, period=9))
    assert store.plan('p1') == plan
    store.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    store.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    with pytest.raises(Conflict, match='approved'):
        store.advance('p1', PlanState.PROPOSED, PlanState.REJECTED, by='other')
    store.advance('p1', PlanState.APPROVED, PlanState.RUNNING)
    store.move('p1', 0, MoveState.WAITING, MoveState.MOVING)
    store.move('p1', 0, MoveState.MOVING, MoveState.DONE, 'took 12 s')
    with pytest.raises(Conflict):
        store.move('p1', 0, MoveState.MOVING, MoveState.FAILED)
    found = store.plan('p1')
    assert (found.state, found.decided_by, found.decided_at) == ('running', 'admin', wall.now)
    assert [(one.state, one.outcome) for one in found.moves] == [
        ('done', 'took 12 s'),
        ('waiting', ''),
    ]
    assert [one.id for one in store.list(PlanState.RUNNING)] == ['p1']
    assert store.list(PlanState.PROPOSED) == []


# purge


def test_purging_takes_history_and_no_money(book, database, wall):
    """Balances and sums stay; what is young, unfinished or asked for by a person stays as well."""
    store = DatabaseRounds(database, wall)
    for period in range(1, 6):
        belongings = ((), economy_of(period), [power_of(period, 'alice')])
        store.begin(*a_round(period, started_at=100.0 * period), *belongings)
        book.post([charge(period, 10, vm) for vm in ('a', 'b')])
        if period != 4:
            store.advance(period, RoundState.PLANNED, RoundState.UNDONE)
    before = book.balances([ALICE, BANK, MINT])
    done = purge(database, older_than=1000.0, batch=2)
    assert (done.period, done.rows['postings'], done.rows['rounds']) == (3, 6, 3)
    assert book.balances([ALICE, BANK, MINT]) == before and book.discrepancies() == []
    assert [one.period for one in store.rounds()] == [5, 4]
    assert [one.period for one in store.economy(1, 9)] == [4, 5]
    assert [one.period for one in store.powers(1, 9)] == [4, 5]
    assert [line.change for line in book.statement(ALICE)] == [-10, -10, -10, -10, 1000]
    assert purge(database, older_than=1000.0).rows['postings'] == 0


def test_what_belongs_to_no_period_goes_by_its_age(book, database, wall):
    """Into what accounts carry; what is not settled keeps its own, and balances do not change."""
    DatabaseQueues(database, wall).create(queue(), 9)
    jobs = DatabaseJobDecisions(database, wall)
    jobs.submit(new_jobs(job('waits'), job('over'), job('damaged')), QUOTAS)
    ended = {'state': JobState.CANCELLED, 'ended_at': 1.0}
    assert jobs.decide([JobStep(job_id=id_of('over'), before=JobState.WAITING, changed=ended)])
    with database.engine.begin() as connection:
        damage = text("UPDATE jobs SET state = 'frobbed' WHERE id = :id")
        connection.execute(damage, {'id': id_of('damaged')})
    for name, state in (('late', OfferState.ACCEPTED), ('paid', OfferState.CLOSED)):
        database.write(open_offer, offer(name, state=state))
    wall.now = 5000.0
    kept = [f'release:0:rest/{id_of(name)}/1/0' for name in ('damaged', 'waits')]
    kept.append(f'compensation:0:offer/{id_of("late")}')
    keys = ['transfer:0:blue/k', f'compensation:0:offer/{id_of("paid")}', *kept]
    keys += [f'charge:0:job/{id_of("over")}/1/0', f'hold:0:lease/{id_of("l")}/0']
    for key in keys:
        book.post([posting(ALICE, BOB, 1, key=key)])
    wall.now = 9000.0
    book.post([posting(ALICE, BOB, 1, key='transfer:0:blue/young')])
    before = book.balances([ALICE, BOB, MINT])
    assert purge(database, older_than=9000.0).rows['postings'] == 0, 'unless it is asked for'
    done = purge(database, 9000.0, requests_older_than=6000.0, batch=1)
    assert done.rows['postings'] == 4
    assert book.balances([ALICE, BOB, MINT]) == before and book.discrepancies() == []
    assert sorted(book.posted([*keys, 'transfer:0:blue/young'])) == [
        *sorted(kept),
        'transfer:0:blue/young',
    ]
    assert book.post([posting(ALICE, BOB, 1, key=keys[0])]) == 1, 'it is another request now'


def test_what_was_purged_is_not_posted_again(book, database, wall):
    """M2 holds beyond the purge: a charge of a purged period may have been made, so it is refused."""
    store = DatabaseRounds(database, wall)
    store.begin(*a_round(3))
    book.post([charge(3)])
    store.advance(3, RoundState.PLANNED, RoundState.UNDONE)
    purge(database, older_than=2000.0)
    with pytest.raises(PeriodPurged, match='up to 3'):
        book.post([charge(3)])
    with pytest.raises(PeriodPurged):
        store.begin(*a_round(2))
    assert book.post([charge(4), posting(ALICE, BOB, 1, key='transfer:0:late')]) == 2


# schema


def test_the_migrations_make_what_the_models_say(database):
    """Tables, columns, types, defaults, indices and keys: no difference is left."""
    with database.engine.connect() as connection:
        options = {'compare_type': True, 'compare_server_default': False}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []


def test_a_sync_that_was_interrupted_is_run_again(database, url):
    """MariaDB commits table by table: what is there is left, what is missing is made."""
    with database.engine.begin() as connection:
        connection.execute(text('DROP TABLE plan_moves'))
        connection.execute(text('DELETE FROM alembic_version'))
    with pytest.raises(SchemaBehind, match='db sync'):
        schema.check(database)
    again = Database({'connection': url})
    assert schema.sync(again) == schema.newest()
    again.close()
    DatabasePlans(database, Wall()).add(StoredPlan(id='p', period=1, mode='off', created_at=0.0))


def test_a_table_of_something_else_is_not_taken(empty):
    """Of another program, or of the first sync of an earlier version, which was interrupted."""
    with empty.engine.begin() as connection:
        connection.execute(text('CREATE TABLE bids (server_id INTEGER)'))
    with pytest.raises(ConfigurationError, match=r'table bids .*without changed_at, cpu'):
        schema.sync(empty)
    assert schema.version(empty) == ''


def test_references_are_enforced_after_a_sync(empty):
    """By the connections that the sync had, too."""
    schema.sync(empty)
    with pytest.raises(Exception, match=r'(?i)foreign key'), empty.engine.begin() as connection:
        connection.execute(
            text("INSERT INTO app_replaced_trusts (app_id, trust_id) VALUES ('x', 't')")
        )


@pytest.mark.parametrize('earlier', ['7f2c9e41a6d0', '5be0c19d7a42'])
def test_a_database_of_an_earlier_revision_is_left_as_it_is(empty, earlier):
    """Its steps are not there any more: services and the sync say where to bring it, and how."""
    schema.sync(empty)
    with empty.engine.begin() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{earlier}'"))
    with pytest.raises(ConfigurationError, match=rf'{earlier}.*from 7d14e8b3f960.*the manual'):
        schema.sync(empty)
    with pytest.raises(SchemaBehind, match=rf'{earlier}.*from 7d14e8b3f960.*the manual'):
        schema.check(empty)
    assert schema.version(empty) == earlier


def test_a_database_of_a_newer_version_is_left_as_it_is(empty):
    """This version has no step that leads there."""
    schema.sync(empty)
    with empty.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'ffffffffffff'"))
    with pytest.raises(ConfigurationError, match=r'ffffffffffff.*newer version'):
        schema.sync(empty)
    with pytest.raises(SchemaBehind, match=r'ffffffffffff.*newer version'):
        schema.check(empty)


def test_a_database_at_the_first_revision_goes_on(empty):
    """It is the last one of the steps of before: nothing is made anew, and nothing is lost."""
    assert schema.sync(empty, '7d14e8b3f960') == '7d14e8b3f960'
    DatabasePlans(empty, Wall()).add(StoredPlan(id='p', period=1, mode='off', created_at=0.0))
    assert schema.sync(empty) == schema.newest()
    assert DatabasePlans(empty, Wall()).plan('p')


def test_a_database_without_tables_says_what_to_do(empty):
    """The message names the command."""
    with pytest.raises(SchemaBehind, match='nova-market-manage db sync'):
        DatabaseLedger(empty, Wall()).balances([MINT])
    with pytest.raises(SchemaBehind, match='none'):
        schema.check(empty)


def test_a_sync_from_nothing_opens_the_clouds_own_accounts(empty):
    """And it changes nothing the second time."""
    for _ in range(2):
        assert schema.sync(empty) == schema.newest()
    assert [(one.id, one.balance) for one in DatabaseAccounts(empty).list()] == [
        (BANK, 0),
        (ESCROW, 0),
        (MINT, 0),
    ]
