# SPDX-License-Identifier: Apache-2.0
"""Aggregators that reply what is not true, to all hosts or to some: rule H33."""

import itertools
from dataclasses import replace

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.wire_format import PlainFormat
from nova_market.core.exchange.comparison import LEFT, ROUNDS
from nova_market.core.exchange.messages import StateUpdate, TotalsReply
from nova_market.core.exchange.rendezvous import elect
from tests.support.exchange.exchanges import Direct, Roll, put_together
from tests.support.host_builders import report

TTL = 3.0
HOSTS = [f'h{number}' for number in range(8)]
WIRE = PlainFormat()
FIRST = elect(HOSTS, 1)[0]
"""The aggregator that all hosts elect."""


def lied(message):
    """What a liar replies in place of the truth, each time."""
    cloud = message.cloud
    if cloud is not None:
        cloud = replace(cloud, vectors=replace(cloud.vectors, supply=(1e6,) * 6))
    return replace(message, owners={'d': (71.0,)}, cloud=cloud)


class Wire(Direct):
    """What it sends may be lost, or be a lie.

    told: to whom it replies what is not true; lie: its reply to these, of the true one
    lost: what is sent to these is lost
    """

    def __init__(self, hosts, name):
        super().__init__(hosts, name)
        self.told, self.lost, self.sent = (), (), 0
        self.lie = lied

    def send(self, to, frame):
        self.sent += 1
        if to in self.lost or to not in self.hosts:
            return
        if to in self.told:
            message = WIRE.decode(frame)
            if isinstance(message, TotalsReply):
                frame = WIRE.encode(self.lie(message))
        super().send(to, frame)


class Cloud:
    """Each host reports 1.0 of owner d, and hosts compare what their aggregators reply.

    amounts: of hosts that report something else
    """

    def __init__(self, copies=3, hosts=HOSTS, named=(), invented=(), ttl=TTL):
        self.ttl = ttl
        self.clock, self.wires, self.round, self.amounts = ManualClock(), {}, 0, {}
        self.exchanges = {}
        for name in hosts:
            self.start(name, *hosts, *invented, named=named, copies=copies)

    def start(self, name, *members, **more):
        """A host that knows these members, in place of one of that name."""
        self.exchanges[name] = put_together(
            'aggregate',
            host=name,
            metric='greediness',
            ttl=self.ttl,
            clock=self.clock,
            transport=Wire(self.wires, name),
            membership=Roll(*members),
            **more,
        )
        self.exchanges[name].start()

    def rounds(self, count):
        """The totals of each host after the last one."""
        found = {}
        for _ in range(count):
            self.round += 1
            for name, exchange in self.exchanges.items():
                owners = {'d': (self.amounts.get(name, 1.0),)}
                exchange.publish(report(name, owners, sequence=self.round))
                found[name] = exchange.totals()
            self.clock.advance(self.ttl / 3.0)
        return found

    def lie(self, aggregator, told, lie=lied):
        self.wires[aggregator].told, self.wires[aggregator].lie = told, lie


def sums(found):
    return {host: totals.sums[0, 0] for host, totals in found.items()}


def victims(liar):
    return [host for host in HOSTS if host != liar]


@pytest.fixture
def cloud():
    made = Cloud()
    made.rounds(8)
    return made


def test_all_hosts_have_the_same_three_aggregators_and_the_same_sums(cloud):
    asked = {exchange.aggregators for exchange in cloud.exchanges.values()}
    assert len(asked) == 1 and len(asked.pop()) == 3
    found = cloud.rounds(1)
    assert set(sums(found).values()) == {8.0}
    assert {totals.hosts for totals in found.values()} == {8}


def test_an_aggregator_that_lies_to_one_host_is_found_out(cloud, caplog):
    """It never counts, and it is named once; the other hosts notice nothing."""
    victim = victims(FIRST)[0]
    cloud.lie(FIRST, [victim])
    for _ in range(3 * ROUNDS):
        found = cloud.rounds(1)
        assert sums(found)[victim] == pytest.approx(8.0, rel=0.02)
        assert found[victim].supply[0] == pytest.approx(8.0, rel=0.02)
    named = [r.message for r in caplog.records if 'is left' in r.message]
    assert len(named) == 1 and named[0].startswith(f'Aggregator {FIRST} is left for an hour')
    assert 'owner d: ' in named[0]


