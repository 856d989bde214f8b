# SPDX-License-Identifier: Apache-2.0
"""Postings per second on each database, in batches of several sizes, and with writers at the same time.

A ratio to the floor: inserting the same rows with the same number of commits and nothing else.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, MINT, Posting, Reason, account, posting_key
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.ledger import DatabaseLedger

pytestmark = pytest.mark.benchmark

PROJECTS = 100


def charges(period, count):
    """The charges of one round, spread over the projects."""
    return [
        Posting(
            key=posting_key(Reason.CHARGE, period, f'{i:08d}-0000-4000-8000-000000000000'),
            reason=Reason.CHARGE, debit=account('project', f'p{i % PROJECTS}'), credit=BANK, amount=1,
        )
        for i in range(count)
    ]  # fmt: skip


@pytest.fixture
def ledger(database):
    names = [account('project', f'p{i}') for i in range(PROJECTS)]
    DatabaseAccounts(database).open([Account(id=name) for name in names])
    made = DatabaseLedger(database, time.time)
    grants = [
        Posting(key=f'grant:0:{n}', reason=Reason.GRANT, debit=MINT, credit=n, amount=10**9)
        for n in names
    ]
    made.post(grants)
    return made


def floor(database, postings, size):
    """Seconds for inserting as many rows of the same length, with as many commits."""
    table = Table(
        'floor', MetaData(), Column('id', Integer, primary_key=True), Column('text', String(380))
    )
    table.drop(database.engine, checkfirst=True)
    table.create(database.engine)
    rows = [{'text': f'{p.key}{p.reason}{p.debit}{p.credit}{p.amount}'} for p in postings]
    began = time.perf_counter()
    for start in range(0, len(rows), size):
        with database.engine.begin() as connection:
            connection.execute(insert(table), rows[start : start + size])
    seconds = time.perf_counter() - began
    table.drop(database.engine)
    return seconds


def test_postings_per_second(ledger, database):
    """Large batches cost less for each posting; a thousand at once stay within 15 times a bare insert."""
    print(
        f'\n{database.engine.dialect.name}\n{"batch":>7} {"postings/s":>11} {"x bare insert":>14}'
    )
    ratios = {}
    for period, (size, count) in enumerate(((1, 200), (10, 1000), (1000, 10_000), (5000, 20_000))):
        some = charges(period + 1, count)
        began = time.perf_counter()
        for start in range(0, count, size):
            ledger.post(some[start : start + size])
        seconds = time.perf_counter() - began
        ratios[size] = seconds / floor(database, some, size)
        print(f'{size:7d} {count / seconds:11.0f} {ratios[size]:14.1f}')
    assert ratios[1000] < 15
    assert ledger.discrepancies() == []


def test_posting_a_round_again_costs_less_than_posting_it(ledger):
    """A leader that completes an interrupted round is not slower than the one that began it."""
    some = charges(1, 10_000)
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        for start in range(0, len(some), 1000):
            ledger.post(some[start : start + 1000])
        seconds.append(time.perf_counter() - began)
    print(f'\nfirst {seconds[0]:.2f} s, again {seconds[1]:.2f} s')
    assert seconds[1] < seconds[0]


def test_writers_at_once(ledger):
    """Single transfers from 1 to 16 threads, between different projects."""
    print(f'\n{"threads":>8} {"postings/s":>11}')
    for threads in (1, 4, 16):

        def pay(number, threads=threads):
            source, target = (account('project', f'p{2 * number + i}') for i in (0, 1))
            for i in range(256 // threads):
                key = f'transfer:0:{threads}-{number}-{i}'
                ledger.post([
                    Posting(key=key, reason=Reason.TRANSFER, debit=source, credit=target, amount=1)
                ])  # fmt: skip

        began = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(pay, range(threads)))
        print(f'{threads:8d} {256 / (time.perf_counter() - began):11.0f}')
    assert ledger.discrepancies() == []
