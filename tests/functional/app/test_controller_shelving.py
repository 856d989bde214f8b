# SPDX-License-Identifier: Apache-2.0
"""Applications whose servers are shelved while they are suspended: room, bids, and a full cloud.

Merkat (INRIA RR-8648), section 3.2.1 ("leaves resources for other applications"), on a real database, a
cloud in memory and one clock.
"""

from dataclasses import replace

import pytest

from nova_market.core.app.record import AppState, DesiredServerState, DesiredState
from nova_market.core.app.template import Rest
from nova_market.core.market.owner_server import ServerFlavor, ServerState
from tests.support.app_bed import SETTINGS, Bed, component, template

pytestmark = pytest.mark.functional

SHELVED = replace(SETTINGS, when_suspended=Rest.SHELVE, first_pause=15.0, longest_pause=40.0)
WHOLE = ServerFlavor(id='f9', vcpus=1, memory_mib=16000)
"""With it on the host, no other server finds room."""


def running(bed, **more):
    bed.add('app', template(**more))
    bed.run(3)
    ((server,),) = bed.own('app').values()
    assert bed.app('app').state is AppState.RUNNING
    return server


def asked(bed, server):
    return [what for what, whom in bed.cloud.asked if whom == server]


def failures(bed):
    """Events, newest first."""
    return [one for one in bed.stores.events.events('app', limit=1000) if one.action == 'failed']


def suspended(bed):
    bed.change('app', wish=DesiredState.SUSPEND)
    bed.run(2)
    assert bed.app('app').state is AppState.SUSPENDED


@pytest.mark.parametrize(
    ('default', 'given', 'expected'),
    [
        (Rest.SUSPEND, {}, Rest.SUSPEND),
        (Rest.SHELVE, {}, Rest.SHELVE),
        (Rest.SUSPEND, {'when_suspended': 'shelve'}, Rest.SHELVE),
        (Rest.SHELVE, {'when_suspended': 'suspend'}, Rest.SUSPEND),
    ],
)
def test_the_template_decides_then_the_operator(database, default, given, expected):
    """A suspended server keeps its room on its host, a shelved one does not; both come back with a bid."""
    bed = Bed(database, settings=replace(SETTINGS, when_suspended=default))
    server = running(bed, **given)
    before = bed.stores.bids.of([server])[server]
    suspended(bed)
    hosted = [one.id for one in bed.cloud.hosted()]
    assert hosted == ([server] if expected is Rest.SUSPEND else [])
    resting = bed.stores.bids.of([server])[server]
    assert (resting.cpu, resting.memory) == (0, 0)
    bed.change('app', wish=DesiredState.RUN)
    bed.run(2)
    after = bed.stores.bids.of([server])[server]
    assert bed.own('app') == {'worker-1': [server]} and bed.cores('app') > 0
    assert after.cpu == pytest.approx(before.cpu, rel=0.5) and after.cpu > 0
    back = {Rest.SUSPEND: 'resume', Rest.SHELVE: 'unshelve'}[expected]
    assert asked(bed, server) == [str(expected), back]


def test_a_suspended_server_is_shelved_when_its_application_changes_to_that(database):
    """And one that is shelved stays so when it changes back: it would have to boot for that."""
    bed = Bed(database)
    server = running(bed)
    suspended(bed)
    for rest in (Rest.SHELVE, Rest.SUSPEND):
        bed.change('app', template={**bed.app('app').template, 'when_suspended': str(rest)})
        bed.run(1)
    assert asked(bed, server) == ['suspend', 'shelve']


def test_a_server_that_no_host_has_room_for_is_unshelved_later(database):
    """It is asked for again after pauses that double, with the reason in the events, until it fits."""
    bed = Bed(database, settings=SHELVED)
    server = running(bed)
    suspended(bed)
    bed.cloud.put('big', 'blue', {}, WHOLE)
    bed.change('app', wish=DesiredState.RUN)
    bed.run(4)
    events = failures(bed)
    assert 'no host has room for it' in events[0].reason and server in events[0].reason
    assert [one.numbers for one in reversed(events)][:3] == [
        {'attempt': 1.0, 'next_in': 15.0},
        {'attempt': 2.0, 'next_in': 30.0},
        {'attempt': 3.0, 'next_in': 40.0},
    ]
    assert bed.app('app').state is AppState.RUNNING
    assert bed.cloud.made[server].state is ServerState.SHELVED
    bed.cloud.remove('big')
    bed.run(2)
    (slot,) = bed.stores.slots.slots('app')
    assert (slot.server_id, slot.attempts, slot.retry_at) == (server, 0, 0.0)
    assert bed.cloud.made[server].state is ServerState.RUNNING
    assert bed.stores.bids.of([server])[server].cpu > 0
    # a second time begins anew
    suspended(bed)
    bed.change('app', wish=DesiredState.RUN)
    bed.run(2)
    assert failures(bed) == events


def test_a_server_that_must_not_be_unshelved_is_refused_once(database):
    """A quota that is full, a lock: the reason is Nova's, and is stored once."""
    bed = Bed(database, settings=SHELVED)
    server = running(bed)
    suspended(bed)
    bed.cloud.locked.add(server)
    bed.change('app', wish=DesiredState.RUN)
    bed.run(2)
    (why,) = bed.reasons('app', 'refused')
    assert 'unshelve of server' in why and 'locked' in why
    assert bed.reasons('app', 'failed') == []
    bed.cloud.locked.clear()
    bed.run(1)
    assert bed.cloud.made[server].state is ServerState.RUNNING


def test_what_is_shelved_is_deleted_with_its_application(database):
    """Like any other server."""
    bed = Bed(database, settings=SHELVED)
    server = running(bed)
    suspended(bed)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert bed.app('app') is None and server not in bed.cloud.made


def draining(bed, limit):
    """The last server is given up; the controller has decided nothing else since."""
    slot = bed.stores.slots.slots('app')[-1]
    now = bed.clock.wall()
    drains = DesiredServerState.DRAINING
    bed.stores.slots.put([replace(slot, intention=drains, drain_at=now, drain_until=now + limit)])


def test_a_draining_server_that_was_shelved_by_hand_goes_at_its_time(database):
    """It is unshelved to end its work, after the usual pauses, and not beyond its limit."""
    bed = Bed(database, settings=SHELVED)
    server = running(bed)
    draining(bed, 100.0)
    bed.cloud.made[server].state = ServerState.SHELVED
    bed.cloud.put('big', 'blue', {}, WHOLE)
    for _ in range(11):
        bed.controller.turn()
        bed.clock.advance(10.0)
    bed.controller.turn()
    assert server not in bed.cloud.made
    assert 'did not end in 100 s' in bed.reasons('app', 'drained')[0]
    assert 1 <= asked(bed, server).count('unshelve') <= 4


def test_a_draining_server_is_shelved_with_its_application(database):
    """It counts again, and bids nothing; the event names the reason."""
    bed = Bed(database, settings=SHELVED)
    bed.add('app', template(components=[component(count=(2, 2))]))
    bed.run(3)
    ((server,),) = (ids for slot, ids in bed.own('app').items() if slot == 'worker-2')
    draining(bed, 10_000.0)
    suspended(bed)
    assert bed.cloud.made[server].state is ServerState.SHELVED
    assert bed.reasons('app', 'taken back') == ['worker-2: it is suspended with its application']
    assert bed.stores.bids.of([server])[server].cpu == 0
