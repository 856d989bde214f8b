# SPDX-License-Identifier: Apache-2.0
"""The ledger in a database does what core.ledger.posting's book does, whatever is posted in whatever
order."""

import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, MINT, Book, Posting, Reason, account
from nova_market.db import schema
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.database import Database
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.ledger_tables import accounts, postings
from nova_market.errors import BalanceTooLow, KeyReused

NAMES = [MINT, BANK, account('project', 'a'), account('project', 'b'), account('budget', 'a1')]

pairs = st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True)
posting = st.builds(
    lambda key, pair, amount: Posting(
        key=f'transfer:0:{key}',
        reason=Reason.TRANSFER,
        debit=pair[0],
        credit=pair[1],
        amount=amount,
    ),
    key=st.integers(0, 12),
    pair=pairs,
    amount=st.integers(1, 20),
)
batches = st.lists(st.lists(posting, max_size=4), max_size=12)


@pytest.fixture(scope='module')
def database() -> Iterator[Database]:
    """SQLite in a file; asynchronous, as nothing here loses its power."""
    with tempfile.TemporaryDirectory() as directory:
        made = Database({'connection': f'sqlite:///{directory}/x', 'sqlite_synchronous': False})
        schema.sync(made)
        DatabaseAccounts(made).open([Account(id=name) for name in NAMES[2:]])
        yield made
        made.close()


def attempt(post, batch):  # type: ignore[no-untyped-def]
    """How many were new, or which rule refused it."""
    try:
        return post(batch)
    except (BalanceTooLow, KeyReused) as error:
        return type(error)


@settings(max_examples=60)
@given(batches=batches)
def test_it_agrees_with_the_book(database, batches):
    """Each batch is taken or refused for the same reason; balances are the same after each (M1, M2)."""
    with database.engine.begin() as connection:
        connection.execute(postings.delete())
        connection.execute(accounts.update().values(balance=0))
    book, ledger = Book(), DatabaseLedger(database, lambda: 0.0)
    for batch in batches:
        assert attempt(ledger.post, batch) == attempt(book.post_all, batch)
        assert ledger.balances(NAMES) == {name: book.balance(name) for name in NAMES}
    assert ledger.discrepancies() == []
    assert {line.posting for name in NAMES for line in ledger.statement(name)} == set(book)
