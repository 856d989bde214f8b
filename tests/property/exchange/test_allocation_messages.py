# SPDX-License-Identifier: Apache-2.0
"""Letters of the market on anything: what was written is read, and nothing else gets through."""

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
    AllocationLetter,
    Confirmation,
    is_market,
    market_letter,
    market_values,
)
from nova_market.core.exchange.codec import from_values
from nova_market.core.market.inventory import Allocation
from nova_market.errors import MalformedReport
from tests.property.exchange.test_exchange import anything, names, whole

allocations = st.builds(
    Allocation,
    server_id=names,
    cores=st.floats(0, MAX_CORES),
    memory_mib=st.floats(0, MAX_MEMORY_MIB),
)
letters = st.one_of(
    st.builds(
        AllocationLetter,
        engine=names,
        host=names,
        period=whole,
        expires=st.floats(0, MAX_TIME),
        allocations=st.lists(allocations, max_size=4, unique_by=lambda one: one.server_id).map(
            tuple
        ),
    ),
    st.builds(
        Confirmation,
        host=names,
        engine=names,
        period=whole,
        servers=st.lists(names, max_size=4).map(tuple),
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


@given(letters, st.sampled_from(sorted(FORMATS)))
def test_what_is_written_is_read(letter, wire):
    """In both formats; the prefix that frames are sorted by is in each of them."""
    frame = FORMATS[wire]().encode(market_values(letter))
    assert PREFIX in frame
    assert market_letter(FORMATS[wire]().decode(frame)) == letter


@given(anything)
def test_garbage_is_refused(message):
    """By no other error than the one that says so."""
    assert not is_market(message) or isinstance(message, dict)
    with contextlib.suppress(MalformedReport):
        market_letter(message)


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), anything, min_size=1))
def test_a_letter_with_garbage_in_it(changes):
    with contextlib.suppress(MalformedReport):
        market_letter(GOOD | changes)


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'v': 0}, 'v: 0'),
        ({'engine': ''}, "engine: ''"),
        ({'host': 'a\n'}, 'host'),
        ({'period': -1}, 'period: -1'),
        ({'period': True}, 'period: True'),
        ({'expires': float('nan')}, 'expires: nan'),
        ({'expires': None}, 'expires: None'),
        ({'servers': []}, 'servers: not an object'),
        ({'servers': {'s': [0.5]}}, 'servers: not a list of 2'),
        ({'servers': {'s': [-0.5, 1]}}, 'servers: -0.5'),
        ({'servers': {'s': [float('inf'), 1]}}, 'servers: inf'),
        ({'servers': {'s': [1e9, 1]}}, '1e+09 cores, at most'),
        ({'servers': {str(n): [1, 1] for n in range(MAX_SERVERS + 1)}}, '10001 entries'),
        ({'kind': APPLIED}, 'is not a list'),
        ({'kind': APPLIED, 'servers': ['s'] * (MAX_SERVERS + 1)}, '10001 entries'),
        ({'kind': 'market.other'}, 'not an object of kind'),
    ],
)
def test_what_is_wrong_is_named(changes, said):
    with pytest.raises(MalformedReport) as caught:
        market_letter(GOOD | changes)
    assert said in str(caught.value)


def test_a_host_without_a_market_refuses_the_letter():
    """One that runs an earlier version, or the policy `fairness`."""
    with pytest.raises(MalformedReport):
        from_values(GOOD)
