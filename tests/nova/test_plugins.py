# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers on HostState values, through Nova's own loops."""

import dataclasses
import logging
import math
import threading
import time
from collections import Counter

import numpy as np
import pytest
from nova import objects
from nova.conf import CONF
from nova.scheduler.filters import HostFilterHandler
from nova.scheduler.weights import HostWeightHandler

import nova_market.scheduler
from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.scheduler import filters, market_feed, weighers
from nova_market.scheduler.snapshot_cache import Feed
from tests.nova.hosts import moving, spec, state, states
from tests.nova.plugged import OPTIONS, feed_of
from tests.support.scheduler_builders import held, quiet

MARKET = {'market:affordable_periods': '10'}
POOR = quiet(available=np.zeros(2))
LEASED = quiet(reserved=held(('L', 'blue', 0.0, 1e12, {'host0': None}), at=1e12))
FILTERS = nova_market.scheduler.all_filters()
WEIGHERS = nova_market.scheduler.installed_weighers()


@pytest.fixture
def market():
    """Lets a test say what the market tells: market(snapshot), or market(None) for one that is down."""
    before = market_feed.use(feed_of(None))
    yield lambda snapshot: market_feed.use(feed_of(snapshot))
    market_feed.use(before)


@pytest.fixture
def multiplier():
    """Sets a multiplier of [nova_market]."""
    names = []

    def change(name, value):
        names.append(name)
        CONF.set_override(f'{name}_weight_multiplier', value, group='nova_market')

    yield change
    for name in names:
        CONF.clear_override(f'{name}_weight_multiplier', group='nova_market')


def passed(cls, hosts, request, index=0):
    found = HostFilterHandler().get_filtered_objects([cls()], hosts, request, index)
    return [host.host for host in found]


def weighed(hosts, request, classes=WEIGHERS):
    found = HostWeightHandler().get_weighed_objects([cls() for cls in classes], hosts, request)
    return [(one.obj.host, one.weight) for one in found]


def test_nova_loads_every_class_by_function_and_by_path():
    """S1: nova.conf names the two functions, or a class."""
    names = {
        c.__name__ for c in HostFilterHandler().get_matching_classes(OPTIONS['available_filters'])
    }
    assert {c.__name__ for c in FILTERS} == {
        'AffordableFilter', 'ShareGuaranteeFilter', 'LeaseFilter',
    }  # fmt: skip
    assert {c.__name__ for c in FILTERS} <= names
    assert {c.__name__ for c in WEIGHERS} == {
        'BidLoadWeigher', 'AllocationErrorWeigher', 'HeavinessWeigher', 'PowerWeigher',
        'PackingWeigher',
    }  # fmt: skip
    for cls in FILTERS:
        path = f'nova_market.scheduler.filters.{cls.__name__}'
        assert HostFilterHandler().get_matching_classes([path]) == [cls]
    loaded = HostWeightHandler().get_matching_classes(OPTIONS['weight_classes'])
    assert weighers.MarketWeigher in loaded and not {*WEIGHERS} & {*loaded}
    for cls in [*WEIGHERS, weighers.MarketWeigher]:
        path = f'nova_market.scheduler.weighers.{cls.__name__}'
        assert HostWeightHandler().get_matching_classes([path]) == [cls]


@pytest.mark.parametrize('cls', FILTERS)
def test_without_a_market_every_host_passes(market, cls):
    """S2: a market that is down refuses nobody."""
    market(None)
    assert passed(cls, states(2), spec(10**6, extra_specs=MARKET)) == ['host0', 'host1']


@pytest.mark.parametrize('cls', [c for c in WEIGHERS if c is not weighers.PackingWeigher])
def test_without_a_market_no_weigher_counts(market, multiplier, cls):
    """Nova's own order stays, and nothing is spent on it."""
    market(None)
    multiplier(cls.option.removesuffix('_weight_multiplier'), 1.0)
    assert weighed(states(3), spec(), [cls]) == [('host0', 0.0), ('host1', 0.0), ('host2', 0.0)]


