# SPDX-License-Identifier: Apache-2.0
"""One round: the paper's figure by its numbers, budgets, reserve price, silent hosts, reasons."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.market.round import Why, decide
from nova_market.core.market.snapshot import market_capacity
from nova_market.errors import BadAmount, BadSnapshot
from tests.support.market_builders import snapshot

FIGURE_2 = [(0, 12), (0, 12), (0, 12), (1, 30), (2, 30)]


def figure_2():
    """Section 2.2.3: 3 hosts of 100 CPU units and 10 GB, three VMs of 12 credits on one, 30 on the others."""
    micro = [(host, bid * 1_000_000, 1, 100.0, 2048.0) for host, bid in FIGURE_2]
    return decide(snapshot([(100.0, 10240.0)] * 3, micro))


def test_figure_2_undivided_and_on_hosts():
    outcome = figure_2()
    np.testing.assert_allclose(outcome.ideal[0], [37.5, 37.5, 37.5, 93.75, 93.75])
    np.testing.assert_allclose(outcome.actual[0], [100 / 3] * 3 + [100.0] * 2)


def test_figure_2_errors():
    """Eq. (2): (37.5 - 33.3) / 37.5 = 11.1 %; the others have all the memory they can use, so 0."""
    outcome = figure_2()
    np.testing.assert_allclose(outcome.error, [1 / 9] * 3 + [0.0] * 2)
    assert outcome.largest_error == pytest.approx(1 / 9)


def test_figure_2_price_is_bids_over_capacity():
    """Without a binding cap the clearing price is the paper's: 96 credits / 300 units."""
    outcome = figure_2()
    assert outcome.price[0] == pytest.approx(320_000)
    assert outcome.bid_price[0] == pytest.approx(320_000)


def test_figure_2_charges():
    """Who gets what the bid buys pays the bid exactly, who gets a ninth less pays a ninth less."""
    assert list(figure_2().charges[0]) == [10_666_666] * 3 + [30_000_000] * 2


def test_capped_server_pays_price_times_cap():
    """Caps 1 and 9 of 4 cores, equal bids: 1 and 3 cores; the price rises to bid / 3."""
    outcome = decide(snapshot([(4.0, 0.0)], [(0, 600, 0, 1.0, 0.0), (0, 600, 0, 9.0, 0.0)]))
    assert list(outcome.actual[0]) == [1.0, 3.0]
    assert outcome.price[0] == pytest.approx(200)
    assert list(outcome.charges[0]) == [200, 600]
    assert outcome.bid_price[0] == pytest.approx(300)


def test_reserve_price_bounds_what_a_bid_buys():
    """At the reserve 2 of 4 cores are sold; the host still divides all it has, free of charge."""
    outcome = decide(snapshot([(4.0, 0.0)], [(0, 600, 0, 4.0, 0.0)], reserve=(300.0, 0.0)))
    assert outcome.price[0] == 300.0
    assert (outcome.ideal[0, 0], outcome.actual[0, 0]) == (2.0, 4.0)
    assert outcome.charges[0, 0] == 600


def test_the_breaker_lowers_charges_and_changes_no_allocation():
    """B4: a price of 400 after one of 100 is held at 200; half of each bid is charged."""
    servers = [(0, 1000, 0, 4.0, 0.0), (0, 600, 0, 4.0, 0.0)]
    found = snapshot([(4.0, 0.0)], servers, last_price=(100.0, 0.0))
    free, held = decide(found), decide(found, breaker=2.0)
    assert free.price[0] == pytest.approx(400.0) and not free.held.any()
    assert held.price[0] == pytest.approx(200.0) and held.free_price[0] == pytest.approx(400.0)
    assert held.held.tolist() == [True, False]
    np.testing.assert_allclose(held.ideal, free.ideal)
    np.testing.assert_allclose(held.actual, free.actual)
    assert held.charges[0].tolist() == [500, 300]


def test_a_price_that_is_held_above_the_bids_charges_no_more_than_the_bids():
    """B4: it falls by half only, so nobody's bid buys all; hosts give what is left for nothing."""
    found = snapshot([(4.0, 0.0)], [(0, 600, 0, 8.0, 0.0)], last_price=(1000.0, 0.0))
    outcome = decide(found, breaker=2.0)
    assert outcome.price[0] == 500.0
    assert (outcome.ideal[0, 0], outcome.actual[0, 0]) == pytest.approx((1.2, 4.0))
    assert outcome.charges[0, 0] == 600


def test_free_when_everybody_has_enough():
    outcome = decide(snapshot([(4.0, 0.0)], [(0, 600, 0, 1.0, 0.0)]))
    assert outcome.price[0] == 0.0
    assert outcome.actual[0, 0] == 1.0
    assert outcome.charges[0, 0] == 0


def test_who_cannot_pay_is_scaled_down_and_notified():
    """B2: 150 available for bids of 300: half of each, rounded down; the other payer's bid stands."""
    servers = [(0, 100, 0, 9.0, 9.0, 0), (0, 200, 0, 9.0, 9.0, 0), (0, 150, 0, 9.0, 9.0, 1)]
    outcome = decide(snapshot([(6.0, 6.0)], servers, available=[150, 900]))
    assert list(outcome.bids[0]) == [49, 99, 150]
    assert list(outcome.short) == [0]
    assert Why.SCALED in Why(int(outcome.why[0])) and Why.SCALED not in Why(int(outcome.why[2]))
    assert outcome.due()[:2].sum() <= 150


