# SPDX-License-Identifier: Apache-2.0
"""Frames of other hosts: what carries them, what is in them, and what becomes of it."""

import base64
import json
from dataclasses import replace

from nova_market.adapters.transport.oslo import frame_in
from nova_market.adapters.transport.wire_format import CompactFormat, PlainFormat, decode
from nova_market.adapters.transport.zmq.keys import KeyPair, KeyRing
from nova_market.adapters.transport.zmq.listener import judge
from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import AggregatorClient
from nova_market.core.exchange.allocation_messages import AllocationMessage, Confirmation
from nova_market.core.exchange.messages import (
    CloudPart,
    Departure,
    HostReport,
    StateUpdate,
    TotalsReply,
    Vectors,
)
from nova_market.core.exchange.packed_sums import owner_list, pack
from nova_market.core.exchange.quota_tally import QuotaTally
from nova_market.core.exchange.report_table import ReportTable
from nova_market.core.market.inventory import Allocation
from nova_market.core.usage.history import ServerSize, attributed
from nova_market.core.usage.use import MinuteUse, ServerUse
from nova_market.core.usage.waiting import WaitingReports
from nova_market.errors import MalformedReport
from tests.support.host_builders import report

D, E = 'd' * 32, 'e' * 32
VECTORS = Vectors(supply=(4.0,) * 6, load=(1.0,) * 6, virtual=(8.0,) * 6)
HEAD = {'incarnation': 1, 'sequence': 2, 'epoch': 'e', 'aggregator_set': 'r'}
UPDATE = StateUpdate(
    host='a',
    metric='greediness',
    full=True,
    acked=1,
    owners={D: (1.0,), E: (0.5,), 'guest': (0.25,)},
    gone=('f',),
    vectors=VECTORS,
    quotas={D: (4, 8192), E: (-1, -1)},
    reads_quotas=True,
    copies=3,
    **HEAD,
)
REPLY = TotalsReply(
    host='x',
    to='a',
    full=True,
    complete=True,
    owners={D: (2.0,), 'guest': (0.5,)},
    quotas={D: (4, 8192)},
    cloud=CloudPart(hosts=3, owner_count=7, vectors=VECTORS, tally=QuotaTally(known=(1, 1))),
    asked=('f',),
    older=0,
    **HEAD,
)
PACKED = pack({D: (1.0,), E: (2.0,)}, owner_list([D, E]))
USE = MinuteUse(at=1_700_000_040, servers={'s1': ServerUse(seconds=60, core_ms=1000)})
CONFIRMATION = Confirmation(
    host='a',
    engine='engine1',
    period=7,
    servers=('s1', 's2'),
    heaviness={D: 0.5},
    enforced=('cpu',),
    use=USE,
    since=(1_700_000_000, 1_700_000_001),
)
MESSAGES = (
    report('a', {D: (1.0,), 'guest': (0.25,)}, quotas={D: (4, 8192)}),
    Departure(host='a', incarnation=1, sequence=2),
    UPDATE,
    replace(UPDATE, owners=PACKED, full=False),
    REPLY,
    AllocationMessage(
        engine='engine1',
        host='a',
        period=7,
        expires=1.7e9,
        allocations=(Allocation(server_id='s1', cores=0.5, memory_mib=64.0),),
    ),
    CONFIRMATION,
)
FRAMES = tuple(wire.encode(one) for one in MESSAGES for wire in (PlainFormat(), CompactFormat()))

KEY = bytes(range(32))
RING = KeyRing(own=KeyPair(public=b'p' * 32, secret=b's' * 32), peers={'b': (KEY,)})
SEPARATOR = b'|'
ZAP = (b'', b'1.0', b'7', b'nova-market', b'10.0.0.2', b'', b'CURVE', KEY)


def frame(data):
    """What is decoded is also used: no message makes an aggregator or a host raise."""
    message = decode(data)
    if isinstance(message, StateUpdate):
        one = Aggregator('x', message.metric, 30.0, message.epoch)
        one.receive(message, 0.0)
        one.receive(replace(message, sequence=message.sequence + 1), 1.0)
    elif isinstance(message, HostReport):
        table = ReportTable(message.metric, 30.0)
        table.put(message, 0.0)
        table.totals(1.0)
    elif isinstance(message, TotalsReply):
        client = AggregatorClient('a', 'greediness', 30.0, 'e')
        client.updates(report('a', {D: (1.0,)}), ('x',), 0.0)
        client.receive(message, 0.0)
        client.totals(0.0)


def cast(data):
    """What oslo.messaging hands over: JSON, whose values may be anything."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(given, dict):
        decode(frame_in(given.get('text'), given.get('frame')))


def admission(data):
    """A request whether a key is admitted, part by part."""
    answer = judge(data.split(SEPARATOR), RING)
    assert (answer.host == 'b') == (answer.frames[3] == b'200')


def usage(data):
    """A confirmation with what servers have used."""
    message = decode(data)
    if not isinstance(message, Confirmation) or message.use is None:
        return
    waiting = WaitingReports()
    waiting.take(message.host, message.use, ('s1',))
    known = {'s1': ServerSize(project_id='red', vcpus=1, memory_mib=1, hosts=frozenset('a'))}
    for host, use in waiting.due(2.0**53, 20, 120):
        attributed(host, use, known)


TARGETS = {
    'nova_market.adapters.transport.wire_format.decode': {
        'decode': frame,
        'seeds': FRAMES,
        'errors': (MalformedReport,),
    },
    'nova_market.adapters.transport.oslo.frame_in': {
        'decode': cast,
        'seeds': (
            json.dumps({'text': FRAMES[0].decode()}).encode(),
            json.dumps({'frame': base64.b64encode(FRAMES[1]).decode()}).encode(),
        ),
        'errors': (MalformedReport,),
    },
    'nova_market.adapters.transport.zmq.listener.judge': {
        'decode': admission,
        'seeds': (SEPARATOR.join(ZAP), SEPARATOR.join((*ZAP[:6], b'NULL'))),
        'errors': (),
    },
    'nova_market.core.usage.history.attributed': {
        'decode': usage,
        'seeds': tuple(wire.encode(CONFIRMATION) for wire in (PlainFormat(), CompactFormat())),
        'errors': (MalformedReport,),
    },
}
