# SPDX-License-Identifier: Apache-2.0
"""R3: whose row is bad sees it, and what is wrong with it."""

import pytest

from nova_market.core.job.record import JobState
from nova_market.wiring.database import set_aside_report
from tests.functional.passes.job_world import PROJECT, JobWorld
from tests.support.job_bed import id_of
from tests.support.poison import NO_JSON, UNKNOWN, Poison, poison

pytestmark = [pytest.mark.functional, pytest.mark.usefixtures('defects')]

READER, OTHER = f'reader@{PROJECT}', 'reader@red'


@pytest.fixture(name='world')
def _world(database):
    return JobWorld(database)


def spoil(world, bad):
    row = world.prepare(bad)
    poison(world.database, bad, row.where, **row.given)
    world.go()


def test_the_owner_of_a_job_sees_that_it_cannot_be_read(world):
    """In the list of what is set aside; nobody else does, and lists have the others."""
    spoil(world, Poison(table='jobs', column='state', value=UNKNOWN, kind='job'))
    call = world.bed.market.call
    (mine,) = call('GET', '/v1/set-aside', READER).json['set_aside']
    assert (mine['kind'], mine['id'], mine['service']) == ('job', id_of('bad'), 'jobs')
    assert UNKNOWN in mine['reason']
    assert call('GET', '/v1/set-aside', OTHER).json['set_aside'] == []
    shown = call('GET', f'/v1/jobs/{id_of("bad")}', READER)
    assert shown.status_code == 500
    assert shown.json['errors'][0]['code'] == 'market.row.unreadable'
    listed = call('GET', '/v1/jobs', READER).json['jobs']
    assert [one['id'] for one in listed] == [id_of('beside')]


def test_it_is_an_event_of_a_job_that_can_be_read(world):
    spoil(world, Poison(table='job_attempts', column='usage', value=NO_JSON, kind='job'))
    events = world.bed.market.call('GET', f'/v1/jobs/{id_of("bad")}/events', READER).json['events']
    (event,) = [one for one in events if one['action'] == 'set_aside']
    assert event['reason'].startswith('read its attempts: ')


def test_it_is_the_reason_of_a_job_that_waits(world):
    """As any other reason for which it does not start."""
    world.bed.submit('bad', 'day', sleep=20.0)
    world.database.boundary.failed('job', id_of('bad'), 'choose', ValueError('no room'))
    with set_aside_report('jobs', world.database, world.bed.clock).kept():
        pass
    found = world.bed.job(id_of('bad'))
    assert found.state is JobState.WAITING
    assert (found.reason.code, found.reason.text) == (
        'set_aside',
        'set aside: choose: ValueError: no room',
    )