def test_who_cannot_pay_gets_no_host(market, caplog):
    """The reason is logged, with the project and the amounts."""
    market(POOR)
    caplog.set_level(logging.INFO, 'nova_market')
    assert passed(filters.AffordableFilter, states(2), spec(extra_specs=MARKET)) == []
    assert 'AffordableFilter refuses 2 of 2 hosts: project red has 0 credits' in caplog.text


@pytest.mark.parametrize(
    'request_',
    [
        spec(),
        spec(extra_specs={'market:affordable_periods': '0'}),
        spec(extra_specs=MARKET, project=None),
        spec(extra_specs=MARKET, target=moving()),
        spec(extra_specs=MARKET, target=objects.Destination(allow_cross_cell_move=True)),
        spec(extra_specs=MARKET, hints={'_nova_check_type': ['rebuild']}),
    ],
    ids=['no market', 'not asked', 'no project', 'moves', 'leaves its cell', 'rebuild'],
)
def test_who_is_not_asked_to_pay_passes(market, request_):
    """A server that exists is never refused: it must be able to leave a broken host."""
    market(POOR)
    assert passed(filters.AffordableFilter, states(2), request_) == ['host0', 'host1']


def test_a_host_that_was_asked_for_is_checked_too(market):
    """A destination without a cell is a new server's."""
    market(POOR)
    target = objects.Destination(host='host0', node='host0')
    assert (
        passed(filters.AffordableFilter, states(2), spec(extra_specs=MARKET, target=target)) == []
    )


def test_a_leased_host_is_closed_to_all_but_rebuilds(market):
    """It is closed to servers that move, too."""
    market(LEASED)
    assert passed(filters.LeaseFilter, states(2), spec()) == ['host1']
    assert passed(filters.LeaseFilter, states(2), spec(target=moving())) == ['host1']
    rebuild = spec(hints={'_nova_check_type': ['rebuild']})
    assert passed(filters.LeaseFilter, states(2), rebuild) == ['host0', 'host1']


def test_a_share_is_kept(market):
    """A project of which the cloud's share is used up gets no host; short work does."""
    market(quiet(share=np.array([0.1, np.nan])))
    assert passed(filters.ShareGuaranteeFilter, states(2), spec()) == []
    short = spec(extra_specs={'market:class': 'short'})
    assert len(passed(filters.ShareGuaranteeFilter, states(2), short)) == 2


@pytest.mark.parametrize(
    ('name', 'cls'),
    [('projects.share', filters.ShareGuaranteeFilter), ('reserved', filters.LeaseFilter)],
)
def test_a_filter_that_nothing_feeds_logs_it_once(market, caplog, name, cls):
    """With the first snapshot, not before; and never when what it needs is published."""
    filter_ = cls()

    def lines():
        for _ in range(2):
            assert len(list(filter_.filter_all(states(2), spec()))) == 2
        return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]

    market(None)
    assert not any(cls.__name__ in line for line in lines())
    market(quiet())
    (line,) = [line for line in lines() if cls.__name__ in line]
    assert f'`{name}`' in line and 'enabled_filters' in line
    caplog.clear()
    filter_ = cls()
    market(quiet(share=np.array([1.0, np.nan]), reserved=held(at=1e12)))
    assert not any(cls.__name__ in line for line in lines())


def test_the_power_weigher_logs_that_nothing_feeds_it(market, multiplier, caplog):
    """Once it is switched on."""
    market(quiet())
    for value in (0.0, 1.0):
        multiplier('power', value)
        weigher = weighers.PowerWeigher()
        for _ in range(2):
            HostWeightHandler().get_weighed_objects([weigher], states(2), spec())
        told = [r for r in caplog.records if 'PowerWeigher' in r.getMessage()]
        assert len(told) == int(value)


