# SPDX-License-Identifier: Apache-2.0
"""A message counts only for the host that the transport proves to have sent it: rule H34."""

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.wire_format import CompactFormat
from nova_market.core.exchange.messages import Departure, StateUpdate, TotalsReply
from nova_market.core.exchange.rendezvous import set_digest
from tests.support.exchange.exchanges import EPOCH, Direct, Roll, put_together, sums
from tests.support.host_builders import report

TTL = 0.3
"""A round then waits 10 ms."""
WIRE = CompactFormat()


class Wire(Direct):
    """It may be mute."""

    mute = False

    def send(self, to, frame):
        if not self.mute:
            super().send(to, frame)


class World:
    """Hosts a, b and evil; b has 2.0 of owner d. Host a is the aggregator, if there is one."""

    def __init__(self, topology):
        self.wires, more = {}, {'named': ('a',)} if topology == 'aggregate' else {}
        self.exchanges = {
            name: put_together(
                topology,
                host=name,
                metric='greediness',
                ttl=TTL,
                clock=ManualClock(),
                transport=Wire(self.wires, name),
                membership=Roll('a', 'b', 'evil'),
                **more,
            )
            for name in ('a', 'b', 'evil')
        }
        for exchange in self.exchanges.values():
            exchange.start()
        for sequence, name in enumerate('bab', 1):
            owners = {'d': (2.0,)} if name == 'b' else {'d': (1.0,)}
            self.exchanges[name].publish(report(name, owners, sequence=sequence))
        assert sums(self.exchanges['a']) == {'d': 3.0}

    def seen(self, sequence):
        """The sums that host a has when it has sent its own report once more."""
        self.exchanges['a'].publish(report('a', {'d': (1.0,)}, sequence=sequence))
        return sums(self.exchanges['a'])

    def forge(self, message, to='a'):
        """The host `evil` sends what is in the name of another one."""
        self.wires[to].receive('evil', WIRE.encode(message))


def update(**changes):
    values = {
        'host': 'b',
        'incarnation': 9,
        'sequence': 9,
        'metric': 'greediness',
        'epoch': EPOCH,
        'aggregator_set': 'r',
        'full': True,
        'owners': {'d': (100.0,)},
    }
    return StateUpdate(**(values | changes))


LEAVES = Departure(host='b', incarnation=9, sequence=9)


@pytest.mark.parametrize(
    ('topology', 'message'),
    [
        ('broadcast', report('b', {'d': (100.0,)}, incarnation=9)),
        ('broadcast', LEAVES),
        ('aggregate', update()),
        ('aggregate', LEAVES),
    ],
)
def test_what_is_sent_in_the_name_of_another_host_does_not_count(topology, message):
    """And the host whose name it was is heard as before."""
    world = World(topology)
    world.forge(message)
    assert world.seen(4) == {'d': 3.0}
    assert world.exchanges['a'].dropped == {'forged': 1}
    world.exchanges['b'].publish(report('b', {'d': (4.0,)}, sequence=20))
    assert world.seen(5) == {'d': 5.0}


def test_a_reply_in_the_name_of_the_aggregator_does_not_count():
    """Host b has asked a, whose reply is under way, and takes none of anybody else."""
    world = World('aggregate')
    world.wires['a'].mute = True
    world.exchanges['b'].publish(report('b', {'d': (2.0,)}, sequence=4))
    lie = TotalsReply(
        host='a',
        to='b',
        incarnation=1,
        sequence=4,
        epoch=EPOCH,
        aggregator_set=set_digest(['a']),
        full=True,
        complete=True,
        owners={'d': (100.0,)},
    )
    before = sums(world.exchanges['b'])
    world.forge(lie, to='b')
    assert sums(world.exchanges['b']) == before
    assert world.exchanges['b'].dropped == {'forged': 1}


@pytest.mark.parametrize(
    ('topology', 'message'),
    [('broadcast', report('b', {'d': (100.0,)}, incarnation=9)), ('aggregate', update())],
)
def test_without_a_proof_the_name_in_the_message_is_believed(topology, message):
    """Over a broker, where every account can write: what the tests above would see without the check."""
    world = World(topology)
    world.wires['a'].receive(None, WIRE.encode(message))
    assert world.seen(4) == {'d': 101.0}
