# SPDX-License-Identifier: Apache-2.0
"""R2: what a row stands for is not taken to be gone, or for nothing, because it cannot be read."""

from dataclasses import replace

import pytest
from sqlalchemy import update

from nova_market.core.job.record import JobState
from nova_market.core.lease.record import LeaseState
from nova_market.core.ledger.posting import ESCROW, Posting, Reason, account, posting_key
from nova_market.core.market.record import RoundState
from nova_market.db.job_tables import jobs
from nova_market.db.offers import some_offers
from nova_market.errors import BadRow, LeaseRefused
from tests.functional.passes.lease_world import OF_LEASES
from tests.functional.passes.market_world import MarketWorld
from tests.functional.passes.tender_world import TenderWorld
from tests.support.job_bed import JobBed, host, id_of
from tests.support.lease_bed import LeaseBed
from tests.support.lease_records import HOUR
from tests.support.poison import UNKNOWN, Poison, poison, set_aside

pytestmark = [pytest.mark.functional, pytest.mark.usefixtures('defects')]

OF_ROOM = [one for one in OF_LEASES if one.table in ('leases', 'lease_nodes')]
BLUE = account('project', 'blue')


@pytest.mark.parametrize('bad', OF_ROOM, ids=str)
def test_the_room_of_a_lease_stays_its_own(bad, database):
    """Others do not book it, and Nova's scheduler receives it."""
    bed = LeaseBed(database, hosts=[host('a')])
    bed.run(20)
    size = bed.hosts[0].cores
    lease = bed.book('blue', after=HOUR, cores=size)
    where = 'lease_id = :id' if bad.table == 'lease_nodes' else 'id = :id'
    before = poison(database, bad, where, id=lease.id)
    bed.run(20)
    with pytest.raises(LeaseRefused):
        bed.book('red', after=HOUR, cores=size)
    reserved = bed.states.read('lease_reserved')
    assert reserved['leases']['id'] == [lease.id] and reserved['hosts'] == ['a']
    poison(database, replace(bad, value=before), where, id=lease.id)
    bed.run(2.5 * HOUR, step=300.0)
    assert bed.read(lease).state is LeaseState.ENDED


def test_a_payer_with_a_posting_that_cannot_be_read_waits(database):
    """What was posted may be this one: nothing more moves for him, and all others pay."""
    world = MarketWorld(database)
    world.market.engine.tick()
    history, ledger = world.market.stores.history, world.market.stores.ledger
    period = history.rounds(limit=1)[0].period
    held = ledger.totals(period, Reason.HOLD)[BLUE, ESCROW]
    key = posting_key(Reason.RELEASE, period, BLUE)
    ledger.post([Posting(key=key, reason=Reason.RELEASE, debit=ESCROW, credit=BLUE, amount=held)])
    bad = Poison(table='postings', column='reason', value='fun', kind='posting')
    before = poison(database, bad, 'posting_key = :key', key=key)
    world.go()
    assert history.round(period).state is RoundState.APPLIED
    assert {debit for debit, _ in ledger.totals(period, Reason.CHARGE)} == {
        account('project', 'red'),
        account('project', 'green'),
    }
    aside = {(one.kind, one.id, one.stage) for one in set_aside(database, 'engine')}
    assert ('account', BLUE, 'settle') in aside
    poison(database, replace(bad, value=before), 'posting_key = :key', key=key)
    world.go()
    assert history.round(period).state is RoundState.SETTLED
    assert not [one for one in set_aside(database, 'engine') if one.stage == 'settle']


def test_what_no_account_can_hold_stops_one_job_alone(database):
    """Each amount can be stored, and all together cannot be posted: its end waits, others start and end."""
    bed = JobBed(database)
    bed.add_queue('sold', 'blue', projects=('red',), price_core_hour=3600)
    for project in ('blue', 'red'):
        bed.grant(project, 10**6)
    for name in ('bad', 'good', 'next'):
        bed.submit(name, 'sold', project='red', cost_limit=600)
    bed.until(lambda: bed.state('bad') is JobState.RUNNING)
    most = {'cost_limit': 2**53, 'reserve': 2**53}
    row = update(jobs).where(jobs.c.id == id_of('bad'))
    before = {name: getattr(bed.job(id_of('bad')), name) for name in most}
    database.write(lambda connection: connection.execute(row.values(**most)))
    bed.run(60)
    assert bed.states() == {'bad': 'running', 'good': 'finished', 'next': 'finished'}
    (aside,) = set_aside(database, 'jobs')
    assert (aside.kind, aside.id, aside.stage) == ('job', id_of('bad'), 'charge')
    assert 'micro-credits; give 1 to' in aside.reason and aside.project_id == 'red'
    database.write(lambda connection: connection.execute(row.values(**before)))
    bed.run(10)
    assert bed.state('bad') is JobState.FINISHED and set_aside(database, 'jobs') == []
    assert bed.balance('escrow') == 0 and bed.ledger.discrepancies() == []


def test_an_offer_in_a_state_that_is_not_known_is_not_purged(database):
    """Something of what was paid may be owed still; the other one is closed, and goes."""
    world = TenderWorld(database)
    bad = Poison(table='offers', column='state', value=UNKNOWN, kind='offer')
    row = world.prepare(bad)
    poison(database, bad, row.where, **row.given)
    world.go_far()
    database.write(some_offers, world.bed.clock.wall() + HOUR, 1000)
    stores = world.bed.market.stores
    assert stores.offers.offer(world.ids['good']) is None
    with pytest.raises(BadRow, match=UNKNOWN):
        stores.offers.offer(world.ids['bad'])
