# SPDX-License-Identifier: Apache-2.0
"""The wire format on anything, and the book under any order of messages."""

import contextlib
import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nova_market.adapters.transport.wire_format import FORMATS, decode
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import Departure, HostReport
from nova_market.core.exchange.report_table import ReportTable
from nova_market.core.exchange.totals import add_up
from nova_market.core.exchange.validation import MAX_AMOUNT, MAX_QUOTA
from nova_market.core.resource import RESOURCES
from nova_market.errors import MalformedReport
from tests.support.exchange.frames import check_frames
from tests.support.host_builders import report

names = st.text(min_size=1, max_size=20).filter(str.isprintable)
amounts = st.floats(-MAX_AMOUNT, MAX_AMOUNT)
resources = st.tuples(*[st.floats(0.0, MAX_AMOUNT)] * len(RESOURCES))
whole_numbers = st.integers(0, 2**63 - 1)
quota = st.integers(-1, MAX_QUOTA)


@st.composite
def reports(draw):
    width = draw(st.integers(1, len(RESOURCES)))
    return HostReport(
        host=draw(names),
        incarnation=draw(whole_numbers),
        sequence=draw(whole_numbers),
        metric=draw(names),
        supply=draw(resources),
        load=draw(resources),
        virtual=draw(resources),
        owners=draw(st.dictionaries(names, st.tuples(*[amounts] * width), max_size=5)),
        quotas=draw(st.dictionaries(names, st.tuples(quota, quota), max_size=5)),
    )


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=10)
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=10), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(reports())
def test_a_report_survives_the_wire(one):
    """To the last bit, as values and as a frame of either format."""
    assert from_values(to_values(one)) == one
    for wire in FORMATS.values():
        assert decode(wire().encode(one)) == one


@given(names, whole_numbers, whole_numbers)
def test_a_departure_survives_the_wire(host, incarnation, sequence):
    message = Departure(host=host, incarnation=incarnation, sequence=sequence)
    for wire in FORMATS.values():
        assert decode(wire().encode(message)) == message


@given(anything)
def test_anything_is_a_report_or_malformed(message):
    """Nothing that a peer sends raises anything else."""
    with contextlib.suppress(MalformedReport):
        from_values(message)


@given(reports(), st.sampled_from(sorted(to_values(report('a')))), anything)
def test_a_report_with_one_wild_field(one, key, wild):
    """Taken only if every number that counts is finite and bounded."""
    values = to_values(one) | {key: wild}
    check_frames(values)
    try:
        taken = from_values(values)
    except MalformedReport:
        return
    vectors = [taken.supply, taken.load, taken.virtual, *taken.owners.values()]
    assert all(math.isfinite(n) and abs(n) <= MAX_AMOUNT for v in vectors for n in v)
    totals = add_up([taken], taken.metric)
    assert math.isfinite(float(totals.sums.sum())) and math.isfinite(float(totals.supply.sum()))


@given(st.text())
@example('[' * 100_000)
@example('{"v":1e400}')
def test_any_text_is_a_message_or_malformed(text):
    try:
        decode(text.encode(errors='surrogatepass'))
    except MalformedReport:
        return
    json.loads(text)


@given(
    st.lists(
        st.tuples(st.sampled_from('ab'), st.integers(0, 3), st.integers(0, 3)), max_size=20
    ).flatmap(lambda items: st.tuples(st.just(items), st.permutations(items)))
)
def test_the_newest_wins_in_any_order_of_arrival(orders):
    """Delivered in any order within their life, the same totals come out: no FIFO is needed."""
    there, back = orders
    outcomes = []
    for order in (there, back):
        book = ReportTable('greediness', 30.0)
        for host, incarnation, sequence in order:
            value = incarnation * 10.0 + sequence
            book.put(
                report(host, {host: (value,)}, incarnation=incarnation, sequence=sequence), 0.0
            )
        totals = book.totals(0.0)
        outcomes.append((totals.owners, totals.sums.tolist()))
    assert outcomes[0] == outcomes[1]
    newest = {h: max(10.0 * i + s for g, i, s in there if g == h) for h, _, _ in there}
    assert outcomes[0] == (tuple(sorted(newest)), [[newest[h]] for h in sorted(newest)] or [])


@given(st.lists(st.tuples(st.sampled_from('abc'), st.floats(0.0, 100.0)), max_size=20))
def test_hosts_counted_are_those_heard_of_lately(acked):
    """Exactly the hosts with a report younger than the time to live count."""
    book = ReportTable('greediness', 30.0)
    last = {}
    for number, (host, now) in enumerate(sorted(acked, key=lambda item: item[1])):
        book.put(report(host, sequence=number + 1), now)
        last[host] = now
    assert book.totals(100.0).hosts == sum(100.0 - when < 30.0 for when in last.values())


@pytest.mark.parametrize('field', ['supply', 'load', 'virtual'])
@given(number=st.one_of(st.just(math.nan), st.just(math.inf), st.floats(max_value=-1e-300)))
def test_no_vector_takes_what_is_no_amount(field, number):
    with pytest.raises(MalformedReport):
        from_values(to_values(report('a')) | {field: [number] * len(RESOURCES)})
