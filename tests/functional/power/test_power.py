# SPDX-License-Identifier: Apache-2.0
"""W3: hosts that are not needed are powered down by the service of leases, and woken in time."""

import logging

import pytest

from nova_market.core.lease.record import LeaseState
from nova_market.core.power.host_step import REASON, Phase
from nova_market.core.power.record import Mode
from tests.support.lease_records import HOUR
from tests.support.market_bed import server
from tests.support.power_bed import BOOT

pytestmark = pytest.mark.functional

LONG = 1500.0
"""Seconds in which all that are not needed have gone."""

NEEDED = {'VCPU': 2.0, 'MEMORY_MB': 1024.0, 'DISK_GB': 10.0}


def put(bed, name='s', host='a', **counted):
    bed.cloud.put_server(server(name, 'red', host, counted=NEEDED | counted))


def orders(bed):
    return [(host, what) for _, host, what in bed.machines.orders]


def test_empty_hosts_go_down_and_the_one_in_use_stays(bed):
    """Disabled with our reason first; the events have why; the hosts are still there for leases."""
    put(bed)
    bed.run(LONG)
    assert bed.phases() == {'b': Phase.OFF, 'c': Phase.OFF}
    assert orders(bed) == [('b', 'off'), ('c', 'off')] and bed.machines.off == {'b', 'c'}
    assert bed.cloud_host('b').disabled_reason == REASON and bed.cloud_host('a').enabled
    events = [(one.action, one.reason) for one in reversed(bed.power.events('b'))]
    assert [action for action, _ in events] == ['leaving', 'stopping', 'off']
    assert 'empty for' in events[0][1] and 'the others have enough' in events[0][1]
    sent = [event for event, _, payload in bed.notices.sent if payload.get('host') == 'b']
    assert sent == ['market.power.leaving', 'market.power.stopping', 'market.power.off']


def test_demand_wakes_a_host(bed):
    """Above `fullest` of what is on; the host serves again."""
    put(bed)
    bed.run(LONG)
    put(bed, 't')
    bed.run(BOOT + 220)
    assert len(bed.phases()) == 1 and len([1 for _, what in orders(bed) if what == 'on']) == 1
    (on,) = {'b', 'c'} - bed.phases().keys()
    assert bed.cloud_host(on).enabled and bed.cloud_host(on).answering


def test_a_dip_of_demand_powers_nothing_down(bed):
    """The largest demand of the last hour counts."""
    for name in 'ab':
        put(bed, name, name, VCPU=3.0)
    bed.run(600)
    bed.cloud.remove('b')
    bed.run(LONG)
    assert sorted(bed.phases()) == ['c']
    bed.run(HOUR)
    assert sorted(bed.phases()) == ['b', 'c']


def test_a_lease_on_a_host_that_is_off_begins_in_time(bed):
    """It can be booked, and the host is there before it begins; afterwards it goes down again."""
    bed.run(LONG)
    assert bed.machines.off == {'a', 'b', 'c'}
    one = bed.book(whole=True, nodes=2, after=HOUR)
    names = {node.host for node in one.nodes}
    bed.run(HOUR - 480)
    assert bed.machines.off == {'a', 'b', 'c'}
    bed.run(420)
    assert names & bed.phases().keys() == set() and len(bed.machines.off) == 1
    bed.run(120)
    assert bed.read(one).state is LeaseState.ACTIVE
    (started,) = [e.at for e in bed.leases.events(one.id) if e.action == 'started']
    assert started - one.start <= 60.0
    bed.run(HOUR + LONG)
    assert bed.read(one).state is LeaseState.ENDED and bed.machines.off == {'a', 'b', 'c'}


def test_what_begins_now_is_not_booked_on_a_host_that_is_off(bed):
    """The calendar has its room only after the time that waking takes."""
    bed.run(LONG)
    view = bed.states.read('lease_hosts')
    now, ready = (one for one in view['times'][:3] if one is not None)
    assert ready - now == 420.0 and view['free'][0][:3] == [4.0, 0.0, 4.0]


