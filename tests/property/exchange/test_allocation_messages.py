# SPDX-License-Identifier: Apache-2.0
"""Messages of the market on anything: what was written is read, and nothing else gets through."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.core.exchange.allocation_messages import (
    ALLOCATE,
    APPLIED,
    MAX_CORES,
    MAX_MEMORY_MIB,
    MAX_SERVERS,
    MAX_TIME,
    PREFIX,
    AllocationMessage,
    Confirmation,
)
from nova_market.core.exchange.codec import from_values
from nova_market.core.market.inventory import Allocation
from nova_market.core.usage.use import AMOUNTS, LONGEST, MINUTE, MinuteUse, ServerUse
from nova_market.errors import MalformedReport
from tests.property.exchange.test_exchange import anything, names, whole_numbers
from tests.support.exchange.frames import check_frames

allocations = st.builds(
    Allocation,
    server_id=names,
    cores=st.floats(0, MAX_CORES),
    memory_mib=st.floats(0, MAX_MEMORY_MIB),
)
amounts = st.integers(0, LONGEST)
uses = st.builds(
    MinuteUse,
    at=st.integers(0, 2**40).map(lambda minute: minute * MINUTE),
    servers=st.dictionaries(
        names, st.builds(ServerUse, **dict.fromkeys(AMOUNTS, amounts)), max_size=4
    ),
)


def confirmation(servers, timed, **values):
    """timed: does the host state since when? The version before does not."""
    since = tuple(at for _, at in servers) if timed else None
    return Confirmation(servers=tuple(name for name, _ in servers), since=since, **values)


messages = st.one_of(
    st.builds(
        AllocationMessage,
        engine=names,
        host=names,
        period=whole_numbers,
        expires=st.floats(0, MAX_TIME),
        allocations=st.lists(allocations, max_size=4, unique_by=lambda one: one.server_id).map(
            tuple
        ),
    ),
    st.builds(
        confirmation,
        st.lists(st.tuples(names, st.integers(0, int(MAX_TIME))), max_size=4),
        st.booleans(),
        host=names,
        engine=names,
        period=whole_numbers,
        enforced=st.none() | st.lists(names, max_size=4).map(tuple),
        use=st.none() | uses,
    ),
)
GOOD = {
    'v': 1,
    'kind': ALLOCATE,
    'engine': 'engine1',
    'host': 'a',
    'period': 7,
    'expires': 1.7e9,
    'servers': {'s': [0.5, 64]},
}


HOSTS_OWN = {'kind': APPLIED, 'servers': []}


@given(messages, st.sampled_from(sorted(FORMATS)))
def test_what_is_written_is_read(message, wire):
    """In both formats; the prefix that frames are sorted by is in each of them."""
    frame = FORMATS[wire]().encode(message)
    assert PREFIX in frame
    assert FORMATS[wire]().decode(frame) == message


@given(anything)
def test_garbage_is_refused(message):
    """By no other error than the one that says so."""
    with contextlib.suppress(MalformedReport):
        from_values(message)


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), anything, min_size=1))
def test_a_message_with_garbage_in_it(changes):
    values = GOOD | changes
    with contextlib.suppress(MalformedReport):
        from_values(values)
    check_frames(values)


@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({'v': 0}, 'v: 0'),
        ({'engine': ''}, "engine: ''"),
        ({'host': 'a\n'}, 'host'),
        ({'period': -1}, 'period: -1'),
        ({'period': True}, 'period: True'),
        ({'expires': float('nan')}, 'expires: nan'),
        ({'expires': None}, 'expires: None'),
        ({'servers': []}, 'servers: a value of 1 bytes is not an object'),
        ({'servers': {'s': [0.5]}}, 'servers: a list of 1 was given, expected `array` of length 2'),
        ({'servers': {'s': [-0.5, 1]}}, 'servers: -0.5'),
        ({'servers': {'s': [float('inf'), 1]}}, 'servers: inf'),
        (
            {'servers': {'s': [1e9, 1]}},
            'servers: 1000000000.0 was given, expected `float` <= 1000000.0',
        ),
        ({'servers': {str(n): [1, 1] for n in range(MAX_SERVERS + 1)}}, '10001 entries'),
        ({'kind': APPLIED}, 'expected `array`, got `object`'),
        (
            {'kind': APPLIED, 'servers': ['s'] * (MAX_SERVERS + 1)},
            'servers: a value of 20005 bytes',
        ),
        ({**HOSTS_OWN, 'used_at': 61}, 'used_at: 61'),
        ({**HOSTS_OWN, 'used_at': -60}, 'used_at: -60'),
        ({**HOSTS_OWN, 'since': [-1]}, 'since: -1'),
        ({**HOSTS_OWN, 'since': [1.5]}, 'since: 1.5'),
        (
            {**HOSTS_OWN, 'since': [0] * (MAX_SERVERS + 1)},
            'since: a value of 10004 bytes',
        ),
        ({**HOSTS_OWN, 'since': [7]}, 'since: 1 seconds for 0 servers; give one for each'),
        ({**HOSTS_OWN, 'used_at': 60, 'used': []}, 'used: a value of 1 bytes is not an object'),
        ({**HOSTS_OWN, 'used_at': 60, 'used': {'s': [1, 2]}}, 'expected `array` of length >= 7'),
        ({**HOSTS_OWN, 'used_at': 60, 'used': {'s': [-1] * 7}}, 'used: -1'),
        ({**HOSTS_OWN, 'used_at': 60, 'used': {'s': [2**53 + 1] * 7}}, 'used: 9007199254740993'),
        ({'kind': 'market.other'}, "kind: 'market.other' is none of"),
    ],
)
def test_what_is_wrong_is_named(changes, expected):
    with pytest.raises(MalformedReport) as caught:
        from_values(GOOD | changes)
    assert expected in str(caught.value)
