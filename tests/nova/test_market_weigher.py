# SPDX-License-Identifier: Apache-2.0
"""MarketWeigher places as its terms would one by one, in one pass of Nova."""

import logging

import numpy as np
import pytest
from nova.conf import CONF
from nova.scheduler.utils import get_weight_multiplier
from nova.scheduler.weights import HostWeightHandler
from nova.weights import normalize

import nova_market.scheduler
from nova_market.scheduler import market_feed, weighers, weighted_sum
from nova_market.scheduler.candidates import Candidates
from tests.nova.hosts import spec, state
from tests.nova.plugged import feed_of
from tests.support.scheduler_builders import quiet

WEIGHERS = nova_market.scheduler.installed_weighers()
MULTIPLIERS = {
    'bid_load': 2.0,
    'allocation_error': 3.0,
    'heaviness': 5.0,
    'power': -7.0,
    'packing': 11.0,
}
HOSTS = 12
"""In the snapshot; candidates are these and some that it does not know."""


@pytest.fixture
def market():
    """A cloud on which all five have different opinions, with their multipliers set."""
    rng = np.random.default_rng(5)
    snapshot = quiet(
        HOSTS,
        bids=rng.uniform(0, 9000, (2, HOSTS)),
        demand=np.sort(rng.uniform(0, 20, (4, 2, HOSTS)), axis=0),
        heaviness=np.array([0.3, -1.0]),
        host_heaviness=rng.normal(size=HOSTS),
        watts=rng.uniform(1, 100, (2, HOSTS)),
    )
    before = market_feed.use(feed_of(snapshot))
    for name, value in MULTIPLIERS.items():
        CONF.set_override(f'{name}_weight_multiplier', value, group='nova_market')
    yield snapshot
    market_feed.use(before)
    for name in MULTIPLIERS:
        CONF.clear_override(f'{name}_weight_multiplier', group='nova_market')


def hosts():
    """Some are in aggregates with multipliers of their own, two of them in several."""
    loud = {'packing_weight_multiplier': '40', 'power_weight_multiplier': '0'}
    quieter = {'packing_weight_multiplier': '4', 'unrelated': 'x'}
    aggregates = {3: (loud,), 4: (loud, quieter), 6: ({'heaviness_weight_multiplier': 'much'},)}
    return [
        state(
            f'host{row}', instances=row * 3 % 7, vcpus_used=row % 4,
            aggregates=aggregates.get(row, ()),
        )
        for row in range(HOSTS + 2)
    ]  # fmt: skip


def weighed(made):
    found = HostWeightHandler().get_weighed_objects(made, hosts(), spec())
    return {one.obj.host: one.weight for one in found}


def by_hand():
    """As Nova weighs by a weigher of its own."""
    candidates = Candidates(hosts(), spec())
    total = dict.fromkeys((host.host for host in candidates.hosts), 0.0)
    for cls in WEIGHERS:
        raw = normalize(cls().opinion(candidates).tolist(), cls.least, cls.most)
        for host, weight in zip(candidates.hosts, raw, strict=True):
            multiplier = get_weight_multiplier(host, cls.option, CONF.nova_market[cls.option])
            total[host.host] += multiplier * weight
    return total


def test_together_they_weigh_as_one_by_one(market):
    """Multipliers of nova.conf and of aggregates, unknown hosts, absolute and relative weights."""
    together = weighed([weighers.MarketWeigher()])
    singly = weighed([cls() for cls in WEIGHERS])
    assert together == pytest.approx(singly)
    assert together == pytest.approx(by_hand())
    assert len({round(weight, 9) for weight in together.values()}) > HOSTS


def test_nova_gets_one_weigher(market):
    """Nova's pass over the hosts is what costs: there is one, whatever the number of weighers."""
    (cls,) = nova_market.scheduler.all_weighers()
    assert cls is weighers.MarketWeigher
    assert [type(term) for term in cls().terms] == WEIGHERS


def test_a_weigher_of_another_kind_stays_by_itself(monkeypatch):
    """A package may have added any weigher of Nova to our namespace."""

    class Other(weighers.weights.BaseHostWeigher):
        """None of ours."""

        def _weigh_object(self, obj, weight_properties):
            return 1.0

    monkeypatch.setattr(nova_market.scheduler, 'installed_weighers', lambda: [*WEIGHERS, Other])
    monkeypatch.setattr(weighers, 'installed_weighers', lambda: [*WEIGHERS, Other])
    assert nova_market.scheduler.all_weighers() == [weighers.MarketWeigher, Other]
    assert [type(term) for term in weighers.MarketWeigher().terms] == WEIGHERS


def test_two_schedulers_weigh_alike(market):
    """Nothing is shared between two of them."""
    first, second = ([weighers.MarketWeigher()] for _ in range(2))
    assert weighed(first) == weighed(second) == weighed(first)


def test_one_that_fails_is_left_out(market, monkeypatch, caplog):
    """The others count as before."""
    monkeypatch.setattr(weighers.PowerWeigher, '_weights', lambda *_: 1 / 0)
    expected = weighed([cls() for cls in WEIGHERS if cls is not weighers.PowerWeigher])
    assert weighed([weighers.MarketWeigher()]) == pytest.approx(expected)
    faults = [r.message for r in caplog.records if r.levelname == 'ERROR']
    assert faults == ['PowerWeigher does not work and is silent']


def test_a_multiplier_that_cannot_be_read_is_left_out(market, monkeypatch, caplog):
    """The others count as before, and the log names the right one, once."""
    made = [weighers.MarketWeigher()]
    expected = weighed([cls() for cls in WEIGHERS if cls is not weighers.HeavinessWeigher])
    monkeypatch.setattr(weighers.HeavinessWeigher, 'configured', lambda _: float('abc'))
    for _ in range(3):
        assert weighed(made) == pytest.approx(expected)
    faults = [r.message for r in caplog.records if r.levelname == 'ERROR']
    assert faults == ['HeavinessWeigher does not work and is silent']


def test_a_multiplier_that_is_no_number_fails_at_the_start(monkeypatch):
    """Before servers are placed by the rest."""
    monkeypatch.setattr(weighers.HeavinessWeigher, 'configured', lambda _: float('abc'))
    with pytest.raises(ValueError, match='abc'):
        weighers.HeavinessWeigher()


def test_debug_tells_what_each_says(market, caplog):
    """Nova's own log has the sum, under the name MarketWeigher."""
    caplog.set_level(logging.DEBUG, 'nova_market.scheduler.weighted_sum')
    weighed([weighers.MarketWeigher()])
    lines = [r.message for r in caplog.records if r.name == 'nova_market.scheduler.weighted_sum']
    assert [line.partition(':')[0] for line in lines] == [cls.__name__ for cls in WEIGHERS]


@pytest.mark.parametrize(('least', 'most'), [(None, None), (-1.0, 0.0), (None, 4.0), (2.0, 2.0)])
@pytest.mark.parametrize('weights', [[-0.5, -0.1, 0.0], [3.0, 3.0, 3.0], [1.0, 4.0, 2.5]])
def test_weights_are_normalised_as_nova_does(weights, least, most):
    """Including all equal, and values beyond the limits."""
    expected = list(normalize(weights, least, most))
    assert weighted_sum.normalised(np.array(weights), least, most).tolist() == pytest.approx(
        expected
    )
