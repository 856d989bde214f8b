# SPDX-License-Identifier: Apache-2.0
"""W3: what every database does for the steps of hosts: of two that decide, one writes."""

import pytest

from nova_market.core.power.host_step import HostState, Phase
from nova_market.core.power.record import PowerEvent, StoredPower
from nova_market.core.resource import HostName
from nova_market.db.power import DatabasePower

A = HostName('a')
LEAVING = HostState(phase=Phase.LEAVING, since=5.0, acted=5.0, held=True)


@pytest.fixture
def store(database):
    return DatabasePower(database)


def event(action='leaving', reason='not needed'):
    return PowerEvent(host='a', at=5.0, action=action, reason=reason, numbers={'watts': 160.0})


def test_a_state_is_kept_with_its_infinite_times(store):
    """And with the reason of the last step that had one."""
    assert store.hosts() == {}
    assert store.change(A, StoredPower(), LEAVING, event())
    assert store.hosts() == {A: StoredPower(state=LEAVING, why='not needed', revision=1)}
    assert store.change(A, store.hosts()[A], HostState(), None)
    assert store.hosts() == {A: StoredPower(why='not needed', revision=2)}


def test_of_two_services_one_takes_the_step(store):
    """The first one of a host, and a later one; the other leaves no event."""
    assert store.change(A, StoredPower(), LEAVING, event())
    assert not store.change(A, StoredPower(), HostState(), event('off'))
    before = store.hosts()[A]
    assert store.change(A, before, HostState(phase=Phase.OFF), event('off'))
    assert not store.change(A, before, HostState(), event('waking'))
    assert [one.action for one in store.events('a')] == ['off', 'leaving']


def test_events_are_listed_and_sent_in_order(store):
    """Newest first of one host, page by page; oldest first of all."""
    store.change(A, StoredPower(), LEAVING, event())
    store.change(A, store.hosts()[A], HostState(), event('off', 'é' * 2000))
    last, first = store.events('a')
    assert last.reason == 'é' * 1000 and first.numbers == {'watts': 160.0}
    assert store.events('a', before=last.number) == [first] and store.events('b') == []
    assert list(store.events_since(0)) == [first, last]
    assert list(store.events_since(first.number)) == [last]
