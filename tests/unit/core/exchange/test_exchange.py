# SPDX-License-Identifier: Apache-2.0
"""Reports on the wire, in the book, and back as echo."""

import json

import pytest

from nova_market.adapters.transport.wire_format import MAX_FRAME, PlainFormat, decode
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import Departure
from nova_market.core.exchange.report_table import (
    FOREIGN_NAME,
    MAX_PENDING,
    OTHER_METRIC,
    STALE,
    TOO_MANY_HOSTS,
    LoopbackMonitor,
    ReportTable,
)
from nova_market.core.exchange.totals import add_up
from nova_market.core.exchange.validation import MAX_AMOUNT, MAX_OWNERS
from nova_market.errors import MalformedReport, OversizedReport
from tests.support.host_builders import report

TTL = 30.0

encode = PlainFormat().encode


def departure(host='a', incarnation=1, sequence=2):
    return Departure(host=host, incarnation=incarnation, sequence=sequence)


def test_sums_add_up_in_the_same_order_everywhere():
    """Floating point sums depend on the order, so two hosts must not add in that of arrival."""
    reports = [report(h, {'d': (x,)}) for h, x in (('a', 1e16), ('b', -1e16), ('c', 1.0))]
    there = add_up(reports, 'greediness').sums
    back = add_up(reversed(reports), 'greediness').sums
    assert there.tolist() == back.tolist() == [[1.0]]


def test_partial_sums_of_different_width():
    """During an upgrade a host may send more numbers than another: what is missing counts as zero."""
    totals = add_up([report('a', {'d': (1.0, 2.0)}), report('b', {'d': (1.0,)})], 'greediness')
    assert totals.sums.tolist() == [[2.0, 2.0]]


def test_nobody_has_spoken():
    """The totals of no reports have their shapes."""
    totals = add_up([], 'greediness')
    assert totals.sums.shape == (0, 1)
    assert totals.supply.tolist() == [0.0] * 6


def test_a_frame_carries_a_report_and_a_departure():
    one = report('a', {'d': (0.1, -2.0)}, quotas={'d': (-1, 2**53)}, incarnation=2**62)
    assert decode(encode(one)) == one
    assert decode(encode(departure())) == departure()


def test_a_report_of_a_later_version_is_read():
    """Unknown keys are ignored, so that hosts can be upgraded one by one."""
    assert from_values(to_values(report('a')) | {'v': 2, 'news': [1]}) == report('a')


BROKEN = [
    ('v', None),
    ('v', 0),
    ('v', True),
    ('v', '1'),
    ('host', ''),
    ('host', 'a' * 256),
    ('host', 'a\nb'),
    ('host', '\ud800'),
    ('host', ['a']),
    ('incarnation', -1),
    ('incarnation', 2**63),
    ('incarnation', 1.5),
    ('sequence', True),
    ('sequence', None),
    ('metric', 7),
    ('supply', [1.0] * 5),
    ('supply', [1.0] * 7),
    ('supply', [-1.0] * 6),
    ('supply', [float('nan')] * 6),
    ('supply', [float('inf')] * 6),
    ('supply', [10**400] * 6),
    ('load', 'abcdef'),
    ('load', [True] * 6),
    ('virtual', {'cpu': 1}),
    ('owners', [['d', [1.0]]]),
    ('owners', {'d': 1.0}),
    ('owners', {'d': []}),
    ('owners', {'d': [1.0] * 7}),
    ('owners', {'d': [2 * MAX_AMOUNT]}),
    ('owners', {'d': ['1']}),
    ('owners', {'': [1.0]}),
    ('owners', {'d': [1.0], 'e': [1.0, 2.0]}),
    ('owners', {7: [1.0]}),
    ('owners', {str(n): [1.0] for n in range(MAX_OWNERS + 1)}),
    ('quotas', {'d': [1]}),
    ('quotas', {'d': [1, -2]}),
    ('quotas', {'d': [1.5, 1]}),
    ('quotas', {'d': [True, 1]}),
    ('quotas', {'d': [1, 2**53 + 1]}),
    ('quotas', None),
]


