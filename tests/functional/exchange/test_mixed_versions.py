# SPDX-License-Identifier: Apache-2.0
"""Hosts of the version before among hosts of today, as during a rolling upgrade, in both directions.

tests/data/exchange-frames.json holds every frame of three conversations between hosts of commit 5bf6b33, in
both wire formats; tests/support/exchange/conversation.py says how it was recorded. Each participant is
replaced by one of today's code in turn: it must understand what the others sent, and send the values that it
sent then, so that a host of that version understands it.
"""

import base64
import json
from pathlib import Path

import msgspec
import pytest

from tests.support.exchange.conversation import ENGINE, TODAY, Replay, code, names_in
from tests.support.exchange.exchanges import hosts_of

pytestmark = pytest.mark.functional

RECORDS = json.loads((Path(__file__).parents[2] / 'data' / 'exchange-frames.json').read_text())

ADDED = {'since'}


def values(frame):
    """What is in a frame of either format; msgpack extensions (packed sums) stay bytes."""
    return json.loads(frame) if frame.startswith(b'{') else msgspec.msgpack.decode(frame)


def replay(scene, wire, name):
    made = Replay(code(TODAY), scene, wire, name, RECORDS[scene][wire])
    made.run()
    return made


@pytest.mark.parametrize('wire', ['plain', 'compact'])
@pytest.mark.parametrize(
    ('scene', 'name'), [(scene, name) for scene in sorted(RECORDS) for name in names_in(scene)]
)
def test_todays_code_in_the_place_of_an_earlier_host(scene, name, wire):
    """It drops nothing of what it receives, and sends what the earlier host sent, in as many bytes.

    A message may have keys that the earlier version does not know, and ignores.
    """
    made = replay(scene, wire, name)
    assert made.sent
    for sent, recorded in made.sent:
        today, earlier = values(sent), values(recorded)
        added = today.keys() - earlier.keys()
        assert added <= ADDED and {name: today[name] for name in earlier} == earlier
        assert added or len(sent) == len(recorded)
    assert made.participant.subject.dropped == {}


def test_the_record_holds_every_kind_of_message():
    """So that the test above leaves none out: every kind, and every key that any message may have."""
    found = {}
    for scenes in RECORDS.values():
        for event in scenes['plain']:
            message = values(base64.b64decode(event['frame']))
            found.setdefault(message['kind'], set()).update(message)
    head = {'v', 'kind', 'host', 'incarnation', 'sequence'}
    vectors = {'supply', 'load', 'virtual'}
    both = {'epoch', 'roster', 'whole', 'owners', 'quotas', 'reads_numbers'}
    update = {'metric', 'heard', 'left', 'again', 'reads_quotas'}
    reply = {'to', 'complete', 'asked', 'resync', 'hosts', 'owner_count', 'tally'}
    assert found == {
        'state': head | both | vectors | update,
        'answer': head | both | vectors | reply,
        'report': head | vectors | {'metric', 'owners', 'quotas', 'reads_quotas'},
        'gone': head | {'gone'},
        'market.allocate': {'v', 'kind', 'engine', 'host', 'period', 'expires', 'servers'},
        'market.applied': {'v', 'kind', 'engine', 'host', 'period', 'servers', 'heaviness'},
    }
    compact = [values(base64.b64decode(e['frame'])) for e in RECORDS['aggregate']['compact']]
    packed = {m['kind'] for m in compact if isinstance(m.get('owners'), msgspec.msgpack.Ext)}
    assert packed == {'state', 'answer'}, 'packed sums in both directions'


def test_sums_of_earlier_hosts_count_today():
    """A host adds what an earlier aggregator replies; the engine takes an earlier host's confirmation."""
    totals = replay('aggregate', 'compact', 'b').participant.subject.totals()
    assert dict(zip(totals.owners, totals.sums.tolist(), strict=True)) == {
        'd' * 32: [5.5, 1.0],
        'f' * 32: [4.5, 2.0],
    }
    engine = replay('market', 'compact', ENGINE).participant.subject
    assert hosts_of(engine, 7) == {'s1': 'a', 's2': 'a'}
    heavy = {'d' * 32: 0.5, 'guest': -0.25}
    assert engine.heaviness({'a': set(heavy)}) == heavy
