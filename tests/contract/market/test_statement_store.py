# SPDX-License-Identifier: Apache-2.0
"""What every database does for statements: lines and sums by server, account, day and time."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import (
    BANK,
    MINT,
    Posting,
    Reason,
    account,
    posting_key,
    server_of,
)
from nova_market.core.ledger.statement import Choice, Grouping
from nova_market.db import schema
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.ledger import DatabaseLedger
from tests.support.servers.databases import Wall

ALICE, WEB = account('project', 'alice'), account('budget', 'web')
HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
def wall():
    return Wall()


def posting(debit, credit, amount, *, key, reason=Reason.TRANSFER):
    return Posting(key=key, reason=reason, debit=debit, credit=credit, amount=amount)


def charge(period, amount, server_id):
    key = posting_key(Reason.CHARGE, period, server_id)
    return posting(ALICE, BANK, amount, key=key, reason=Reason.CHARGE)


@pytest.fixture
def spent(database, wall):
    """Servers are charged on two days, one of them to a budget of Alice, and what is no server's is too."""
    own = Account(id=ALICE, project_id='alice'), Account(id=WEB, project_id='alice', name='web')
    DatabaseAccounts(database).open(own)
    book = DatabaseLedger(database, wall)
    wall.now = HOUR
    book.post([posting(MINT, ALICE, 1000, key='grant:0:first')])
    wall.now = 20_000 * DAY + HOUR
    book.post([posting(ALICE, WEB, 100, key='transfer:0:fill')])
    book.post([charge(1, 10, 'vm-1'), charge(1, 5, 'vm-2')])
    wall.now += DAY
    book.post([charge(2, 20, 'vm-1'), replace(charge(2, 7, 'vm-3'), debit=WEB)])
    job = posting(ALICE, BANK, 3, key='charge:0:job/x/1/0', reason=Reason.CHARGE)
    lease = posting(ALICE, BANK, 4, key='charge:2:lease/x/1', reason=Reason.CHARGE)
    book.post([job, lease])
    return book


def summed(book, by, name=ALICE, **options):
    found = book.sums(name, by, **options)
    return [(one.key, one.charged, one.change, one.postings) for one in found]


def test_statements_are_summed_by_server_account_and_day(spent):
    """M2: a charge of a round is for the server in its key; days are those of UTC, the newest first."""
    first = Choice(since=20_000 * DAY)
    assert summed(spent, Grouping.SERVER, choice=first) == [
        ('', 7, -7, 4),
        ('vm-1', 30, -30, 2),
        ('vm-2', 5, -5, 1),
        ('vm-3', 7, -7, 1),
    ]
    assert summed(spent, Grouping.ACCOUNT, choice=first) == [
        (WEB, 7, 93, 2),
        (ALICE, 42, -142, 6),
    ]
    assert summed(spent, Grouping.DAY, choice=first) == [
        ('2024-10-05', 34, -34, 4),
        ('2024-10-04', 15, -15, 4),
    ]
    assert [one.name for one in spent.sums(ALICE, Grouping.ACCOUNT)] == ['web', '']
    assert summed(spent, Grouping.SERVER, WEB) == [('', 0, 100, 1), ('vm-3', 7, -7, 1)]
    assert summed(spent, Grouping.SERVER, account('project', 'bob')) == []


def test_sums_are_read_in_pages_and_chosen_by_time_and_server(spent, wall):
    """The page after a key goes on behind it; both ends of a time belong to it."""
    assert summed(spent, Grouping.SERVER, after='', limit=2) == summed(spent, Grouping.SERVER)[1:3]
    assert summed(spent, Grouping.DAY, after='2024-10-05', limit=1) == [('2024-10-04', 15, -15, 4)]
    second = Choice(since=wall.now, until=wall.now, server_id='vm-1')
    assert summed(spent, Grouping.DAY, choice=second) == [('2024-10-05', 20, -20, 1)]
    assert summed(spent, Grouping.DAY, choice=replace(second, until=wall.now - 1)) == []


def test_lines_of_a_statement_are_chosen_by_time_and_server(spent, wall):
    """And their pages are those of what is chosen."""
    of_server = Choice(server_id='vm-1')
    first = spent.statement(ALICE, limit=1, choice=of_server)
    rest = spent.statement(ALICE, before=first[0].number, choice=of_server)
    assert [[one.change for one in page] for page in (first, rest)] == [[-20], [-10]]
    yesterday = Choice(until=wall.now - 1, since=wall.now - DAY)
    assert [one.change for one in spent.statement(ALICE, choice=yesterday)] == [-5, -10, -100]


def test_the_server_of_charges_of_before_is_filled_in(empty):
    """By the step that adds it: of charges of rounds, and of nothing else."""
    schema.sync(empty, '7d14e8b3f960')
    keys = {
        'charge:29383201:vm-1': 'vm-1', 'charge:7:lease/x/1': '', 'charge:0:job/x/1/0': '',
        'hold:29383201:project:alice': '', 'transfer:0:charge:1:vm-2': '',
    }  # fmt: skip
    with empty.engine.begin() as connection:
        for key in keys:
            reason, period, _ = key.split(':', 2)
            connection.execute(
                text(
                    'INSERT INTO postings (posting_key, reason, period, debit, credit, amount, '
                    'debit_balance, credit_balance, posted_at) '
                    "VALUES (:k, :r, :p, 'mint', 'bank', 1, 0, 0, 0)"
                ),
                {'k': key, 'r': reason, 'p': int(period)},
            )
    schema.sync(empty)
    with empty.engine.begin() as connection:
        found = connection.execute(text('SELECT posting_key, server_id FROM postings')).all()
    assert {one.posting_key: one.server_id for one in found} == keys
    assert {key: server_of(key) for key in keys} == keys
