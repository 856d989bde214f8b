# SPDX-License-Identifier: Apache-2.0
"""What a host says again when no answer comes, on a transport that loses what the test tells it to."""

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from tests.support.exchange.exchanges import Direct, Roll, put_together, sums
from tests.support.host_builders import report

TTL = 0.3
"""A round then waits 10 ms."""


class Wire(Direct):
    """It delivers all but the frames whose numbers are to be lost."""

    def __init__(self, hosts, name, lost=()):
        super().__init__(hosts, name)
        self.lost, self.sent = lost, 0

    def send(self, to, frame):
        self.sent += 1
        if self.sent not in self.lost:
            super().send(to, frame)


class World:
    """Host a asks, host x adds up; host b has reported that owner d has 2.0."""

    def __init__(self, lost_of_a=(), lost_of_x=()):
        self.clock, roll, hosts = ManualClock(), Roll('a', 'b', 'x'), {}
        lost = {'a': lost_of_a, 'x': lost_of_x}
        self.wires = {name: Wire(hosts, name, lost.get(name, ())) for name in 'abx'}
        self.exchanges = {
            name: put_together(
                'aggregate',
                host=name,
                metric='greediness',
                ttl=TTL,
                clock=self.clock,
                transport=wire,
                membership=roll,
                named=('x',),
            )
            for name, wire in self.wires.items()
        }
        for exchange in self.exchanges.values():
            exchange.start()
        self.exchanges['b'].publish(report('b', {'d': (2.0,)}))

    def round(self, sequence):
        """What a knows after it has published, and how many messages it took."""
        before = self.wires['a'].sent
        self.exchanges['a'].publish(report('a', {'d': (1.0,)}, sequence=sequence))
        found = sums(self.exchanges['a'])
        self.clock.advance(TTL / 3)
        return found, self.wires['a'].sent - before


ALL = range(10_000)


def test_what_is_answered_is_sent_once():
    assert World().round(1) == ({'d': 3.0}, 1)


@pytest.mark.parametrize('lost', [{'lost_of_a': [1]}, {'lost_of_x': [2]}], ids=['update', 'reply'])
def test_what_is_lost_is_sent_again_within_the_round(lost):
    """x's first message is its answer to b."""
    assert World(**lost).round(1) == ({'d': 3.0}, 2)


def test_a_dead_aggregator_is_not_told_twice_for_long():
    """Three rounds; then once per round, until it answers in time."""
    world = World(lost_of_x=ALL[2:])
    assert [world.round(n)[1] for n in range(1, 9)] == [2, 2, 2, 1, 1, 1, 1, 1]
    world.wires['x'].lost = ()
    assert [world.round(n)[1] for n in range(9, 12)] == [1, 1, 1]
    world.wires['a'].lost = [world.wires['a'].sent + 1]
    assert world.round(12)[1] == 2  # b has died meanwhile


def test_a_slow_aggregator_is_not_told_twice_for_long():
    """Its answers count though they come after the round."""
    world = World()
    held, receive = [], world.wires['a'].receive
    world.wires['a'].receive = lambda *message: held.append(message)
    messages = []
    for number in range(1, 9):
        messages.append(world.round(number)[1])
        while held:
            receive(*held.pop(0))
    assert messages == [2, 2, 2, 1, 1, 1, 1, 1]
    assert world.exchanges['a'].totals().age < TTL


def test_an_interval_that_is_changed_host_by_host():
    """Hosts with that of the aggregator count, the others are told that they do not and know only
    themselves; no host counts twice, and all count when the last one is changed."""
    names, clock, hosts = 'abcdx', ManualClock(), {}
    roll = Roll(*names)
    exchanges, sequences = {}, dict.fromkeys(names, 0)

    def start(name, interval):
        exchanges[name] = put_together(
            'aggregate',
            host=name,
            metric='greediness',
            ttl=3 * interval,
            clock=clock,
            transport=Wire(hosts, name),
            membership=roll,
            named=('x',),
            epoch=f'{interval} s',
        )
        exchanges[name].start()

    def seconds(count):
        """Every host publishes in its own interval."""
        for _ in range(count):
            clock.advance(1.0)
            for name, exchange in exchanges.items():
                sequences[name] += 1
                if sequences[name] % (5 if name in changed else 10) == 0:
                    reported = report(name, {'d': (1.0,)}, sequence=sequences[name])
                    exchange.publish(reported)
        return [sums(exchanges[name])['d'] for name in names]

    changed = set()
    for name in names:
        start(name, 10)
    assert seconds(40) == [5.0] * 5
    for name in 'ab':
        changed.add(name)
        start(name, 5)
    assert seconds(60) == [1.0, 1.0, 3.0, 3.0, 3.0]
    assert exchanges['a'].dropped.keys() == {'other_epoch'}
    assert exchanges['x'].dropped == {}
    changed.add('x')
    start('x', 5)
    assert seconds(60) == [3.0, 3.0, 1.0, 1.0, 3.0]
    for name in 'cd':
        changed.add(name)
        start(name, 5)
    assert seconds(15) == [5.0] * 5
    assert max(exchange.totals().age for exchange in exchanges.values()) <= 5.0
