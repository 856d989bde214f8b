# SPDX-License-Identifier: Apache-2.0
"""Frames hold messages in either format; what is no frame is refused by name."""

import contextlib
import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.transport.wire_format import (
    MAX_FRAME,
    CompactFormat,
    PlainFormat,
    decode,
)
from nova_market.core.exchange.codec import PACKED_SUMS, to_values
from nova_market.core.exchange.messages import StateUpdate
from nova_market.core.exchange.packed_sums import PackedSums, owner_list, pack
from nova_market.core.exchange.validation import MAX_AMOUNT
from nova_market.errors import MalformedReport, OversizedReport
from tests.property.exchange.test_codec import replies, updates

messages = updates | replies

WRITERS = [PlainFormat(), CompactFormat()]


def update(**changes):
    values = {'host': 'a', 'incarnation': 1, 'sequence': 2, 'metric': 'm', 'epoch': 'e'}
    return StateUpdate(**(values | {'aggregator_set': 'r'} | changes))


def frame_of(**changes):
    """A compact update with other values of some keys, as a peer may write it."""
    return msgspec.msgpack.encode(to_values(update()) | changes)


@pytest.mark.parametrize('writer', WRITERS)
@pytest.mark.parametrize('reader', WRITERS)
def test_every_host_reads_both(writer, reader):
    """Whichever it writes itself."""

    @given(messages)
    def there_and_back(message):
        assert reader.decode(writer.encode(message)) == message

    there_and_back()


@given(st.binary(max_size=400))
def test_noise_is_refused_or_plain(frame):
    """No bytes raise anything but MalformedReport."""
    with contextlib.suppress(MalformedReport):
        PlainFormat().decode(frame)


@given(messages, st.integers(0, 1000), st.integers(0, 255))
def test_a_frame_with_a_wrong_byte_is_refused_or_read(message, where, byte):
    """Damage raises nothing else either."""
    for wire in WRITERS:
        frame = bytearray(wire.encode(message))
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
        b'\x82\xa4kind\xa6report\xa6owners\x81\x80\x01',
        msgspec.msgpack.encode({'a': 1}) + b'x',
        frame_of(owners=msgspec.msgpack.Ext(PACKED_SUMS, bytes(24) + bytes([2]))),
        frame_of(owners=msgspec.msgpack.Ext(PACKED_SUMS, b'')),
        frame_of(owners=msgspec.msgpack.Ext(PACKED_SUMS, bytes(9))),
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


@pytest.mark.parametrize('wire', WRITERS)
def test_own_messages_are_bounded(wire):
    """What peers would not look at is not sent."""
    with pytest.raises(MalformedReport, match='own message'):
        wire.encode(update(metric='x' * MAX_FRAME))


def test_no_number_that_is_none():
    """JSON has none; the schema refuses those that msgpack could carry."""
    lie = update(owners={'d': (float('nan'),)})
    with pytest.raises(MalformedReport, match='own message'):
        PlainFormat().encode(lie)
    with pytest.raises(MalformedReport, match='owners: nan was given'):
        decode(CompactFormat().encode(lie))


@pytest.mark.parametrize('wire', WRITERS)
@pytest.mark.parametrize(
    ('changes', 'expected'),
    [
        ({'sequence': -1}, 'sequence: -1 was given, expected `int` >= 0'),
        ({'v': 'x' * 100}, "v: 'xxx"),
        ({'supply': (1.0, -2.0, 0.0, 0.0, 0.0, 0.0)}, 'supply: -2.0 was given'),
        ({'owners': {'d': [1e30]}}, r'owners: 1e\+30 was given, expected `float` <= 1e\+24'),
        ({'kind': 'rumour'}, "kind: 'rumour' is none of report, gone, state, answer"),
        ({'supply': (1.0,) * 6}, 'load: it is absent'),
    ],
    ids=lambda value: f'{value!s:.12}',
)
def test_a_refusal_names_field_value_and_limit(wire, changes, expected):
    """In both formats, also where the value lies deep inside."""
    values = to_values(update()) | changes
    write = json.dumps if isinstance(wire, PlainFormat) else msgspec.msgpack.encode
    frame = write(values)
    with pytest.raises(MalformedReport, match='^' + expected):
        wire.decode(frame.encode() if isinstance(frame, str) else frame)


def test_a_refusal_names_what_is_absent():
    with pytest.raises(MalformedReport, match=r'^host: a message must have it'):
        decode(b'{"v":1,"kind":"gone"}')


NAMES = st.text('0123456789abcdef', min_size=31, max_size=33) | st.sampled_from(
    ['0' * 32, 'A' * 32, 'g' * 32, '\u0661' * 32]
)


@given(st.dictionaries(NAMES, st.just((1.0,))), st.dictionaries(NAMES, st.just((1, 2))))
def test_names_of_owners_survive(owners, quotas):
    """Those that are UUIDs and those that only look so."""
    message = update(owners=owners, quotas=quotas)
    assert PlainFormat().decode(CompactFormat().encode(message)) == message


def test_compact_is_shorter():
    """For a host of 30 owners, whose names are UUIDs, by half."""
    message = update(owners={f'{number:032x}': (number / 7.0,) for number in range(30)})
    assert len(CompactFormat().encode(message)) < 0.55 * len(PlainFormat().encode(message))


@given(
    st.integers(1, 6).flatmap(
        lambda width: st.dictionaries(
            st.text(st.characters(categories=['L']), min_size=1, max_size=9),
            st.tuples(*[st.floats(-MAX_AMOUNT, MAX_AMOUNT)] * width),
            min_size=1,
        )
    )
)
def test_packed_sums_survive(owners):
    """Compact with 2 bytes for an owner and 8 for a number; plain as a mapping that can be read."""
    known = owner_list(['not sent', *owners])
    message, empty = update(owners=pack(owners, known)), update()
    frame = CompactFormat().encode(message)
    there = decode(frame).owners
    assert isinstance(there, PackedSums)
    assert there.refers_to(known) and there == owners
    more = len(frame) - len(CompactFormat().encode(empty))
    assert more < 32 + sum(2 + 8 * len(row) for row in owners.values())
    assert decode(PlainFormat().encode(message)).owners == owners


def test_packed_sums_of_the_earlier_kind_are_none():
    """Two owners of one number: doubles, ids, width; as long as packed sums with places of four."""
    earlier = np.array([1.0, 2.0]).tobytes() + bytes(range(32)) + bytes([1])
    with pytest.raises(MalformedReport, match='owners: extension 1 is not 2'):
        decode(frame_of(owners=msgspec.msgpack.Ext(1, earlier)))


def test_only_what_the_formats_know_is_written():
    for wire in WRITERS:
        with pytest.raises(TypeError, match='ndarray'):
            wire.encode(update(acked=np.zeros(3)))
