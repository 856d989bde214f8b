# SPDX-License-Identifier: Apache-2.0
"""The service of jobs while something is away, and with a second one beside it (rule F5)."""

import logging
from dataclasses import fields

import pytest

from nova_market.core.job.record import JobState
from nova_market.errors import DatabaseUnavailable
from tests.support.job_bed import STEP, JobBed, host, id_of

pytestmark = pytest.mark.functional


class Leader:
    """Leads when it is told to."""

    def __init__(self, leads):
        self.leads = leads

    def start(self):
        pass

    def leading(self):
        return self.leads

    def stop(self):
        self.leads = False


def warnings(caplog):
    return [one.message for one in caplog.records if one.levelno >= logging.WARNING]


@pytest.mark.parametrize('away', ['hosts', 'owners', 'both'])
def test_nova_away(bed, caplog, away):
    """What runs goes on and its result counts; one line in the log; afterwards all goes on."""
    first = bed.submit('first', 'night', sleep=30.0)
    bed.until(lambda: bed.guests.running())
    later = bed.submit('later', 'night', sleep=10.0)
    clouds = {'hosts': [bed.cloud], 'owners': [bed.owners], 'both': [bed.cloud, bed.owners]}[away]
    hosted, bed.owners.hosted = bed.owners.hosted, lambda: ()
    for one in clouds:
        one.available = False
    for _ in range(20):
        bed.guests.tick()
        bed.service.turn()
        bed.clock.advance(STEP)
    assert bed.job(first).state is JobState.FINISHED
    texts = warnings(caplog)
    assert texts and len(texts) == len(set(texts)) <= 3, texts
    for one in clouds:
        one.available = True
    bed.owners.hosted = hosted
    bed.until(bed.all_ended)
    assert bed.job(later).state is JobState.FINISHED
    assert bed.guests.ends(first) == bed.guests.ends(later) == ['exit']


def test_an_owner_who_is_locked_out_stops_nobody_else(bed):
    """His queue's jobs have that as their reason; another queue's run."""
    bed.add_queue('day', 'blue')
    trust = bed.stores.queues.queue(id_of('night')).trust_id
    bed.submit('seed', 'night', sleep=10.0)
    bed.until(bed.all_ended)
    bed.owners.barred.add(trust)
    barred, free = bed.submit('barred', 'night'), bed.submit('free', 'day')
    bed.until(lambda: bed.job(free).state is JobState.FINISHED)
    assert bed.job(barred).state is JobState.WAITING
    assert 'trust' in bed.job(barred).reason.text
    bed.owners.barred.clear()
    bed.until(bed.all_ended)


class Away:
    """A store that does not answer."""

    def __init__(self, store):
        self.store, self.available = store, True

    def __getattr__(self, name):
        if not self.available:
            raise DatabaseUnavailable('the database does not answer')
        return getattr(self.store, name)


def test_database_away(bed, caplog):
    """The service waits; jobs run on; nobody is declared lost for the time in which nobody could call."""
    stores = {one.name: Away(getattr(bed.stores, one.name)) for one in fields(bed.stores)}
    service = bed.another(stores=type(bed.stores)(**stores))
    service.start()
    job_id = bed.submit('a', 'night', sleep=300.0)

    def passes(count):
        for _ in range(count):
            bed.guests.tick()
            service.tick()
            bed.clock.advance(STEP)

    passes(8)
    assert bed.guests.running()
    for one in stores.values():
        one.available = False
    bed.guests.away = True
    passes(30)
    assert len(warnings(caplog)) == 1, warnings(caplog)
    for one in stores.values():
        one.available = True
    passes(2)
    bed.guests.away = False
    passes(40)
    assert bed.job(job_id).state is JobState.FINISHED
    assert (bed.job(job_id).attempt, bed.guests.ends(job_id)) == (1, ['exit'])


def test_the_api_away(bed):
    """Its workers cannot call: they are not lost, and their results count later."""
    job_id = bed.submit('a', 'night', sleep=100.0)
    bed.until(lambda: bed.guests.running())
    bed.guests.away, bed.url.available = True, False
    bed.run(40)
    assert bed.job(job_id).state is JobState.RUNNING
    bed.guests.away, bed.url.available = False, True
    bed.until(bed.all_ended, passes=10)
    assert bed.guests.ends(job_id) == ['exit'] and bed.job(job_id).attempt == 1


def test_two_services_have_one_leader(bed):
    """Only the one that leads does anything; the other one goes on where it was."""
    leaders = [Leader(True), Leader(False)]
    services = [bed.another(leader) for leader in leaders]
    for n in range(8):
        bed.submit(f'job-{n}', 'night', sleep=20.0)
    for n in range(60):
        if n % 5 == 4:
            leaders[0].leads, leaders[1].leads = leaders[1].leads, leaders[0].leads
        bed.guests.tick()
        for one in services:
            one.tick()
        bed.check()
        bed.clock.advance(STEP)
    assert bed.all_ended()
    assert [bed.guests.ends(id_of(f'job-{n}')) for n in range(8)] == [['exit']] * 8


def test_a_build_that_fails_is_tried_again_later(fast):
    """Somebody takes the room behind the plan's back: no loss is counted, and the pause grows."""
    bed = JobBed(fast, hosts=[host('a', cores=1.0, mib=1024.0)])
    bed.add_queue('night', 'red', share=1.0)
    job_id = bed.submit('a', 'night', sleep=10.0)
    real, bed.owners.place = bed.owners.place, lambda flavor: ''
    bed.run(8)
    found = bed.job(job_id)
    events = bed.stores.attempts.events(job_id, limit=100)
    assert found.lost == 0 and any('No valid host' in one.reason for one in events)
    bed.owners.place = real
    bed.until(bed.all_ended)
    assert bed.job(job_id).state is JobState.FINISHED and bed.job(job_id).attempt >= 2


def test_an_answer_that_got_lost_makes_no_second_server(bed):
    """The server is found by its marks, with the credential that was stored before the request."""
    bed.owners.lost_answers = 1
    job_id = bed.submit('a', 'night', sleep=10.0)
    bed.until(bed.all_ended)
    assert len([one for one in bed.owners.asked if one[0] == 'create']) == 1
    assert bed.guests.ends(job_id) == ['exit']


def test_a_server_that_nobody_knows_is_deleted(bed):
    """It has the queue's mark and no row: whoever made it has died before it was stored, or long ago."""
    flavor = bed.owners.flavors['small']
    bed.owners.put(
        'stranger', 'red', {'market:queue': id_of('night'), 'market:worker': 'nobody'}, flavor
    )
    other = {'market:queue': 'another', 'market:worker': 'nobody'}
    bed.owners.put('foreign', 'red', other, flavor)
    bed.run(3)
    assert list(bed.owners.made) == ['foreign']
