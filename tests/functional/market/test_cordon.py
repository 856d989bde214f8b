# SPDX-License-Identifier: Apache-2.0
"""Crowded hosts are closed to new market servers and opened again, and all of it is cleaned up."""

import logging

import numpy as np
import pytest
from oslo_config import cfg

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.placement_traits import MemoryTraits
from nova_market.conf import steering as options
from nova_market.core.rebalancing.cordon import closed_hosts
from nova_market.errors import ConfigurationError
from nova_market.services.market.cordon import AT_ONCE, Steering, SteeringSettings
from nova_market.wiring.engine import load_steering
from tests.support import traits_contract
from tests.support.market_bed import Market, bidding, host, server

pytestmark = pytest.mark.functional

ON = SteeringSettings(traits=True)
YES = np.ones(1, dtype=bool)


def test_the_fake_keeps_the_contract():
    """The marks in memory do what those in Placement do."""
    traits_contract.keep(MemoryTraits(['a', 'b']), 'a', 'b')


@pytest.mark.parametrize(
    ('load', 'closed', 'after'),
    [(1.26, False, True), (1.25, False, False), (1.0, True, True), (0.99, True, False)],
)
def test_between_the_limits_a_host_stays_as_it_is(load, closed, after):
    """Closed above 1.25, opened below 1: no going back and forth."""
    found = closed_hosts(np.array([load]), closed == YES, YES, 1.25, 1.0)
    assert found.tolist() == [after]


def test_a_silent_host_stays_as_it_is():
    """Nothing is known of it."""
    assert closed_hosts(np.array([0.0]), YES, ~YES, 1.25, 1.0).tolist() == [True]


def bed_of(database, servers, hosts=2, period=1000):
    clock = ManualClock(wall=60.0 * period)
    names = [host(f'h{n:02d}') for n in range(hosts)]
    bed = Market(database, hosts=names, servers=servers, clock=clock)
    bed.grant('red', 1000)
    bed.run()
    return bed.decided[-1]


def crowd(on, count=4):
    """Servers that want four times what their host has."""
    return [
        server(f'{on}-{n}', 'red', on, mib=16, metadata=bidding(4, 0.001)) for n in range(count)
    ]


def test_a_crowded_host_is_closed_and_then_opened(database):
    """Four servers of four cores on one of two hosts of four: it is closed until they have room."""
    traits = MemoryTraits(['h00', 'h01', 'gone'])
    traits.mark('gone')
    steering = Steering(traits, ON)
    steering.consider(bed_of(database, crowd('h00')))
    assert traits.marked() == {'h00'}
    steering.consider(bed_of(database, crowd('h01', 1), period=1001))
    assert traits.marked() == frozenset()


def test_flavors_may_forbid_the_trait_before_a_host_is_closed(database):
    """Placement refuses a request that names a trait it does not know: the first round makes it known."""
    traits = MemoryTraits(['h00', 'h01'])
    decided = bed_of(database, crowd('h00', 1))
    Steering(traits, SteeringSettings()).consider(decided)
    assert not traits.announced
    Steering(traits, ON).consider(decided)
    assert traits.announced
    assert traits.marked() == frozenset()


def test_few_hosts_change_at_once(database):
    """The engine waits for the requests, so a round makes only so many."""
    hosts = AT_ONCE + 3
    # the last host stays empty, so that the cloud as a whole has room
    servers = [one for n in range(hosts) for one in crowd(f'h{n:02d}', 2)]
    decided = bed_of(database, servers, hosts=3 * hosts)
    traits = MemoryTraits([f'h{n:02d}' for n in range(3 * hosts)])
    steering = Steering(traits, ON)
    steering.consider(decided)
    assert len(traits.marked()) == AT_ONCE
    steering.consider(decided)
    assert len(traits.marked()) == hosts


def test_switched_off_everything_is_taken_away(database, caplog):
    """Off by default: what an engine that had it on has left is removed."""
    traits = MemoryTraits(f'h{n:02d}' for n in range(20))
    for name in sorted(traits.known):
        traits.mark(name)
    steering = Steering(traits, SteeringSettings())
    decided = bed_of(database, crowd('h00'))
    steering.consider(decided)
    assert len(traits.marked()) == 20 - AT_ONCE
    steering.consider(decided)
    assert traits.marked() == frozenset()
    traits.available = False
    # it has cleaned up, and asks no more
    steering.consider(decided)
    assert 'hosts are not closed' not in caplog.text


def test_rounds_go_on_without_placement(database, caplog):
    """It is logged once, and once more after it was back."""
    traits = MemoryTraits(['h00'])
    traits.available = False
    steering, decided = Steering(traits, ON), bed_of(database, crowd('h00'))
    caplog.set_level(logging.WARNING, 'nova_market.services.market.cordon')
    steering.consider(decided)
    steering.consider(decided)
    assert len(caplog.records) == 1
    traits.available = True
    steering.consider(decided)
    assert traits.marked() == {'h00'}


def test_limits_that_cross_are_refused():
    """The message names both options."""
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[])
    assert load_steering(conf) == SteeringSettings()
    conf.set_override('open_below', 2.0, group='steering')
    with pytest.raises(ConfigurationError, match=r'open_below = 2\.0 must be below close_above'):
        load_steering(conf)
