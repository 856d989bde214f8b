# SPDX-License-Identifier: Apache-2.0
"""What frames cost that are made to cost much: rule H24."""

import contextlib
import tracemalloc

import msgspec
import pytest

from nova_market.adapters.transport.wire_format import MAX_FRAME, CompactFormat, PlainFormat, decode
from nova_market.core.exchange.frame import MAX_VALUES
from nova_market.core.exchange.messages import HostReport
from nova_market.core.exchange.validation import MAX_OWNERS, MAX_QUOTA
from nova_market.core.resource import RESOURCES
from nova_market.errors import MalformedReport
from tests.support.exchange.hostile_frames import hostile_frames

HOSTILE = hostile_frames()


def peak(frame):
    """Bytes that are allocated at once while the frame is decoded."""
    tracemalloc.start()
    try:
        with contextlib.suppress(MalformedReport):
            decode(frame)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize('name', sorted(HOSTILE))
def test_nothing_is_built_of_what_is_refused(name):
    """The dearest is 190,000 owners in JSON; a decoder that builds what it refuses needs 256 MiB."""
    frame = HOSTILE[name]
    assert len(frame) <= MAX_FRAME
    assert peak(frame) < 32 * 2**20


def test_what_is_refused_is_refused_by_its_field():
    """Also when its value is too long to be shown."""
    with pytest.raises(MalformedReport, match=r'^owners: a value of \d+ bytes is not an object'):
        decode(HOSTILE['report owners'])
    with pytest.raises(MalformedReport, match=r'^left: a value of \d+ bytes was given, expected'):
        decode(HOSTILE['names'])


def largest():
    """A report with all that one may have."""
    amounts = (-1.2345678901234567e23,) * len(RESOURCES)
    owners = {f'{number:032x}': amounts for number in range(MAX_OWNERS)}
    return HostReport(
        host='a',
        incarnation=1,
        sequence=1,
        metric='m',
        supply=(1.0,) * 6,
        load=(1.0,) * 6,
        virtual=(1.0,) * 6,
        owners=owners,
        quotas=dict.fromkeys(owners, (MAX_QUOTA, MAX_QUOTA)),
    )


@pytest.mark.parametrize('wire', [PlainFormat(), CompactFormat()])
def test_the_largest_report_is_taken(wire):
    frame = wire.encode(largest())
    assert decode(frame) == largest()
    assert frame.count(b',') < MAX_VALUES / 2


@pytest.mark.parametrize('kind', ['report', 'state', 'answer'])
@pytest.mark.parametrize('content', [bytes(4), bytes(12), b'\xff' * 12])
def test_a_timestamp_is_no_packed_sums(kind, content):
    """It is an extension of msgpack too, which decoders have a type of their own for."""
    values = {'v': 1, 'kind': kind, 'host': 'a', 'to': 'b', 'incarnation': 1, 'sequence': 1}
    values |= {'metric': 'm', 'epoch': 'e', 'roster': 'r'}
    values |= dict.fromkeys(('supply', 'load', 'virtual'), (1.0,) * len(RESOURCES))
    values |= {'hosts': 1, 'owner_count': 1, 'tally': (0,) * 6}
    owners = msgspec.msgpack.encode(msgspec.msgpack.Ext(-1, content))
    frame = msgspec.msgpack.encode({**values, 'owners': msgspec.Raw(owners)})
    with pytest.raises(MalformedReport, match=r'^owners: a value of \d+ bytes is not an object'):
        decode(frame)