@pytest.mark.parametrize('cls', FILTERS)
def test_a_filter_runs_once_for_many_servers(cls):
    """The request is judged as a whole; only the room of leases gets less with each server of it."""
    assert cls().run_filter_for_index(0)
    assert cls().run_filter_for_index(1) == (cls is filters.LeaseFilter)


def test_one_host_can_be_asked_for(market):
    """host_passes, which others call, says the same as the list."""
    market(LEASED)
    only = filters.LeaseFilter()
    assert [only.host_passes(host, spec()) for host in states(2)] == [False, True]


def broken_snapshot():
    """A snapshot that no checks have seen: rows point nowhere, numbers are missing."""
    return dataclasses.replace(
        quiet(), hosts={'host0': 99, 'host1': -7}, projects={'red': 55}, share=np.zeros(1),
        bid_price=np.array([math.nan, 1.0]), heaviness=np.zeros(1), host_heaviness=np.zeros(1),
        watts=np.full((2, 1), np.inf), reserved=5,
    )  # fmt: skip


def test_a_fault_of_ours_never_reaches_nova(market, multiplier, caplog):
    """S2: whatever goes wrong inside, all hosts pass and no weight counts; the log has it once each."""
    market(broken_snapshot())
    for cls in WEIGHERS:
        multiplier(cls.option.removesuffix('_weight_multiplier'), 1.0)
    made = [cls() for cls in FILTERS]
    for _ in range(3):
        found = HostFilterHandler().get_filtered_objects(made, states(2), spec(extra_specs=MARKET))
        assert len(found) == 2
    ours = [cls for cls in WEIGHERS if cls is not weighers.PackingWeigher]
    weights = [cls() for cls in ours]
    for _ in range(3):
        found = HostWeightHandler().get_weighed_objects(weights, states(2), spec())
        assert [one.weight for one in found] == [0.0, 0.0]
    faults = [r for r in caplog.records if r.levelname == 'ERROR']
    assert len(faults) == len(FILTERS) + len(ours)


def test_the_least_loaded_host_is_first(market):
    """Bids on host0, none on host1."""
    market(quiet(bids=np.array([[8000.0, 0.0], [0.0, 0.0]])))
    assert weighed(states(2), spec(), [weighers.BidLoadWeigher]) == [('host1', 1.0), ('host0', 0.0)]


def test_errors_and_heaviness_are_absolute(market):
    """The same difference counts the same, however alike the candidates are."""
    full = np.zeros((4, 2, 2))
    full[:, 0, 0] = [3.0, 6.0, 9.0, 12.0]
    market(quiet(demand=full, heaviness=np.array([1.0, 0.0]), host_heaviness=np.array([0.0, 1.0])))
    (first, best), (_, worst) = weighed(states(2), spec(), [weighers.AllocationErrorWeigher])
    # 8 of the 12 + 2 cores that are wanted
    assert (first, best, worst) == ('host1', 0.0, pytest.approx(8 / 14 - 1))
    (first, best), (_, worst) = weighed(states(2), spec(), [weighers.HeavinessWeigher])
    assert (first, best, worst) == ('host1', 0.0, -0.5)


ERROR = 'allocation_error_weight_multiplier'


@pytest.mark.parametrize('multiplier_', ['0', '2', '5'])
def test_a_multiplier_makes_no_merit_of_a_fault(market, multiplier_):
    """An aggregate where errors count more draws no servers to itself, least of all to a crowded host."""
    own = ({ERROR: multiplier_},)
    market(quiet())
    hosts = [state('host0'), state('host1', aggregates=own)]
    found = weighed(hosts, spec(), [weighers.AllocationErrorWeigher])
    assert [weight for _, weight in found] == [0.0, 0.0]
    full = np.zeros((4, 2, 2))
    full[:, 0, 0] = [3.0, 6.0, 9.0, 12.0]
    market(quiet(demand=full, heaviness=np.array([1.0, 0.0]), host_heaviness=np.array([0.0, 1.0])))
    hosts = [state('host0', aggregates=own), state('host1')]
    found = dict(weighed(hosts, spec(), [weighers.AllocationErrorWeigher]))
    expected = {'host0': float(multiplier_) * (8 / 14 - 1), 'host1': 0.0}
    assert found == pytest.approx(expected)
    hosts = [
        state('host0', aggregates=({'heaviness_weight_multiplier': multiplier_},)),
        state('host1'),
    ]
    found = dict(weighed(hosts, spec(), [weighers.HeavinessWeigher]))
    assert found == {'host0': float(multiplier_) * -0.5, 'host1': 0.0}