def test_an_aggregator_that_lies_to_all_hosts_is_found_out_by_all(cloud, caplog):
    """All but itself."""
    cloud.lie(FIRST, victims(FIRST))
    found = cloud.rounds(ROUNDS + 1)
    assert all(total == pytest.approx(8.0, rel=0.02) for total in sums(found).values())
    assert caplog.text.count(f'Aggregator {FIRST} is left') == len(HOSTS) - 1


@pytest.mark.parametrize('place', [1, 2])
def test_a_liar_that_is_a_further_copy_accuses_nobody_else(cloud, caplog, place):
    liar = next(iter(cloud.exchanges.values())).aggregators[place]
    cloud.lie(liar, victims(liar))
    found = cloud.rounds(2 * ROUNDS)
    assert all(total == pytest.approx(8.0, rel=0.02) for total in sums(found).values())
    left = {r.message.split()[1] for r in caplog.records if 'is left' in r.message}
    assert left == {liar}


def test_one_that_misses_some_messages_is_not_left(cloud, caplog):
    """It replies something else than the two others until they have come."""
    (sender, *_) = (host for host in HOSTS if host not in cloud.exchanges[FIRST].aggregators)
    for amount in (3.0, 5.0):
        cloud.amounts[sender] = amount
        cloud.wires[sender].lost = (FIRST,)
        cloud.rounds(2)
        cloud.wires[sender].lost = ()
        found = cloud.rounds(3)
        assert all(total == pytest.approx(7.0 + amount) for total in sums(found).values())
    assert 'is left' not in caplog.text


def test_after_an_hour_it_is_compared_again(cloud, caplog):
    cloud.lie(FIRST, victims(FIRST))
    cloud.rounds(ROUNDS)
    cloud.lie(FIRST, [])
    caplog.clear()
    cloud.clock.advance(LEFT)
    cloud.rounds(2 * ROUNDS)
    assert 'is left' not in caplog.text
    cloud.lie(FIRST, victims(FIRST))
    cloud.rounds(ROUNDS)
    assert 'is left' in caplog.text


def test_an_aggregator_that_is_no_member_any_more_is_sent_nothing(cloud):
    """It is remembered, and tried now and then, as long as it is one: rule H32."""
    tried = []
    cloud.wires[FIRST].receive = lambda *message: tried.append(message)
    del cloud.exchanges[FIRST]
    cloud.rounds(4)
    tried.clear()
    cloud.rounds(8)
    assert tried
    for exchange in cloud.exchanges.values():
        del exchange.membership.hosts[FIRST]
    tried.clear()
    cloud.rounds(8)
    assert not tried


def test_a_lie_does_not_count_after_its_aggregator_has_fallen_silent(cloud):
    """Until the next aggregators are complete hosts go on with what counted, not with what it replied."""
    cloud.lie(FIRST, victims(FIRST))
    cloud.rounds(1)
    cloud.wires[FIRST].lost = HOSTS
    for _ in range(8):
        found = cloud.rounds(1)
        assert all(sums(found)[host] == pytest.approx(8.0, abs=1.1) for host in victims(FIRST))


def test_a_lie_does_not_count_before_the_others_are_complete(cloud):
    """An aggregator that comes back, and says that it knows all hosts at once."""
    cloud.wires[FIRST].lost = HOSTS
    cloud.rounds(8)
    cloud.wires[FIRST].lost = ()
    cloud.lie(FIRST, victims(FIRST), lambda message: lied(replace(message, complete=True)))
    for _ in range(12):
        found = cloud.rounds(1)
        assert all(sums(found)[host] == pytest.approx(8.0, abs=1.1) for host in victims(FIRST))


@pytest.mark.parametrize('named', [(), ('x', FIRST, 'h0', 'h2')], ids=['elected', 'named'])
@pytest.mark.parametrize(
    'lie', [{'resync': True}, {'complete': False}, {'epoch': 'other'}, {'aggregator_set': 'other'}]
)
def test_an_aggregator_that_says_nothing_of_use_keeps_nobody_from_the_others(lie, named):
    """Neither from the beginning nor later: what the two others reply counts, and is new."""
    made = Cloud(named=named)
    made.lie(FIRST, victims(FIRST), lambda message: replace(message, **lie))
    made.rounds(8)
    for _ in range(8):
        found = made.rounds(1)
        for host in victims(FIRST):
            assert sums(found)[host] == 8.0 and found[host].age == 0.0