@pytest.mark.parametrize(('key', 'value'), BROKEN, ids=lambda v: f'{v!s:.20}')
def test_a_broken_report_is_refused_by_the_field_it_breaks(key, value):
    """And the message is short, whatever was sent."""
    with pytest.raises(MalformedReport, match=f'^{key}') as caught:
        from_values(to_values(report('a', {'d': (1.0,)})) | {key: value})
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    'value', [nested(100_000), 10**10_000, 'x' * 10**6], ids=['deep', 'huge', 'long']
)
@pytest.mark.parametrize('key', ['v', 'host', 'incarnation', 'supply', 'quotas'])
def test_refusing_never_fails(key, value):
    """repr() of such a value would raise something else, or take a while."""
    with pytest.raises(MalformedReport):
        from_values(to_values(report('a')) | {key: value})
    with pytest.raises(MalformedReport):
        from_values(
            to_values(report('a')) | {'owners': {'d': [value]}, 'quotas': {'d': [1, value]}}
        )


@pytest.mark.parametrize(
    'text',
    [
        '{}',
        '',
        '{',
        '[]',
        '7',
        'null',
        'NaN',
        '[' * 100_000,
        '{"a":' * 100_000,
        '9' * 10_000,
        '{"v":1,"gone":true}',
        '{"v":0,"gone":true,"host":"a","incarnation":1,"sequence":1}',
    ],
    ids=lambda v: f'{v!s:.20}',
)
def test_text_that_is_no_message(text):
    with pytest.raises(MalformedReport):
        decode(text.encode())


def test_a_long_text_is_not_even_parsed():
    """The limit is on the text: parsing is what would cost memory."""
    good = encode(report('a'))
    assert decode(good + b' ' * (MAX_FRAME - len(good)))
    with pytest.raises(OversizedReport):
        decode(good + b' ' * (MAX_FRAME - len(good) + 1))


def test_the_largest_report_fits():
    """As many owners as are allowed, with a full set of numbers and a quota each."""
    owners = {f'{n:032x}': (-1.2345678901234567e23,) * 6 for n in range(MAX_OWNERS)}
    quotas = dict.fromkeys(owners, (2**53, 2**53))
    assert decode(encode(report('a', owners, quotas=quotas))).quotas == quotas


def test_a_report_that_nobody_would_take_is_not_sent():
    with pytest.raises(MalformedReport, match='own message'):
        encode(report('a', {'d': (float('nan'),)}))
    with pytest.raises(MalformedReport, match='own message'):
        encode(report('a', {'d' * 10_000 + str(n): (1.0,) for n in range(500)}))


def test_messages_have_no_blanks():
    """They are sent by every host to every host."""
    assert b' ' not in encode(report('a', {'d': (1.0,)}))
    assert json.loads(encode(report('a')))['host'] == 'a'


def book(**changes):
    return ReportTable(**({'metric': 'greediness', 'ttl': TTL} | changes))


def sequence_of(a_book, now):
    totals = a_book.totals(now)
    return totals.sums[0, 0] if totals.owners else None


@pytest.mark.parametrize(
    ('second', 'kept'),
    [((1, 2), True), ((1, 1), False), ((1, 0), False), ((2, 0), True), ((0, 9), False)],
)
def test_versions_order_by_incarnation_then_sequence(second, kept):
    a_book = book()
    a_book.put(report('a', {'d': (1.0,)}), 0.0)
    incarnation, sequence = second
    late = report('a', {'d': (2.0,)}, incarnation=incarnation, sequence=sequence)
    assert a_book.put(late, 1.0) == ('' if kept else STALE)
    assert sequence_of(a_book, 1.0) == (2.0 if kept else 1.0)


def test_a_report_dies_after_its_time_and_no_sooner():
    a_book = book()
    a_book.put(report('a', {'d': (1.0,)}), 100.0)
    assert a_book.totals(129.999).hosts == 1
    assert a_book.totals(130.0).hosts == 0


def test_a_refused_report_does_not_prolong_a_life():
    """Or else a replayed message would keep a dead host alive."""
    a_book = book()
    a_book.put(report('a'), 0.0)
    assert a_book.put(report('a'), 29.0) == STALE
    assert a_book.totals(31.0).hosts == 0


def test_an_older_incarnation_is_taken_from_a_dead_host():
    """Also when nobody has asked for totals, and so cleaned up, since."""
    a_book = book()
    a_book.put(report('a', incarnation=9), 0.0)
    assert a_book.put(report('a', incarnation=3), 29.0) == STALE
    assert a_book.put(report('a', incarnation=3), 30.0) == ''


