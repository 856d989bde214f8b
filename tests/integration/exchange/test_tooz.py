# SPDX-License-Identifier: Apache-2.0
"""Hosts find each other by tooz: in files, memcached, and a redis that goes away and comes back empty."""

import contextlib
import logging

import pytest
from tooz import coordination

from nova_market.adapters.transport import membership
from nova_market.adapters.transport.membership import ToozMembers
from tests.support.exchange.oslo import eventually

pytestmark = pytest.mark.clock

PERIOD = 0.3
OURS = membership.__name__


@pytest.fixture(
    params=[
        'file',
        pytest.param('redis', marks=pytest.mark.integration('redis-server')),
        pytest.param('memcached', marks=pytest.mark.integration('memcached')),
    ]
)
def url(request, tmp_path):
    if request.param == 'redis':
        return request.getfixturevalue('redis').url
    if request.param == 'memcached':
        return request.getfixturevalue('memcached')
    return f'file://{tmp_path}'


@pytest.fixture
def join():
    """Makes started members, stops them all."""
    made = []

    def make(url, host, address='', **more):
        one = ToozMembers(host, address, url, PERIOD, **more)
        one.start()
        made.append(one)
        return one

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def put():
    """Puts a member into the group that then does nothing more."""
    with contextlib.ExitStack() as stack:

        def make(url, host, capabilities):
            stranger = coordination.get_coordinator(url, host.encode())
            stranger.start()
            stack.callback(stranger.stop)
            stranger.join_group_create(membership.GROUP, capabilities)

        yield make


def test_hosts_come_and_go(url, join):
    """Without a restart of the others; each tells where it listens."""
    a = join(url, 'a', 'tcp://10.0.0.1:9653')
    assert a.members() == {'a': 'tcp://10.0.0.1:9653'}
    b = join(url, 'b', 'tcp://10.0.0.2:9653')
    both = {'a': 'tcp://10.0.0.1:9653', 'b': 'tcp://10.0.0.2:9653'}
    assert eventually(lambda: a.members() == both and b.members() == both)
    b.stop()
    assert eventually(lambda: set(a.members()) == {'a'})
    join(url, 'b', 'tcp://10.0.0.3:9653')
    assert eventually(lambda: a.members().get('b') == 'tcp://10.0.0.3:9653')


def test_an_observer_sees_and_is_not_seen(url, join):
    """As the market's engine does; also when it comes before the first host."""
    engine = join(url, 'engine', observer=True)
    assert engine.members() == {}
    a = join(url, 'a', 'tcp://10.0.0.1:9653')
    assert eventually(lambda: engine.members() == {'a': 'tcp://10.0.0.1:9653'})
    b = join(url, 'b', 'tcp://10.0.0.2:9653')
    assert eventually(lambda: set(engine.members()) == {'a', 'b'} == set(a.members()))
    b.stop()
    assert eventually(lambda: set(engine.members()) == {'a'})


def test_a_host_that_died_and_comes_back_elsewhere(url, join, put):
    """What it left behind in the group gives way to what it says now."""
    a = join(url, 'a')
    put(url, 'b', {'address': 'tcp://10.0.0.2:9653'})
    assert eventually(lambda: a.members().get('b') == 'tcp://10.0.0.2:9653')
    join(url, 'b', 'tcp://10.0.0.9:9653')
    assert eventually(lambda: a.members().get('b') == 'tcp://10.0.0.9:9653')


def test_what_strangers_write_into_the_group(url, join, put):
    """A name or an address that can't be one is passed over."""
    a = join(url, 'a')
    for number, capabilities in enumerate([b'', 7, {'address': 5}, {'address': 'x\n'}, None]):
        put(url, f's{number}', capabilities)
    join(url, 'b')
    assert eventually(lambda: set(a.members()) == {'a', 'b'})


def test_hosts_that_the_operator_does_not_know_are_no_members(url, join, put, caplog):
    """Whoever can write to the backend could bring in as many as it likes, and each may be an aggregator."""
    known = {'a': '', 'b': 'tcp://10.0.0.2:9653'}
    a = join(url, 'a', 'tcp://10.0.0.1:9653', known=lambda: known)
    for number in range(18):
        put(url, f'invented{number}', {'address': 'tcp://10.0.0.66:9653'})
    join(url, 'b', 'tcp://10.0.0.66:9653')
    both = {'a': 'tcp://10.0.0.1:9653', 'b': 'tcp://10.0.0.2:9653'}
    assert eventually(lambda: a.members() == both and '18 names in the group' in caplog.text)
    known['invented3'] = ''
    assert eventually(lambda: a.members().get('invented3') == 'tcp://10.0.0.66:9653')


@pytest.mark.integration('redis-server')
def test_a_backend_that_goes_away(redis, join, caplog):
    """The last list stays, the log says it once; it fills again when an empty one comes back."""
    a, b = join(redis.url, 'a'), join(redis.url, 'b')
    assert eventually(lambda: set(a.members()) == set(b.members()) == {'a', 'b'})
    with caplog.at_level(logging.INFO, OURS):
        redis.stop()
        # tooz itself tries fifteen times before it gives up: the better part of a minute
        assert eventually(lambda: caplog.text.count('can not be read') == 2, 90.0)
        assert set(a.members()) == {'a', 'b'}
        redis.start()
        assert eventually(lambda: caplog.text.count('can be read again') == 2)
    assert eventually(lambda: set(a.members()) == set(b.members()) == {'a', 'b'})
    c = join(redis.url, 'c')
    assert eventually(lambda: set(a.members()) == set(c.members()) == {'a', 'b', 'c'})
    assert caplog.text.count('can not be read') == 2


@pytest.mark.integration('redis-server')
def test_started_before_the_backend(redis, join):
    """A host that boots first finds the group when it comes; asking never waits."""
    redis.stop()
    a = join(redis.url, 'a')
    assert a.members() == {'a': ''}
    redis.start()
    join(redis.url, 'b')
    assert eventually(lambda: set(a.members()) == {'a', 'b'})
