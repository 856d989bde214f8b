# SPDX-License-Identifier: Apache-2.0
"""The hub holds reports back and loses them as it was told; what a host says itself it knows at once."""

import numpy as np
import pytest

from nova_market.adapters.clock import ManualClock
from nova_market.adapters.local_exchange import LocalExchange, LocalHub
from tests.builders import report


def pair(hub):
    clock = ManualClock()
    made = [
        LocalExchange(host=name, metric='greediness', ttl=30.0, clock=clock, hub=hub)
        for name in ('a', 'b')
    ]
    return clock, *made


def test_delay():
    """Others see a report when the delay has passed; its life begins then."""
    clock, a, b = pair(LocalHub(delay=20.0))
    a.publish(report('a', {'d': (1.0,)}))
    assert a.totals().owners == ('d',)
    clock.advance(19.9)
    assert b.totals().owners == ()
    clock.advance(0.1)
    assert b.totals().owners == ('d',)
    clock.advance(29.9)
    assert b.totals().owners == ('d',)
    clock.advance(0.1)
    assert b.totals().owners == ()


def test_a_report_that_came_long_ago_is_not_young():
    """Looking late does not prolong its life."""
    clock, a, b = pair(LocalHub())
    a.publish(report('a', {'d': (1.0,)}))
    clock.advance(30.0)
    assert b.totals().hosts == 0


def test_loss():
    """About the part of the deliveries that was asked for gets lost, the same ones for the same seed."""

    def seen(seed):
        _, a, b = pair(LocalHub(loss=0.25, rng=np.random.default_rng(seed)))
        arrived = []
        for number in range(400):
            a.publish(report('a', {'d': (float(number),)}, sequence=number))
            totals = b.totals()
            arrived.append(bool(totals.owners) and totals.sums[0, 0] == number)
        return arrived

    assert seen(1) == seen(1) != seen(2)
    assert 0.2 < 1.0 - np.mean(seen(1)) < 0.3


def test_alone():
    """Without a hub a host knows itself, and nothing can be too old."""
    clock = ManualClock()
    alone = LocalExchange(host='a', metric='greediness', ttl=30.0, clock=clock, conf=object())
    alone.start()
    alone.publish(report('a', {'d': (1.0,)}))
    assert alone.totals().hosts == 1
    assert alone.totals().age == 0.0
    alone.stop()
    assert alone.dropped == {}


@pytest.mark.parametrize('wrong', [{'delay': -1.0}, {'delay': float('nan')}, {'loss': 1.1}])
def test_a_hub_that_can_not_be(wrong):
    with pytest.raises(ValueError, match='delay'):
        LocalHub(**wrong)