@pytest.mark.parametrize('named', [(), (FIRST, 'h0', 'h2')], ids=['elected', 'named'])
@pytest.mark.parametrize('heard', [['h5'], ['h4', 'h5', 'h6']])
@pytest.mark.parametrize('since', [0, 8])
def test_an_aggregator_that_replies_to_some_hosts_parts_nobody_from_the_others(named, heard, since):
    """Those to whom it is silent would choose others, and two parts of the cloud not know of each other."""
    made = Cloud(named=named)
    made.rounds(since)
    silent_to = [host for host in HOSTS if host not in (FIRST, *heard)]
    made.lie(FIRST, silent_to, lambda message: replace(message, to='nobody'))
    made.rounds(8 - since)
    for _ in range(12):
        found = made.rounds(1)
        assert all(sums(found)[host] == 8.0 for host in victims(FIRST))


def test_an_aggregator_that_keeps_hosts_from_comparing_is_named(cloud, caplog):
    """By the hosts that it tells that it knows of no copies."""
    cloud.lie(FIRST, victims(FIRST), lambda message: replace(message, older=None))
    cloud.rounds(4)
    assert caplog.text.count(f'Aggregator {FIRST} is of an earlier version') == len(HOSTS) - 1


def test_of_two_aggregators_hosts_tell_that_one_is_wrong(caplog):
    made = Cloud(copies=2)
    made.rounds(8)
    made.lie(FIRST, victims(FIRST))
    made.rounds(2 * ROUNDS)
    lines = [r.message for r in caplog.records if 'reply different sums' in r.message]
    assert len(lines) == len(HOSTS) - 1 and all(FIRST in line for line in lines)


def test_named_aggregators_are_copies_of_each_other(caplog):
    """Each adds up an owner in a place of its own; a liar among them is found out."""
    named = tuple(HOSTS[:3])
    made = Cloud(named=named)
    made.rounds(10)
    assert {exchange.aggregators for exchange in made.exchanges.values()} == {named}
    liar = named[1]
    made.lie(liar, victims(liar))
    found = made.rounds(2 * ROUNDS)
    assert all(total == pytest.approx(8.0, rel=0.02) for total in sums(found).values())
    left = {r.message.split()[1] for r in caplog.records if 'is left' in r.message}
    assert left == {liar}


def test_one_copy_is_what_it_was():
    """As many messages, and every host believes its aggregator."""
    made = Cloud(copies=1)
    made.rounds(4)
    before = sum(wire.sent for wire in made.wires.values())
    made.lie(FIRST, victims(FIRST))
    found = made.rounds(1)
    assert sum(wire.sent for wire in made.wires.values()) - before == 2 * (len(HOSTS) - 1)
    assert max(sums(found).values()) > 8.0


def test_a_host_of_an_earlier_version_is_understood(caplog):
    """It sends to one aggregator. The sums of that one count for all then, and the log says why once."""
    made = Cloud()
    made.rounds(8)
    old = HOSTS[-1]
    made.start(old, *HOSTS)
    found = made.rounds(12)
    assert set(sums(found).values()) == {8.0}
    assert caplog.text.count('reports 1 hosts of an earlier version') == len(HOSTS) - 1


def test_an_aggregator_of_an_earlier_version_is_sent_one_copy(caplog):
    """Where aggregators are named: it would take an update of another copy for one of the first."""
    named = tuple(HOSTS[:3])
    made = Cloud(named=named)
    frames = []
    for name in named:
        receive = made.wires[name].receive

        def old(sender, frame, receive=receive):
            message = WIRE.decode(frame)
            if isinstance(message, StateUpdate):
                frames.append(message.copy)
                frame = WIRE.encode(replace(message, copies=1))
            receive(sender, frame)

        made.wires[name].receive = old
    found = made.rounds(8)
    assert set(frames) == {0}
    assert set(sums(found).values()) == {8.0}
    assert f'Aggregator {named[0]} is of an earlier version' in caplog.text


def test_invented_members_do_not_keep_hosts_from_each_other():
    """Each of them would be elected before any host that exists, and none of them ever replies."""
    hosts, names = HOSTS[:3], (f'invented{number}' for number in itertools.count())
    invented = [
        name for name in itertools.islice(names, 400) if elect([name, *hosts], 1) == (name,)
    ]
    made = Cloud(copies=1, hosts=hosts, invented=invented[:20], ttl=0.3)
    assert any(set(sums(made.rounds(1)).values()) == {3.0} for _ in range(100))