def test_power_and_packing_count_when_they_are_switched_on(market, multiplier):
    """Their multipliers are 0: they cost nothing and change nothing until somebody sets them."""
    market(quiet(watts=np.array([[100.0, 50.0], [5.0, 5.0]])))
    hosts = [state('host0', instances=3), state('host1', instances=1)]
    both = [weighers.PowerWeigher, weighers.PackingWeigher]
    assert weighed(hosts, spec(), both) == [('host0', 0.0), ('host1', 0.0)]
    multiplier('power', 1.0)
    assert weighed(hosts, spec(), both) == [('host1', 1.0), ('host0', 0.0)]
    multiplier('packing', 2.0)
    assert weighed(hosts, spec(), both) == [('host0', 2.0), ('host1', 1.0)]


def test_an_aggregate_has_its_own_multiplier(market):
    """Metadata of a host's aggregate goes before nova.conf; also where nova.conf says 0."""
    market(quiet())
    loud = ({'packing_weight_multiplier': '5'},)
    hosts = [state('host0', instances=1), state('host1', instances=2, aggregates=loud)]
    assert weighed(hosts, spec(), [weighers.PackingWeigher]) == [('host1', 5.0), ('host0', 0.0)]
    bad = ({'packing_weight_multiplier': 'many'},)
    hosts = [state('host0', instances=1), state('host1', instances=2, aggregates=bad)]
    assert weighed(hosts, spec(), [weighers.PackingWeigher]) == [('host0', 0.0), ('host1', 0.0)]


def test_unknown_hosts_are_not_preferred(market):
    """A host the market does not know yet is as good as the mean of the others."""
    market(quiet(bids=np.array([[8000.0, 0.0], [0.0, 0.0]])))
    order = weighed([*states(2), state('new')], spec(), [weighers.BidLoadWeigher])
    assert order == [('host1', 1.0), ('new', 0.5), ('host0', 0.0)]


class Turning:
    """A market that is another one at each look: poor, rich, poor, ..."""

    def __init__(self):
        self.turn = 0

    def read(self, known):
        self.turn += 1
        return (POOR if self.turn % 2 else quiet(period=8)), 0.0


def test_threads_share_a_filter_while_snapshots_change(market, caplog):
    """Requests in many threads and one feed that changes under them: each sees one snapshot or another."""
    clock = ManualClock()
    feed = Feed(
        Turning, refresh=lambda: 1000.0, max_age=lambda: 100.0, monotonic=clock.monotonic,
        background=False,
    )  # fmt: skip
    feed.look()
    market_feed.use(feed)
    shared, found, over = filters.AffordableFilter(), Counter(), []

    def place():
        while not over:
            passing = HostFilterHandler().get_filtered_objects(
                [shared], states(2), spec(extra_specs=MARKET)
            )
            found[len(passing)] += 1

    threads = [threading.Thread(target=place, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 60.0
    while min(found[0], found[2]) < 200 and time.monotonic() < until:
        feed.look()
        clock.advance(0.001)
    assert all(thread.is_alive() for thread in threads)
    over.append(True)
    for thread in threads:
        thread.join()
    assert set(found) == {0, 2}
    assert not [record for record in caplog.records if record.levelname == 'ERROR']
