# SPDX-License-Identifier: Apache-2.0
"""An engine that dies at any step: the next one completes or undoes the round; no credit is lost or doubled.

Rules M2, F1 and F2 of doc/source/specs/market.rst.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nova_market.adapters.leadership import SoleLeader
from nova_market.core.ledger.currency import recharge
from nova_market.core.ledger.posting import BANK, ESCROW, Reason
from nova_market.core.market.record import RoundState
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.ledger_tables import Base, accounts, horizons
from nova_market.services.market.past import all_allocations
from nova_market.services.market.rounds import RoundRunner
from tests.support.market_bed import CREDIT, SETTINGS, Market, bidding, server, stores_of

pytestmark = pytest.mark.functional

ROOT = Path(__file__).resolve().parents[3]
PERIOD = 1.5
KILLS = 10
WRITES = frozenset({'open', 'begin', 'confirm', 'post', 'advance'})


class Killed(BaseException):
    """Not an Exception: nothing of the engine may survive it."""


class Mortal:
    """A store that dies at a call: before it, or when it was done but nobody has heard of it."""

    def __init__(self, store, life):
        self._store, self._life = store, life

    def __getattr__(self, name):
        method = getattr(self._store, name)

        def call(*arguments, **named):
            self._life(f'before {name}')
            result = method(*arguments, **named)
            self._life(f'after {name}')
            return result

        return call


class Life:
    """Ends at step `until`."""

    def __init__(self, until):
        self.until, self.steps = until, []

    def __call__(self, step):
        self.steps.append(step)
        if len(self.steps) == self.until:
            raise Killed(step)


def wrong_in(stores, ledger):
    """What is not as it should be, one sentence each; for every round what was charged and why."""
    found = list(ledger.discrepancies())
    held = 0
    for record in stores.history.rounds(limit=10_000):
        confirmed = [a for a in all_allocations(stores.history, record.period) if a.confirmed]
        due = sum(a.charge_cpu + a.charge_memory for a in confirmed)
        paid = sum(ledger.totals(record.period, Reason.CHARGE).values())
        if record.state == RoundState.SETTLED and paid != due:
            found.append(f'round {record.period}: {paid} was paid, {due} was due')
        if record.state == RoundState.UNDONE and paid:
            found.append(f'round {record.period} is undone, {paid} was paid')
        kept = sum(ledger.totals(record.period, Reason.HOLD).values())
        kept -= sum(ledger.totals(record.period, Reason.RELEASE).values())
        held += kept
        if kept and record.state in (RoundState.SETTLED, RoundState.UNDONE):
            found.append(f'round {record.period} is over, {kept} is held still')
    if held != ledger.balances([ESCROW])[ESCROW]:
        found.append(f'open rounds hold {held}, escrow has {ledger.balances([ESCROW])}')
    return found


def market_on(base):
    settings = replace(
        SETTINGS,
        currency=recharge,
        total=100 * CREDIT,
        renew_every=1,
        return_delay=1,
        tax_rate=1000,
    )
    return Market(
        base,
        servers=[
            server('r', 'red', metadata=bidding(3), mib=1024),
            server('b', 'blue', metadata=bidding(2), mib=1024),
        ],
        settings=settings,
    )


def lives(base, until):
    """An engine that dies at a step, and one that takes over; the steps that the first one made."""
    market = market_on(base)
    life = Life(until)
    stores = market.stores
    mortal = replace(
        stores,
        **{name: Mortal(getattr(stores, name), life) for name in ('accounts', 'ledger', 'bids')},
        rounds=Mortal(stores.rounds, life),
        history=Mortal(stores.history, life),
    )
    first = market.another(
        'first',
        SoleLeader(),
        rounds=RoundRunner(
            market.cloud,
            mortal,
            market.enforcement,
            market.clock,
            replace(market.settings, name='first'),
        ),
        store=mortal.rounds,
    )
    with contextlib.suppress(Killed):
        market.run(3, first)
    market.run(2, market.another('second', SoleLeader()))
    return life.steps, market


def test_killed_at_every_step(database):
    """Before and after each call of a store that writes, in the periods in which everything happens."""
    steps, _ = lives(database, until=0)
    # what the third period adds: renewal, tax, return, charges, completion, all on what was there
    third = [n for n, step in enumerate(steps, 1) if n > len(steps) // 2]
    writing = [n for n in third if steps[n - 1].split()[1] in WRITES]
    assert len(writing) >= 12, steps
    _empty(database)
    for until in writing:
        _, market = lives(database, until)
        wrong = wrong_in(market.stores, DatabaseLedger(database, market.clock.wall))
        assert not wrong, (steps[until - 1], until, wrong)
        open_rounds = [r.period for r in market.stores.rounds.unfinished()]
        assert len(open_rounds) == 1, (steps[until - 1], until, open_rounds)
        _empty(database)


def _empty(base):
    with base.engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
        connection.execute(accounts.insert(), [{'id': n} for n in ('bank', 'escrow', 'mint')])
        connection.execute(horizons.insert(), {'name': 'postings'})


@pytest.fixture
def engines(url, tmp_path):
    """start(name) -> pid of an engine in a process of its own."""
    helper = subprocess.Popen(
        [sys.executable, '-W', 'ignore', '-m', 'tests.support.market.engine_processes', url, str(tmp_path),
         str(PERIOD)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    running = set()

    def start(name):
        helper.stdin.write(name + '\n')
        helper.stdin.flush()
        pid = int(helper.stdout.readline())
        running.add(pid)
        return pid

    yield start
    helper.stdin.close()
    helper.wait(10)
    helper.stdout.close()
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.clock
def test_killed_at_random(database, engines):
    """kill -9 of the leader, again and again, with a standby there: rounds go on, and all adds up."""
    rng = random.Random(4)
    stores = stores_of(database, time.time)
    pids = [engines('e0'), engines('e1')]
    for number in range(KILLS):
        time.sleep(rng.uniform(0.5, 2) * PERIOD)
        os.kill(pids.pop(0), signal.SIGKILL)
        pids.append(engines(f'e{number + 2}'))
    time.sleep(4 * PERIOD)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    ledger = DatabaseLedger(database, time.time)
    assert not wrong_in(stores, ledger)
    rounds = stores.history.rounds(limit=10_000)
    settled = [r for r in rounds if r.state == RoundState.SETTLED]
    assert len(settled) >= KILLS / 3
    assert ledger.balances([BANK])[BANK] >= 0


@pytest.mark.clock
def test_a_standby_takes_over(database, engines):
    """F1: within two periods."""
    stores = stores_of(database, time.time)
    first = engines('first')
    _until(lambda: any(r.leader == 'first' for r in stores.history.rounds()))
    engines('second')
    time.sleep(2 * PERIOD)
    assert {r.leader for r in stores.history.rounds()} == {'first'}
    os.kill(first, signal.SIGKILL)
    killed = time.monotonic()
    _until(lambda: stores.history.rounds(limit=1)[0].leader == 'second')
    assert time.monotonic() - killed < 2 * PERIOD


def _until(done, seconds=20.0):
    ends = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < ends, 'it does not happen'
        time.sleep(0.02)
