# SPDX-License-Identifier: Apache-2.0
"""The ledger under writers that work at the same time and are killed, on SQLite, MariaDB and PostgreSQL.

Rules M1 and M2: whatever happens, the sum does not move, no account but mint goes below zero, and nothing is
posted twice.
"""

import contextlib
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, MINT, Posting, Reason, account
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.ledger_tables import postings
from nova_market.errors import BalanceTooLow
from tests.support.market.ledger_writer import granted, write
from tests.support.servers.databases import REAL

ROOT = Path(__file__).resolve().parents[3]
PROJECTS = 6


@pytest.fixture
def ledger(database):
    """A ledger with a few projects, which writers fight for."""
    projects = [
        Account(id=account('project', f'p{i}'), project_id=f'p{i}') for i in range(PROJECTS)
    ]
    DatabaseAccounts(database).open(projects)
    return DatabaseLedger(database, time.time)


class Watch:
    """Looks at the books again and again while others write."""

    def __init__(self, ledger):
        self._ledger = ledger
        self._stop = threading.Event()
        self.looks = 0
        self.found = []
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._stop.is_set():
            self.found += self._ledger.discrepancies()
            self.looks += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join(60)


def rows(database):
    """How many postings there are, and how many keys."""
    query = select(func.count(), func.count(postings.c.posting_key.distinct()))
    return tuple(database.read(lambda connection: connection.execute(query).one()))


def test_two_hundred_threads_that_want_the_last_credit(ledger, database):
    """Of 200 who each want half of it, exactly two get it."""
    payer = account('project', 'p0')
    ledger.post([posting('seed', MINT, payer, 1000)])
    at_once = threading.Barrier(200)

    def pay(number):
        at_once.wait()
        try:
            return ledger.post([posting(f'pay{number}', payer, BANK, 500)])
        except BalanceTooLow:
            return 0

    with ThreadPoolExecutor(200) as pool:
        paid = sum(pool.map(pay, range(200)))
    assert paid == 2
    assert ledger.balances([payer, BANK]) == {payer: 0, BANK: 1000}
    assert ledger.discrepancies() == []


def test_one_key_from_a_hundred_threads_is_posted_once(ledger):
    """An idempotency key that arrives many times at once moves money once."""
    one = posting('once', MINT, account('project', 'p1'), 7)
    at_once = threading.Barrier(100)

    def post(_):
        at_once.wait()
        return ledger.post([one])

    with ThreadPoolExecutor(100) as pool:
        assert sum(pool.map(post, range(100))) == 1
    assert ledger.balances([MINT]) == {MINT: -7}


def test_threads_that_post_the_same_in_pairs(ledger, database):
    """Transfers in all directions end without a deadlock, and the sum holds at every look."""
    seeds = [1, 1, 2, 2, 3, 3, 4, 4]
    with Watch(ledger) as watch, ThreadPoolExecutor(len(seeds)) as pool:
        list(pool.map(lambda seed: write(ledger, seed, 30, PROJECTS), seeds))
    assert watch.looks and watch.found == []
    assert -ledger.balances([MINT])[MINT] == sum(granted(s, 30, PROJECTS) for s in set(seeds))
    written, keys = rows(database)
    assert written == keys


class Writers:
    """Processes, two for each seed, which post as far as they are let; a killed one is started again."""

    def __init__(self, url, seeds, count):
        self._arguments = {n: (url, seed, count) for n, seed in enumerate(seeds)}
        self._running = {n: self._spawn(n) for n in self._arguments}

    def _spawn(self, number):
        url, seed, count = self._arguments[number]
        return subprocess.Popen(
            [sys.executable, '-m', 'tests.support.market.ledger_writer', url, str(seed), str(count),
             str(PROJECTS)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def let(self, batches):
        """Each may post so many more."""
        for process in self._running.values():
            process.stdin.write(b'\n' * batches)
            process.stdin.flush()

    def kill_one(self, rng, batches):
        """Kill a writer in the midst of so many batches of each, and start it again."""
        number = rng.choice(sorted(self._running))
        process = self._running[number]
        process.stdout.readline()
        self.let(batches)
        time.sleep(rng.uniform(0.0, 0.3))
        assert process.poll() is None, process.stderr.read().decode()[-2000:]
        process.kill()
        process.communicate(timeout=30)
        self._running[number] = self._spawn(number)

    def finish(self):
        """Wait for all; each must have ended well."""
        for process in self._running.values():
            _, errors = process.communicate(timeout=200)
            assert process.returncode == 0, errors.decode()[-2000:]

    def close(self):
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate(timeout=30)


@pytest.fixture
def writers():
    made = []

    def make(*arguments):
        made.append(Writers(*arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.integration
def test_processes_that_are_killed_at_random(ledger, database, url, writers):
    """Killed at any point and begun again, by two at once: all is posted, and once."""
    rng = random.Random(5)
    seeds, count = [11, 11, 12, 12], 150
    with Watch(ledger) as watch:
        running = writers(url, seeds, count)
        for _ in range(8):
            running.kill_one(rng, count // 8 - 1)
        running.finish()
    assert watch.looks and watch.found == []
    assert -ledger.balances([MINT])[MINT] == sum(granted(s, count, PROJECTS) for s in set(seeds))
    written, keys = rows(database)
    assert written == keys


@pytest.mark.parametrize('database_server', REAL, indirect=True)
def test_a_server_that_is_killed(ledger, database, database_server, url, writers):
    """The database loses its power twice: writers wait for it and go on, nothing is lost or doubled."""
    seeds, count = [21, 21, 22], 150
    running = writers(url, seeds, count)
    running.let(count)
    for _ in range(2):
        time.sleep(1.5)
        database_server.kill()
        database_server.start()
    running.finish()
    assert ledger.discrepancies() == []
    assert -ledger.balances([MINT])[MINT] == sum(granted(s, count, PROJECTS) for s in set(seeds))
    written, keys = rows(database)
    assert written == keys


def posting(key, debit, credit, amount):
    return Posting(
        key=f'transfer:0:{key}', reason=Reason.TRANSFER, debit=debit, credit=credit, amount=amount
    )
