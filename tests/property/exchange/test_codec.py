# SPDX-License-Identifier: Apache-2.0
"""Messages on anything, and aggregators under any loss, repetition and order of messages."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.adapters.transport.wire_format import CompactFormat
from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import AggregatorClient
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import CloudPart, StateUpdate, TotalsReply, Vectors
from nova_market.core.exchange.packed_sums import PackedSums, owner_list
from nova_market.core.exchange.quota_tally import QuotaTally, tally
from nova_market.core.exchange.totals import add_up
from nova_market.core.exchange.validation import MAX_SUM
from nova_market.errors import MalformedReport
from tests.property.exchange.test_exchange import (
    amounts,
    anything,
    names,
    quota,
    resources,
    whole_numbers,
)
from tests.support.exchange.frames import check_frames
from tests.support.host_builders import report

quotas = st.dictionaries(names, st.tuples(quota, quota), max_size=4)
count = st.integers(0, 2**63)
pair = st.tuples(count, count)
head = {
    'host': names,
    'incarnation': whole_numbers,
    'sequence': whole_numbers,
    'epoch': names,
    'aggregator_set': names,
    'full': st.booleans(),
}
KNOWN = owner_list('def')
ROWS = {width: dict.fromkeys('def', (1.0,) * width) for width in (1, 2, 3)}
vectors = st.builds(Vectors, supply=resources, load=resources, virtual=resources)


def sums(amount):
    return st.integers(1, 6).flatmap(
        lambda width: st.dictionaries(names, st.tuples(*[amount] * width), max_size=4)
    )


updates = st.builds(
    StateUpdate,
    **head,
    metric=names,
    acked=st.none() | whole_numbers,
    owners=sums(amounts),
    gone=st.lists(names, max_size=3).map(tuple),
    vectors=st.none() | vectors,
    quotas=st.none() | quotas,
    reads_quotas=st.booleans(),
    retransmitted=st.booleans(),
)
replies = st.builds(
    TotalsReply,
    **head,
    to=names,
    complete=st.booleans(),
    owners=sums(st.floats(-MAX_SUM, MAX_SUM)),
    quotas=quotas,
    cloud=st.none()
    | st.builds(
        CloudPart,
        hosts=whole_numbers,
        owner_count=whole_numbers,
        vectors=vectors,
        tally=st.builds(QuotaTally, known=pair, total=pair, largest=pair),
    ),
    asked=st.lists(names, max_size=3).map(tuple),
    resync=st.booleans(),
)


@given(updates | replies)
def test_a_message_survives_the_wire(message):
    assert from_values(to_values(message)) == message


@given(st.sampled_from(['state', 'answer', 'gone', 'report']), anything)
def test_anything_is_a_message_or_malformed(kind, message):
    """Nothing that a peer sends raises anything else."""
    with contextlib.suppress(MalformedReport):
        from_values(message)
    if isinstance(message, dict):
        with contextlib.suppress(MalformedReport):
            from_values(message | {'kind': kind})
        check_frames(message | {'kind': kind})


@given(updates | replies, st.data())
def test_a_message_with_one_wild_field(message, data):
    """Taken only if an aggregator or a host can use it: every sum stays a finite number."""
    values = to_values(message)
    key = data.draw(st.sampled_from(sorted(values)))
    values |= {key: data.draw(anything)}
    check_frames(values)
    try:
        taken = from_values(values)
    except MalformedReport:
        return
    if isinstance(taken, StateUpdate):
        one = Aggregator('x', taken.metric, 30.0, taken.epoch)
        reply = one.receive(taken, 0.0)
        if isinstance(reply, TotalsReply):
            assert from_values(to_values(reply)) == reply
    elif isinstance(taken, TotalsReply):
        assert all(math.isfinite(n) for total in taken.owners.values() for n in total)


@st.composite
def tables(draw):
    """Of the list d, e, f or another one; with any places and numbers, some of them good."""
    place = st.integers(0, 4) | st.just(65535)
    wild = st.lists(place, min_size=3, max_size=3) | st.lists(place, max_size=5)
    places = draw(st.just([0, 1, 2]) | wild | wild.map(lambda some: sorted(set(some))))
    width = draw(st.sampled_from([1, 1, 2, 3, 0, 7]))
    size = width * len(places)
    number = draw(st.sampled_from([st.floats(0.0, 1.0), st.floats()]))
    cells = draw(st.lists(number, min_size=size, max_size=size))
    digest = draw(st.sampled_from([KNOWN.digest, KNOWN.digest, owner_list('de').digest]))
    rows = np.array(cells, dtype=float).reshape(len(places), width)
    return PackedSums(digest, np.array(places, dtype='<u2'), rows)


@given(st.lists(st.tuples(tables(), st.booleans()), min_size=1, max_size=4), st.integers(1, 3))
def test_a_wild_table_is_dropped_or_asked_for_by_name(sent, widest):
    """Whatever comes in a frame, nobody is told of owners or sums that are none."""
    one = Aggregator('x', 'm', 30.0, 'e')
    more = {'incarnation': 1, 'metric': 'm', 'epoch': 'e', 'aggregator_set': 'r'}
    one.receive(StateUpdate(host='b', sequence=1, full=True, owners=ROWS[1], **more), 0.0)
    one.receive(StateUpdate(host='c', sequence=1, full=True, owners=ROWS[widest], **more), 0.0)
    for sequence, (table, all_of_it) in enumerate(sent, start=2):
        message = StateUpdate(host='b', sequence=sequence, full=all_of_it, owners=table, **more)
        frame = CompactFormat().encode(message)
        try:
            taken = CompactFormat().decode(frame)
        except MalformedReport:
            continue
        assert isinstance(one.receive(taken, 1.0), TotalsReply)
    reply = one.receive(StateUpdate(host='c', sequence=2, full=True, owners=ROWS[1], **more), 2.0)
    assert reply.owners.keys() == set('def')
    assert all(math.isfinite(n) for total in reply.owners.values() for n in total)


@given(st.lists(st.dictionaries(st.sampled_from('def'), st.tuples(quota, quota)), max_size=4))
def test_tallies_of_disjoint_owners_add_up(parts):
    """However owners are divided among aggregators."""
    named = [{f'{o}{i}': q for o, q in part.items()} for i, part in enumerate(parts)]
    merged = {o: q for part in named for o, q in part.items()}
    total = QuotaTally()
    for part in named:
        total += tally(part, part)
    assert total == tally(merged, merged)


OWNERS = ['g', *(digit * 32 for digit in 'def')]
"""One of them is no UUID."""

fates = st.sampled_from(['lost', 'now', 'twice', 'late'])
rounds = st.lists(
    st.tuples(
        st.sampled_from('abc'),
        st.dictionaries(st.sampled_from(OWNERS), st.sampled_from([0.0, 1.0, -2.0, 5.0])),
        fates,
        fates,
    ),
    max_size=25,
)


class Unreliable:
    """Three hosts and one aggregator, between which messages have fates."""

    def __init__(self):
        self.aggregator = Aggregator('x', 'greediness', 30.0, 'e')
        self.hosts = {h: AggregatorClient(h, 'greediness', 30.0, 'e') for h in 'abc'}
        self.late = []
        self.sequence = 0
        self.now = 0.0

    def publish(self, host, owners, there='now', back='now'):
        self.sequence += 1
        self.now += 1.0
        mine = report(host, {o: (v,) for o, v in owners.items()}, sequence=self.sequence)
        update = self.hosts[host].updates(mine, ('x',), self.now)['x']
        self.post(there, lambda: self.tell(update, back))

    def tell(self, update, back):
        reply = self.aggregator.receive(update, self.now)
        if isinstance(reply, TotalsReply):
            host = self.hosts[reply.to]
            self.post(back, lambda: host.receive(reply, self.now))

    def post(self, fate, deliver):
        if fate == 'late':
            self.late.append(deliver)
        elif fate != 'lost':
            for _ in range(2 if fate == 'twice' else 1):
                deliver()


@pytest.mark.parametrize('late_first', [True, False])
@given(history=rounds)
@settings(max_examples=100)
def test_after_any_history_three_rounds_set_everything_right(late_first, history):
    """What was lost, repeated or late in between does not matter: two statements of each host that get
    through leave the aggregator with the truth, and the third brings it to all hosts."""
    world = Unreliable()
    last = dict.fromkeys('abc', None)
    for host, owners, there, back in history:
        last[host] = owners
        world.publish(host, owners, there, back)
        if late_first and len(world.late) > 2:
            world.late.pop(0)()
    while not late_first and world.late:
        world.late.pop()()
    for _ in range(3):
        for host in 'abc':
            world.publish(host, last[host] or {})
    held = [last[host] or {} for host in 'abc']
    reports = [report(h, dict.fromkeys(one, (1.0,))) for h, one in zip('abc', held, strict=True)]
    count = add_up(reports, 'greediness').owner_count
    for host in 'abc':
        totals = world.hosts[host].totals(world.now)
        for i, owner in enumerate(totals.owners):
            true = sum((last[other] or {}).get(owner, 0.0) for other in 'abc')
            assert totals.sums[i, 0] == pytest.approx(true, abs=0.2)
        assert totals.owner_count == max(count, len(totals.owners))
        assert totals.hosts == 3
