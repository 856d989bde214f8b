# SPDX-License-Identifier: Apache-2.0
"""What the ZeroMQ sockets decide without a network: addresses, and who is let in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.transport.zmq.keys import KeyPair, KeyRing
from nova_market.adapters.transport.zmq.listener import judge
from nova_market.adapters.transport.zmq.sockets import bindable, is_loopback, usable

KNOWN = bytes(range(32))
RING = KeyRing(own=KeyPair(public=b'p' * 32, secret=b's' * 32), peers={'b': (KNOWN,)})


def request(key, mechanism=b'CURVE'):
    """As libzmq asks, from the delimiter on."""
    return [b'', b'1.0', b'7', b'nova-market', b'192.0.2.1', b'', mechanism, key]


@pytest.mark.parametrize(
    ('address', 'good'),
    [
        ('tcp://10.0.0.1:9653', True),
        ('tcp://compute-1.example:1', True),
        ('tcp://[fd00::1]:65535', True),
        ('ipc:///run/nova-market/exchange', True),
        ('tcp://10.0.0.1:0', False),
        ('tcp://10.0.0.1:65536', False),
        ('tcp://10.0.0.1', False),
        ('tcp://*:9653', False),
        ('tcp://10.0.0.1:9653;tcp://10.0.0.2:1', False),
        ('tcp://10.0.0.1:9653\n', False),
        ('udp://10.0.0.1:9653', False),
        ('inproc://zeromq.zap.01', False),
        ('ipc://', False),
        ('', False),
    ],
)
def test_an_address_to_connect_to(address, good):
    """TCP and local sockets, complete."""
    assert usable(address) is good


@pytest.mark.parametrize('address', ['tcp://*:9653', 'tcp://127.0.0.1:*', 'tcp://*:*', 'tcp://h:1'])
def test_an_address_to_listen_on(address):
    """May leave the address or the port open."""
    assert bindable(address)


@pytest.mark.parametrize(
    ('address', 'local'),
    [
        ('tcp://127.0.0.1:1', True),
        ('tcp://127.8.8.8:1', True),
        ('tcp://[::1]:1', True),
        ('tcp://localhost:1', True),
        ('ipc:///run/x', True),
        ('tcp://localhost.example:1', False),
        ('tcp://127.0.0.1.example:1', False),
        ('tcp://10.0.0.1:1', False),
        ('tcp://0.0.0.0:1', False),
        ('tcp://*:1', False),
        ('tcp://[::]:1', False),
        ('tcp://[::ffff:10.0.0.1]:1', False),
    ],
)
def test_what_stays_on_this_machine(address, local):
    """Only such addresses are used without keys."""
    assert is_loopback(address) is local


def test_a_known_key_comes_in():
    """Its user id is the key, by which every frame is judged again."""
    answer = judge(request(KNOWN), RING)
    assert answer.frames == [b'', b'1.0', b'7', b'200', b'OK', KNOWN.hex().encode(), b'']
    assert (answer.host, answer.problem) == ('b', '')


@pytest.mark.parametrize(
    'asked',
    [
        request(b'q' * 32),
        request(KNOWN[:31]),
        request(RING.own.public),
        request(KNOWN, b'NULL'),
        request(KNOWN, b'PLAIN'),
        request(KNOWN)[:7],
        [*request(KNOWN), b'more'],
        [b'', b'1.0'],
        [],
    ],
)
def test_anybody_else_stays_out(asked):
    """Another key, another mechanism, or no question at all."""
    answer = judge(asked, RING)
    assert answer.frames[3] == b'400' and answer.frames[5] == b''
    assert answer.problem


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_only_the_allow_list_lets_in(asked):
    """Whatever is asked, the answer is a reply, and it is no for all but known keys."""
    answer = judge(asked, RING)
    reply = answer.frames
    assert len(reply) == 7
    assert (reply[3] == b'200') is (len(asked) == 8 and asked[6:] == [b'CURVE', KNOWN])
    assert bool(answer.problem) is (reply[3] == b'400')
    assert judge(asked, None).frames[3] == b'400'
