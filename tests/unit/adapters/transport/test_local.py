# SPDX-License-Identifier: Apache-2.0
"""The hub holds frames back and loses them as it was told; what a host says itself it knows at once."""

import numpy as np
import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.host_builders import report


def pair(clock, hub):
    made = [
        put_together(
            'broadcast',
            host=name,
            metric='greediness',
            ttl=30.0,
            clock=clock,
            transport=LocalTransport(host=name, hub=hub),
            membership=hub,
        )
        for name in ('a', 'b')
    ]
    for exchange in made:
        exchange.start()
    return made


def test_delay():
    """Others see a report when the delay has passed; its life begins then."""
    clock = ManualClock()
    hub = LocalHub(clock, delay=20.0)
    a, b = pair(clock, hub)

    def after(seconds):
        clock.advance(seconds)
        hub.deliver()
        return b.totals().owners

    a.publish(report('a', {'d': (1.0,)}))
    assert a.totals().owners == ('d',)
    assert a.totals().age == 0.0
    assert after(19.9) == ()
    assert after(0.1) == ('d',)
    assert after(29.9) == ('d',)
    assert after(0.1) == ()


def test_loss():
    """About the part of the frames that was asked for gets lost, the same ones for the same seed."""

    def seen(seed):
        a, b = pair(ManualClock(), LocalHub(loss=0.25, rng=np.random.default_rng(seed)))
        arrived = []
        for number in range(400):
            a.publish(report('a', {'d': (float(number),)}, sequence=number))
            totals = b.totals()
            arrived.append(bool(totals.owners) and totals.sums[0, 0] == number)
        return arrived

    assert seen(1) == seen(1) != seen(2)
    assert 0.2 < 1.0 - np.mean(seen(1)) < 0.3


def test_one_frame_for_one_host():
    """Nobody else gets it; for a host that is not there it is lost."""
    hub, got = LocalHub(), {'a': [], 'b': [], 'c': []}
    transports = {name: LocalTransport(host=name, hub=hub) for name in got}
    for name, transport in transports.items():
        transport.start(lambda sender, frame, name=name: got[name].append((sender, frame)))
    transports['a'].send('b', b'x')
    transports['a'].send('nobody', b'x')
    assert got == {'a': [], 'b': [('a', b'x')], 'c': []}
    assert set(hub.members()) == set(got)
    transports['b'].stop()
    transports['a'].send('b', b'y')
    assert got['b'] == [('a', b'x')]


@pytest.mark.parametrize('topology', ['broadcast', 'aggregate'])
def test_alone(topology):
    """Without a hub a host knows itself, and nothing can be too old."""
    alone = put_together(
        topology,
        host='a',
        metric='greediness',
        ttl=30.0,
        clock=ManualClock(),
        transport=LocalTransport(host='a'),
        membership=Roll('a'),
    )
    alone.start()
    alone.publish(report('a', {'d': (1.0,)}))
    assert alone.totals().hosts == 1
    assert alone.totals().owners == ('d',)
    assert alone.totals().age == 0.0
    alone.stop()
    assert alone.dropped == {}


@pytest.mark.parametrize('wrong', [{'delay': -1.0}, {'delay': float('nan')}, {'loss': 1.1}])
def test_a_hub_that_cannot_be(wrong):
    with pytest.raises(ValueError, match='delay'):
        LocalHub(**wrong)


def test_a_delay_needs_a_clock():
    with pytest.raises(ValueError, match='clock'):
        LocalHub(delay=1.0)
