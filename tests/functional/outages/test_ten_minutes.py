# SPDX-License-Identifier: Apache-2.0
"""The database, the cloud or the API is away for ten minutes: afterwards nothing is lost or paid twice.

On a simulated clock, and in the middle of all that goes on: jobs, leases, rounds of the market.
"""

import logging
from contextlib import contextmanager
from dataclasses import fields

import pytest

from nova_market.adapters.leadership import SoleLeader
from nova_market.core.job.record import JobState
from nova_market.core.lease.record import LeaseState
from nova_market.core.ledger.posting import BANK, ESCROW, account
from nova_market.db.database import Database
from nova_market.errors import DatabaseUnavailable
from tests.support.job_bed import STEP, JobBed
from tests.support.lease_bed import CREDITS, LeaseBed
from tests.support.lease_records import HOUR
from tests.support.market_bed import CREDIT, PERIOD, Market, bidding, server
from tests.support.outage import Outage

pytestmark = pytest.mark.functional

TEN_MINUTES = 600.0
GRANTED = 10**8
PRICE = 3_600_000
"""Micro-credits for a core and hour: 1,000 for a second."""


@pytest.fixture
def outage():
    return Outage(DatabaseUnavailable('the database does not answer'))


@pytest.fixture
def fast(url, database):
    """The database, which does not wait for the disk."""
    found = Database({'connection': url, 'sqlite_synchronous': False})
    yield found
    found.close()


def warnings(caplog):
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


def jobs_bed(fast, outage):
    """A queue with a price, and a service whose calls may meet an outage."""
    bed = JobBed(fast)
    bed.add_queue('night', 'red', price_core_hour=PRICE)
    bed.grant('blue', GRANTED)
    bed.service = bed.another(around=outage.around)
    bed.service.start()
    return bed


@contextmanager
def away(bed, outage, what):
    """Guests run on; where the database is away, their calls are not answered either."""
    hosted = bed.owners.hosted
    outage.going = what == 'database'
    bed.guests.away = what in ('database', 'api')
    bed.url.available = what == 'cloud'
    if what == 'cloud':
        bed.cloud.available = bed.owners.available = False
        bed.owners.hosted = lambda: ()
    yield
    outage.going, bed.guests.away = False, False
    bed.url.available = bed.cloud.available = bed.owners.available = True
    bed.owners.hosted = hosted


def passes(bed, seconds):
    for _ in range(int(seconds / STEP)):
        bed.guests.tick()
        bed.service.tick()
        bed.clock.advance(STEP)


@pytest.mark.parametrize('what', ['database', 'api', 'cloud'])
def test_jobs_run_on_and_are_paid_once(fast, outage, caplog, what):
    """One that ends meanwhile, and one that ends later: each runs once."""
    bed = jobs_bed(fast, outage)
    short, long = (
        bed.submit(
            name, 'night', sleep=sleep, time_limit=limit, project='blue', cost_limit=1000 * limit
        )
        for name, sleep, limit in (('short', 200.0, 600), ('long', 900.0, 1800))
    )
    bed.until(lambda: len(bed.guests.running()) == 2)
    caplog.clear()
    with away(bed, outage, what):
        passes(bed, TEN_MINUTES)
        texts = warnings(caplog)
        assert len(texts) == len(set(texts)) <= 3, texts
    passes(bed, TEN_MINUTES)
    assert bed.all_ended(), bed.states()
    for job_id in (short, long):
        job = bed.job(job_id)
        assert (job.state, job.attempt, bed.guests.ends(job_id)) == (
            JobState.FINISHED, 1, ['exit'],
        )  # fmt: skip
        assert 0 < job.charged <= job.cost_limit
    charged = sum(bed.job(one).charged for one in (short, long))
    assert bed.balance(account('project', 'red')) == charged and bed.balance(ESCROW) == 0
    assert bed.balance(account('project', 'blue')) == GRANTED - charged
    assert bed.ledger.discrepancies() == []


def lease_states(bed, *leases):
    return [bed.read(one).state for one in leases]


@pytest.mark.parametrize('what', ['database', 'cloud'])
def test_leases_begin_and_end_and_are_paid_once(fast, outage, what):
    """One ends meanwhile, one should begin then, one goes on: each pays for its time, and once."""
    bed = LeaseBed(fast)
    bed.service = bed.another(outage.around)
    bed.run()
    ends = bed.book(after=0.0, duration=HOUR)
    goes_on = bed.book(after=0.0, duration=3 * HOUR)
    begins = bed.book(after=HOUR + 60.0, duration=HOUR)
    bed.run(HOUR - 120.0, 60.0)
    assert lease_states(bed, ends, goes_on, begins) == ['ending', 'active', 'planned']
    outage.going, bed.cloud.available = what == 'database', what != 'cloud'
    bed.run(TEN_MINUTES, 10.0)
    outage.going, bed.cloud.available = False, True
    bed.run(60.0)
    assert lease_states(bed, ends, goes_on, begins) == ['ended', 'active', 'active']
    bed.run(3 * HOUR, 300.0)
    assert lease_states(bed, ends, goes_on, begins) == [LeaseState.ENDED] * 3
    for one in (ends, goes_on, begins):
        over = bed.read(one)
        assert (over.charged, over.refunded) == (one.cost, 0)
        assert bed.actions(one).count('ended') == bed.actions(one).count('booked') == 1
    assert bed.balance('bank') == 10 and bed.balance('escrow') == 0
    assert bed.balance('red') == CREDITS - 10 and bed.ledger.discrepancies() == []


def behind(outage, stores):
    return type(stores)(
        **{one.name: outage.around(getattr(stores, one.name)) for one in fields(stores)}
    )


@pytest.mark.parametrize('what', ['database', 'cloud'])
def test_rounds_go_on_and_nobody_pays_for_the_time_without(database, outage, caplog, what):
    """What had been decided is settled once; hosts go back to plain weights; then all is as before."""
    market = Market(
        database,
        servers=[
            server('r', 'red', metadata=bidding(3), vcpus=4, mib=1024),
            server('b', 'blue', metadata=bidding(1), vcpus=4, mib=1024),
        ],
    )
    for project in ('red', 'blue'):
        market.grant(project, 100)
    stores = behind(outage, market.stores)
    engine = market.another('e', SoleLeader(), stores=stores, store=stores.rounds)
    engine.start()
    market.run(3, engine)
    paid = 200 * CREDIT - market.balance('red') - market.balance('blue')
    cores = market.cores()
    assert paid > 0 and cores['r'] > cores['b']
    caplog.clear()
    outage.going, market.cloud.available = what == 'database', what != 'cloud'
    market.run(int(TEN_MINUTES / PERIOD), engine)
    outage.going, market.cloud.available = False, True
    assert len([one for one in warnings(caplog) if 'skipped' in one]) == 1, warnings(caplog)
    market.run(1, engine)
    after = 200 * CREDIT - market.balance('red') - market.balance('blue')
    assert after - paid <= paid / 2, 'the rounds that were decided before, and no more'
    market.run(4, engine)
    assert market.cores() == cores
    assert {str(one.state) for one in market.stores.history.rounds()} <= {
        'settled', 'planned', 'applied', 'undone',
    }  # fmt: skip
    assert len(market.stores.rounds.unfinished()) <= 2
    balances = market.balances()
    assert sum(balances.values()) == 0
    left = sum(balances[account('project', one)] for one in ('red', 'blue'))
    assert balances[BANK] == 200 * CREDIT - left - balances[ESCROW]
    assert market.stores.ledger.discrepancies() == []
