# SPDX-License-Identifier: Apache-2.0
"""Frames carry plain values there and back in either format; what is no frame is refused by name."""

import contextlib
import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.transport.wire_format import MAX_FRAME, TABLE, CompactFormat, PlainFormat
from nova_market.core.exchange.codec import from_values
from nova_market.core.exchange.packed_sums import OwnerTable, owner_list, table_of
from nova_market.errors import MalformedReport, OversizedReport

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=['Cs'])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=['Cs'])), inner, max_size=4)
    ),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=['Cs'])), PLAIN, max_size=6)


@pytest.mark.parametrize('writer', [PlainFormat(), CompactFormat()])
@pytest.mark.parametrize('reader', [PlainFormat(), CompactFormat()])
def test_every_host_reads_both(writer, reader):
    """Whichever it writes itself."""

    @given(OBJECTS)
    def there_and_back(values):
        assert reader.decode(writer.encode(values)) == values

    there_and_back()


@given(st.binary(max_size=400))
def test_noise_is_refused_or_plain(frame):
    """No bytes raise anything but MalformedReport."""
    with contextlib.suppress(MalformedReport):
        PlainFormat().decode(frame)


@given(OBJECTS, st.integers(0, 1000), st.integers(0, 255))
def test_a_frame_with_a_wrong_byte_is_refused_or_plain(values, where, byte):
    """Damage raises nothing else either."""
    for wire in (PlainFormat(), CompactFormat()):
        frame = bytearray(wire.encode(values))
        frame[where % len(frame)] = byte
        with contextlib.suppress(MalformedReport):
            wire.decode(bytes(frame))


@pytest.mark.parametrize(
    'frame',
    [
        b'',
        b'{',
        b'{"a":1} x',
        b'\xff\xfe{\x00}\x00',
        b'{"a":' * 50_000,
        b'{"a":' + b'9' * 5000 + b'}',
        b'{"\xff":1}',
        b'\x91' * 100_000,
        b'\xdf\xff\xff\xff\xff',
        b'\xdd\xff\xff\xff\xff',
        msgspec.msgpack.encode({1: 2}),
        msgspec.msgpack.encode(7),
        b'\x81\xa1a\x81\x80\x01',
        msgspec.msgpack.encode({'a': 1}) + b'x',
        msgspec.msgpack.encode({'owners': msgspec.msgpack.Ext(TABLE, bytes(24) + bytes([2]))}),
    ],
    ids=lambda frame: repr(frame[:12]),
)
def test_no_frame(frame):
    """Broken, nested without end, with more promised than there is, with something behind it."""
    with pytest.raises(MalformedReport):
        CompactFormat().decode(frame)


def test_a_frame_that_is_too_long_is_not_parsed():
    frame = b'{' + b' ' * MAX_FRAME
    with pytest.raises(OversizedReport, match=str(len(frame))):
        PlainFormat().decode(frame)


@pytest.mark.parametrize('wire', [PlainFormat(), CompactFormat()])
def test_own_messages_are_bounded(wire):
    """What peers would not look at is not sent."""
    with pytest.raises(MalformedReport, match='own message'):
        wire.encode({'a': 'x' * MAX_FRAME})


def test_no_number_that_is_none():
    """JSON has none; the schema refuses those that msgpack could carry."""
    with pytest.raises(MalformedReport, match='own message'):
        PlainFormat().encode({'a': float('nan')})


NAMES = st.text('0123456789abcdef', min_size=31, max_size=33) | st.sampled_from(
    ['0' * 32, 'A' * 32, 'g' * 32, '\u0661' * 32, '0' * 31 + '\n']
)


@given(st.dictionaries(NAMES, st.just([1.0])), st.dictionaries(NAMES, st.just([1, 2])))
def test_names_of_owners_survive(owners, quotas):
    """Those that are UUIDs and those that only look so."""
    values = {'owners': owners, 'quotas': quotas}
    assert PlainFormat().decode(CompactFormat().encode(values)) == values


def test_compact_is_shorter():
    """For a host of 30 owners, whose names are UUIDs, by half."""
    owners = {f'{number:032x}': [number / 7.0] for number in range(30)}
    plain = len(json.dumps({'owners': owners}))
    assert len(CompactFormat().encode({'owners': owners})) < 0.55 * plain


@given(
    st.integers(1, 6).flatmap(
        lambda width: st.dictionaries(
            st.text(st.characters(categories=['L']), min_size=1),
            st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * width),
            min_size=1,
        )
    )
)
def test_a_table_survives(owners):
    """Compact with 2 bytes for an owner and 8 for a number; plain as a mapping that can be read."""
    known = owner_list(['not said', *owners])
    table = table_of(owners, known)
    frame = CompactFormat().encode({'owners': table})
    there = CompactFormat().decode(frame)['owners']
    assert there.is_about(known) and there == owners
    assert len(frame) < 32 + sum(2 + 8 * len(row) for row in owners.values())
    lists = {owner: list(row) for owner, row in owners.items()}
    assert CompactFormat().decode(PlainFormat().encode({'owners': table})) == {'owners': lists}


def test_a_table_of_the_earlier_kind_is_none():
    """Two owners of one number: doubles, ids, width; as long as a table with places of four."""
    earlier = np.array([1.0, 2.0]).tobytes() + bytes(range(32)) + bytes([1])
    message = CompactFormat().decode(
        msgspec.msgpack.encode({'owners': msgspec.msgpack.Ext(1, earlier)})
    )
    assert not isinstance(message['owners'], OwnerTable)
    message |= {'v': 2, 'kind': 'state', 'host': 'a', 'incarnation': 1, 'sequence': 1}
    with pytest.raises(MalformedReport, match='owners: not an object'):
        from_values(message | {'metric': 'm', 'epoch': 'e', 'roster': 'r'})


def test_only_what_the_formats_know_is_written():
    for wire in (PlainFormat(), CompactFormat()):
        with pytest.raises(TypeError, match='ndarray'):
            wire.encode({'a': np.zeros(3)})
