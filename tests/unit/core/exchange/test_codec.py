# SPDX-License-Identifier: Apache-2.0
"""Messages as plain values and back, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from nova_market.adapters.transport.wire_format import CompactFormat, PlainFormat, decode
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import (
    CloudPart,
    Departure,
    StateUpdate,
    TotalsReply,
    Vectors,
)
from nova_market.core.exchange.packed_sums import PackedSums, owner_list, pack
from nova_market.core.exchange.quota_tally import QuotaTally
from nova_market.core.exchange.validation import MAX_AMOUNT, MAX_OWNERS, MAX_SUM
from nova_market.errors import MalformedReport
from tests.support.host_builders import report

VECTORS = Vectors(supply=(1.0,) * 6, load=(0.5,) * 6, virtual=(2.0,) * 6)
HEAD = {'incarnation': 1, 'sequence': 2, 'epoch': 'e', 'aggregator_set': 'r'}

UPDATE = StateUpdate(
    host='a',
    metric='greediness',
    full=True,
    acked=0,
    owners={'d': (1.0, -2.5)},
    gone=('e',),
    vectors=VECTORS,
    quotas={'d': (-1, 2**53)},
    reads_quotas=True,
    **HEAD,
)
REPLY = TotalsReply(
    host='x',
    to='a',
    full=True,
    complete=True,
    owners={'d': (2 * MAX_AMOUNT,)},
    quotas={'d': (1, 2)},
    cloud=CloudPart(
        hosts=3,
        owner_count=7,
        vectors=VECTORS,
        tally=QuotaTally(known=(1, 2), total=(3, 2**60), largest=(3, 2**53)),
    ),
    asked=('f', 'g'),
    resync=True,
    **HEAD,
)
DEPARTURE = Departure(host='a', incarnation=1, sequence=2)


@pytest.mark.parametrize(
    'message',
    [
        UPDATE,
        REPLY,
        DEPARTURE,
        report('a', {'d': (1.0,)}, reads_quotas=True),
        StateUpdate(host='a', metric='m', **HEAD),
        StateUpdate(host='a', metric='m', quotas={}, **HEAD),
        TotalsReply(host='x', to='a', **HEAD),
    ],
)
def test_a_message_survives_the_wire(message):
    """Also as JSON, where tuples become lists; an empty map of quotas is not the same as none."""
    assert from_values(to_values(message)) == message
    assert from_values(json.loads(json.dumps(to_values(message)))) == message


def test_what_says_nothing_takes_no_bytes():
    """A heartbeat holds its version and the names, nothing else."""
    assert set(to_values(StateUpdate(host='a', metric='m', **HEAD))) == {
        *('v', 'kind', 'host', 'metric', 'owners', 'reads_numbers', 'roster'),
        *('incarnation', 'sequence', 'epoch'),
    }


def test_hosts_of_before_there_were_kinds_are_understood():
    old = to_values(report('a', {'d': (1.0,)}))
    del old['kind']
    assert from_values(old) == report('a', {'d': (1.0,)})
    gone = to_values(DEPARTURE)
    assert gone['gone'] is True
    del gone['kind']
    assert from_values(gone) == DEPARTURE


@pytest.mark.parametrize('message', [UPDATE, REPLY, DEPARTURE], ids=lambda w: type(w).__name__)
def test_a_later_version_is_read_as_far_as_it_can_be(message):
    assert from_values(to_values(message) | {'v': 3, 'news': [1]}) == message


BROKEN_HEAD = [
    ('v', 0),
    ('host', ''),
    ('incarnation', -1),
    ('sequence', 1.0),
    ('epoch', None),
    ('roster', 'a\nb'),
    ('whole', 1),
    ('owners', {'d': [float('nan')]}),
    ('owners', {'d': [1.0], 'e': [1.0, 2.0]}),
    ('quotas', {'d': [1]}),
    ('supply', [1.0] * 5),
    ('load', [-1.0] * 6),
    ('virtual', None),
]
BROKEN_STATEMENT = [
    ('metric', ''),
    ('heard', -1),
    ('heard', None),
    ('left', 'de'),
    ('left', ['']),
    ('left', ['d'] * (MAX_OWNERS + 1)),
    ('reads_quotas', 'yes'),
    ('owners', {'d': [2 * MAX_AMOUNT]}),
    ('supply', [2 * MAX_AMOUNT] * 6),
]
BROKEN_ANSWER = [
    ('to', 7),
    ('complete', None),
    ('resync', 0),
    ('asked', {'d': 1}),
    ('asked', [1]),
    ('hosts', -1),
    ('owner_count', True),
    ('tally', [1] * 5),
    ('tally', [1, 1, 1, 1, 1, -1]),
    ('tally', [1, 1, 1, 1, 1, 2**64]),
    ('tally', None),
    ('owners', {'d': [2 * MAX_SUM]}),
]


@pytest.mark.parametrize(
    ('message', 'key', 'value'),
    [(UPDATE, k, v) for k, v in BROKEN_HEAD + BROKEN_STATEMENT]
    + [(REPLY, k, v) for k, v in BROKEN_HEAD + BROKEN_ANSWER],
    ids=lambda v: f'{v!s:.12}',
)
def test_a_broken_message_is_refused_by_the_field_it_breaks(message, key, value):
    with pytest.raises(MalformedReport, match=f'^{key}') as caught:
        from_values(to_values(message) | {key: value})
    assert len(str(caught.value)) < 200 and str(caught.value).isprintable()


@pytest.mark.parametrize('value', [None, [], 'text', 7, {}, {'kind': 'state'}, {'kind': 'answer'}])
def test_what_is_no_message(value):
    with pytest.raises(MalformedReport):
        from_values(value)


@pytest.mark.parametrize('kind', ['', 'rumour', None, 7, ['state']])
def test_an_unknown_kind_is_named(kind):
    with pytest.raises(MalformedReport, match=r'^kind'):
        from_values(to_values(UPDATE) | {'kind': kind})


@pytest.mark.parametrize('message', [UPDATE, REPLY], ids=lambda w: type(w).__name__)
def test_who_does_not_say_that_it_reads_numbers_does_not(message):
    """An earlier version is not sent a table."""
    old = replace(message, reads_numbers=False)
    assert 'reads_numbers' not in to_values(old)
    assert from_values(to_values(old)) == old
    assert from_values(to_values(message)).reads_numbers


KNOWN = owner_list('def')


def test_packed_sums_stay_packed():
    """In compact frames; plain ones have the names of the owners."""
    sums = pack(dict.fromkeys('fd', (1.0, -2.0)), KNOWN)
    update = replace(UPDATE, owners=sums)
    taken = decode(CompactFormat().encode(update)).owners
    assert isinstance(taken, PackedSums)
    assert taken.refers_to(KNOWN) and taken == sums
    assert decode(PlainFormat().encode(update)).owners == dict(sums)


@pytest.mark.parametrize(
    'numbers',
    [
        np.zeros((0, 1)),
        np.zeros((1, 0)),
        np.zeros((1, 7)),
        np.zeros((MAX_OWNERS + 1, 1)),
        np.array([[1.0], [np.nan]]),
        np.array([[-np.inf], [1.0]]),
        np.array([[1.0], [-2 * MAX_AMOUNT]]),
    ],
    ids=['empty', 'narrow', 'wide', 'long', 'NaN', 'infinite', 'huge'],
)
def test_a_broken_table_is_refused(numbers):
    """Empty, of the wrong width, too long, with numbers that are none or too large."""
    table = PackedSums(KNOWN.digest, np.arange(len(numbers)), numbers)
    with pytest.raises(MalformedReport, match=r'^owners'):
        decode(CompactFormat().encode(replace(UPDATE, owners=table)))


@pytest.mark.parametrize('places', [[0, 0, 1], [1, 0, 2], [0, 2, 2], [2, 65535, 0]])
def test_places_of_a_table_ascend(places):
    """No owner is there twice; what sums up relies on that, and on the last place being the highest."""
    table = PackedSums(KNOWN.digest, np.array(places, dtype='<u2'), np.ones((3, 1)))
    with pytest.raises(MalformedReport, match=r'^owners: the places in packed sums do not ascend'):
        decode(CompactFormat().encode(replace(UPDATE, owners=table)))


def test_a_report_to_all_has_no_table():
    """Its readers do not know which list it means."""
    table = pack(dict.fromkeys('def', (1.0,)), KNOWN)
    with pytest.raises(MalformedReport, match=r'^owners'):
        decode(CompactFormat().encode(replace(report('a'), owners=table)))


def test_a_table_has_names_for_who_knows_its_list():
    table = PackedSums(KNOWN.digest, np.array([0, 2]), np.array([[1.0], [2.0]]))
    assert not table.refers_to(owner_list('de'))
    assert table.refers_to(KNOWN)
    assert table == {'d': (1.0,), 'f': (2.0,)}
    assert not PackedSums(KNOWN.digest, np.array([3]), np.ones((1, 1))).refers_to(KNOWN)
    wild = PackedSums(KNOWN.digest, np.array([0, 1, 7]), np.ones((3, 1)))
    assert not wild.refers_to(KNOWN), 'as many as there are, and not those'
    assert pack(dict.fromkeys('def', (1.0,)), KNOWN).refers_to(KNOWN)