def test_broke_payer_gets_no_share_and_owes_nothing():
    """The market stops nobody: a zero allocation is a weight, not a shutdown."""
    outcome = decide(
        snapshot([(2.0, 2.0)], [(0, 9, 9, 4.0, 4.0, 0), (0, 9, 9, 4.0, 4.0, 1)], available=[0, 99])
    )
    assert list(outcome.actual[0]) == [0.0, 2.0]
    assert list(outcome.due()) == [0, 18]


def test_silent_host_takes_no_part():
    """F2: its servers keep what they had and owe nothing; its capacity does not lower the price."""
    servers = [(0, 100, 0, 9.0, 9.0), (1, 100, 0, 9.0, 9.0)]
    last = [[0.0, 3.0], [0.0, 7.0]]
    outcome = decide(snapshot([(4.0, 0.0)] * 2, servers, answering=[True, False], last=last))
    assert outcome.price[0] == pytest.approx(25)
    assert list(outcome.actual[:, 1]) == [3.0, 7.0]
    assert list(outcome.due()) == [100, 0]
    assert outcome.why[1] == Why.SILENT
    assert outcome.error[1] == 0.0


def test_only_confirmed_allocations_are_owed():
    outcome = figure_2()
    confirmed = np.array([True, False, True, True, False])
    assert list(outcome.due(confirmed)) == [10_666_666, 0, 10_666_666, 30_000_000, 0]


def test_empty_cloud():
    outcome = decide(snapshot([], []))
    assert outcome.largest_error == 0.0
    assert outcome.due().shape == (0,)


def test_host_reserve():
    """Section 3.1.2: 8 cores and 24 GiB leave 7 and 23 to hand out."""
    supply = np.array([[8.0, 0.5], [24576.0, 512.0]])
    np.testing.assert_array_equal(market_capacity(supply), [[7.0, 0.0], [23552.0, 0.0]])


@pytest.mark.parametrize(
    ('servers', 'error', 'text'),
    [
        ([(1, 1, 1, 1.0, 1.0)], BadSnapshot, 'host rows 1 to 1: give 0 to 0'),
        ([(0, -1, 1, 1.0, 1.0)], BadAmount, 'bid -1 micro-credits for cpu of server 0'),
        (
            [(0, 1, 2**53 + 1, 1.0, 1.0)],
            BadAmount,
            'for memory of server 0: give 0 to 9007199254740992',
        ),
        ([(0, 1, 1, float('nan'), 1.0)], BadSnapshot, 'caps holds nan'),
        ([(0, 1, 1, 1.0, float('inf'))], BadSnapshot, 'caps holds 1 to inf'),
    ],
)
def test_bad_input_is_refused_by_name(servers, error, text):
    with pytest.raises(error, match=text):
        snapshot([(1.0, 1.0)], servers)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(BadSnapshot, match=r'last has the shape \(2, 1\)'):
        snapshot([(1.0, 1.0)], [(0, 1, 1, 1.0, 1.0)] * 2, last=[[0.0], [0.0]])


def selling(world, cpu, memory):
    """The same world, where the hosts of these flags control the resource."""
    sold = np.array([cpu, memory])
    return replace(world, sold=sold, capacity=np.where(sold, world.capacity, 0.0))


def test_what_no_host_controls_has_no_price_and_costs_nothing():
    """B5: whatever anybody bids for it; everybody has all he can use, and nobody has an error by it."""
    servers = [(0, 300, 900, 4.0, 512.0), (0, 100, 0, 4.0, 1024.0)]
    world = snapshot([(4.0, 1000.0)], servers, available=[200], reserve=(1.0, 5.0))
    outcome = decide(selling(world, [True], [False]))
    assert outcome.price[1] == outcome.bid_price[1] == outcome.demand[1] == 0.0
    assert outcome.bids.tolist() == [[149, 49], [0, 0]]  # rounded down, as 200 do not cover 400
    assert outcome.due().tolist() == [149, 49]
    np.testing.assert_allclose(outcome.actual, [[3.0, 1.0], [512.0, 1024.0]], rtol=0.02)
    np.testing.assert_allclose(outcome.error, 0.0, atol=1e-12)
    assert [Why(int(why)) for why in outcome.why] == [Why.SCALED | Why.MEMORY_UNSOLD] * 2
    # the same with memory sold
    sold = decide(world)
    assert sold.price[1] > 0 and sold.bids[1, 0] > 0


def test_a_host_that_controls_nothing_takes_no_part():
    """A dry run: the others' capacity and bids make the price, and its servers have what they can use."""
    servers = [(0, 400, 0, 4.0, 64.0), (1, 400, 0, 4.0, 64.0), (1, 800, 0, 4.0, 64.0)]
    world = snapshot([(4.0, 1000.0)] * 2, servers, reserve=(100.0, 0.0))
    outcome = decide(selling(world, [True, False], [True, False]))
    assert outcome.price[0] == pytest.approx(100.0)
    assert outcome.actual[0].tolist() == [4.0, 4.0, 4.0]
    assert outcome.due().tolist() == [400, 0, 0]
    assert outcome.ideal[0].tolist() == [4.0, 0.0, 0.0]
    assert Why.CPU_UNSOLD in Why(int(outcome.why[1]))
    assert Why.CPU_UNSOLD not in Why(int(outcome.why[0]))


def test_no_capacity_where_nothing_is_sold():
    with pytest.raises(BadSnapshot, match='give 0'):
        replace(snapshot([(4.0, 1000.0)], []), sold=np.array([[True], [False]]))