def test_a_departed_host_is_out_and_its_late_reports_stay_out():
    a_book = book()
    a_book.put(report('a', sequence=1), 0.0)
    assert a_book.leave(departure(sequence=2), 1.0) == ''
    assert a_book.totals(1.0).hosts == 0
    assert a_book.put(report('a', sequence=1), 2.0) == STALE
    assert a_book.put(report('a', incarnation=2), 3.0) == ''
    assert a_book.totals(3.0).hosts == 1


def test_a_departure_of_an_earlier_life_is_too_late():
    a_book = book()
    a_book.put(report('a', incarnation=5), 0.0)
    assert a_book.leave(departure(incarnation=4, sequence=99), 1.0) == STALE
    assert a_book.totals(1.0).hosts == 1


def test_only_one_metric_is_kept():
    a_book = book()
    assert a_book.put(report('a', metric='asset'), 0.0) == OTHER_METRIC
    assert a_book.totals(0.0).hosts == 0


def test_invented_names_fill_no_memory():
    """Known hosts go on; places become free as rows die."""
    a_book = book(limit=2)
    assert [a_book.put(report(h), 0.0) for h in 'abc'] == ['', '', TOO_MANY_HOSTS]
    assert a_book.put(report('a', sequence=2), 1.0) == ''
    assert a_book.leave(departure(host='x'), 1.0) == TOO_MANY_HOSTS
    a_book.totals(30.5)
    assert a_book.put(report('c'), 30.5) == ''


def test_a_host_replaces_its_own_report_whatever_its_clock_says():
    a_book = book()
    a_book.replace(report('a', {'d': (1.0,)}, incarnation=9), 0.0)
    a_book.replace(report('a', {'d': (2.0,)}, incarnation=1), 1.0)
    assert sequence_of(a_book, 1.0) == 2.0


def test_a_transport_that_carried_nothing_is_out_of_order():
    """From the first second on, and ever more."""
    echo = LoopbackMonitor(100.0, TTL)
    assert echo.age(100.0) > TTL
    echo.publish((1, 1), 100.0)
    assert echo.age(500.0) > 400.0


def test_age_counts_from_when_the_report_was_published():
    """A long queue delivers, and what it delivers is old."""
    echo = LoopbackMonitor(0.0, TTL)
    echo.publish((1, 1), 10.0)
    echo.publish((1, 2), 20.0)
    assert echo.receive((1, 1)) == ''
    assert echo.age(50.0) == 40.0
    assert echo.receive((1, 2)) == ''
    assert echo.age(50.0) == 30.0


def test_an_echo_out_of_order_or_twice_is_stale():
    echo = LoopbackMonitor(0.0, TTL)
    for number in (1, 2):
        echo.publish((1, number), 10.0 * number)
    assert [echo.receive((1, n)) for n in (2, 1, 2)] == ['', STALE, STALE]
    assert echo.age(20.0) == 0.0


@pytest.mark.parametrize(
    ('version', 'reply'), [((1, 6), FOREIGN_NAME), ((2, 0), FOREIGN_NAME), ((0, 99), STALE)]
)
def test_somebody_speaks_in_our_name(version, reply):
    """What we have not sent yet is foreign; an earlier life of this host may still be heard."""
    echo = LoopbackMonitor(0.0, TTL)
    echo.publish((1, 5), 0.0)
    assert echo.receive(version) == reply
    assert echo.age(0.0) > TTL


def test_reports_under_way_are_bounded():
    """A broker that is down for days takes no memory; the newest still count."""
    echo = LoopbackMonitor(0.0, TTL)
    for number in range(3 * MAX_PENDING):
        echo.publish((1, number), float(number))
    assert echo.receive((1, 0)) == STALE
    assert echo.receive((1, 3 * MAX_PENDING - 1)) == ''


def test_owners_that_a_peer_invents_are_bounded(monkeypatch):
    """All reports together hold so many owners; a host that leaves makes room."""
    monkeypatch.setattr('nova_market.core.exchange.report_table.MAX_OWNERS_KEPT', 10)
    kept = book()
    many = {f'o{i}': (1.0,) for i in range(6)}
    assert kept.put(report('a', owners=many), now=0.0) == ''
    assert kept.put(report('b', owners=many), now=0.0) == 'too_many_owners'
    assert kept.put(report('a', owners=many, sequence=2), now=0.0) == '', 'its own place is free'
    assert kept.leave(Departure(host='a', incarnation=1, sequence=3), now=0.0) == ''
    assert kept.put(report('b', owners=many), now=0.0) == ''