def test_a_host_that_does_not_wake_is_reported_and_its_lease_moves(bed, caplog):
    """A host that is late is lost for its lease, which gets another one."""
    bed.run(LONG)
    one = bed.book(whole=True, nodes=1, after=HOUR)
    (host,) = (node.host for node in one.nodes)
    bed.machines.broken.add(host)
    with caplog.at_level(logging.ERROR):
        bed.run(2 * HOUR + 300)
    assert bed.phases()[host] is Phase.FAILED
    assert f'host {host}: has not woken' in caplog.text
    moved = [e for e in bed.leases.events(one.id) if e.action in ('moved', 'failed')]
    assert [e.action for e in moved] == ['moved'] and bed.read(one).state is LeaseState.ENDED


def test_what_somebody_else_disabled_is_left_alone(bed):
    """Neither powered down nor enabled, also when it is done while a host leaves."""
    bed.change_host('b', enabled=False, disabled_reason='memory')
    bed.run(420)
    assert bed.phases()['a'] is Phase.LEAVING
    bed.change_host('a', disabled_reason='disk')
    bed.run(LONG)
    for name, reason in (('a', 'disk'), ('b', 'memory')):
        assert bed.cloud_host(name).disabled_reason == reason and name not in bed.machines.off
    assert bed.machines.off == {'c'}


def test_somebody_who_enables_a_host_that_is_off_gets_it(bed):
    bed.run(LONG)
    bed.change_host('b', enabled=True, disabled_reason='')
    bed.run(BOOT + 220)
    assert 'b' not in bed.phases() and 'b' not in bed.machines.off


def test_a_server_that_somebody_forces_to_a_host_that_is_off_wakes_it(bed):
    bed.run(LONG)
    put(bed, 'forced', 'c')
    bed.run(BOOT + 220)
    assert 'c' not in bed.phases() and bed.cloud_host('c').enabled


def test_a_controller_that_does_not_answer_holds_up_no_other_host(bed, caplog):
    """The host stays, the others go; it is tried again later and shown with its trouble."""
    bed.machines.silent.add('a')
    bed.run(LONG)
    assert bed.machines.off == {'b', 'c'} and bed.states.read('power_pass')['troubles'] == {
        'a': 'a: no answer'
    }
    assert caplog.text.count('host a cannot be switched') == 1
    bed.machines.silent.clear()
    bed.run(LONG)
    assert bed.machines.off == {'a', 'b', 'c'}


def test_while_nova_is_away_nothing_is_done(bed):
    """Neither hosts nor leases change; then it goes on."""
    bed.run(420)
    before, bed.cloud.available = bed.power.hosts(), False
    for _ in range(10):
        bed.service.tick()
        bed.clock.advance(60.0)
    assert bed.power.hosts() == before and bed.machines.orders == []
    bed.cloud.available = True
    bed.run(LONG)
    assert bed.machines.off == {'a', 'b', 'c'}


def test_advice_changes_nothing(bed):
    """Which hosts would go is left for `power list`."""
    bed.change_power(mode=Mode.ADVISE)
    bed.run(LONG)
    assert bed.power.hosts() == {} and bed.machines.orders == []
    assert all('powered down' in why for why in bed.states.read('power_pass')['advice'].values())
    assert len(bed.states.read('power_pass')['advice']) == 2


@pytest.mark.parametrize('mode', [Mode.OFF, Mode.ADVISE])
def test_hosts_that_are_down_are_woken_in_other_modes(bed, mode):
    """Nobody else would wake them."""
    bed.run(LONG)
    bed.change_power(mode=mode)
    bed.run(BOOT + 220)
    assert bed.phases() == {} and bed.machines.off == set()
    bed.run(LONG)
    assert bed.machines.off == set()


def test_mode_off_leaves_no_trace(bed):
    bed.change_power(mode=Mode.OFF)
    bed.run(LONG)
    assert bed.power.hosts() == {} and bed.states.read('power_pass') == {} and bed.seen == []
