# SPDX-License-Identifier: Apache-2.0
"""Money supply, velocity, the price index and purchasing power, by small numbers."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.economy import (
    BASE_ROUNDS,
    Basket,
    Offer,
    left_out,
    money_supply,
    next_basket,
    price_index,
    purchasing_power,
    velocity,
)


def offer(price=(10.0, 1.0), capacity=(8.0, 100.0), sold=(4.0, 50.0)):
    return Offer(price=np.array(price), capacity=np.array(capacity), sold=np.array(sold))


def complete(*offers, before=None):
    """A base window of these rounds."""
    basket = before or Basket()
    for one in offers:
        basket = next_basket(basket, one)
    return replace(basket, rounds=BASE_ROUNDS)


def test_supply_is_what_all_accounts_but_the_mint_hold():
    """So it is what the operator has issued (M1); what the bank has is not in circulation."""
    names = {
        'mint': -100, 'project:a': 30, 'project:b': 20, 'budget:x': 15, 'escrow': 5, 'bank': 30,
    }  # fmt: skip
    found = money_supply({AccountId(name): amount for name, amount in names.items()})
    assert (found.projects, found.budgets, found.escrow, found.bank) == (50, 15, 5, 30)
    assert (found.issued, found.circulating) == (100, 70)


def test_velocity_is_the_part_of_the_credits_that_is_charged_in_a_period():
    """Of a window, the mean; without credits there is none."""
    assert velocity([10, 30], [100, 100]) == 0.2
    assert velocity([10, 30], [100, 300]) == 0.1
    assert velocity([], []) is None and velocity([0], [0]) is None


def test_the_index_is_the_price_of_a_fixed_basket():
    """Laspeyres: 4 cores and 50 MiB cost 90 at first; with cores at twice the price 130."""
    basket = complete(offer())
    assert price_index(basket, offer()) == pytest.approx(100.0)
    assert price_index(basket, offer(price=(20.0, 1.0))) == pytest.approx(100 * 130 / 90)
    # what is sold now does not matter: the basket is that of the base window
    assert price_index(basket, offer(sold=(8.0, 0.0))) == pytest.approx(100.0)


def test_the_base_is_the_mean_of_its_window():
    """Weighted by what was sold; a complete window does not change any more."""
    basket = complete(offer(price=(10.0, 1.0)), offer(price=(30.0, 3.0)))
    assert price_index(basket, offer(price=(20.0, 2.0))) == pytest.approx(100.0)
    assert next_basket(basket, offer(price=(99.0, 9.0))) is basket


def test_prices_that_return_to_what_they_were_give_the_same_index():
    """A chained index would drift when quantities follow prices."""
    basket = complete(offer())
    for price, sold in (((20.0, 1.0), (1.0, 50.0)), ((5.0, 1.0), (8.0, 50.0))):
        basket = next_basket(basket, offer(price=price, sold=sold))
    assert price_index(basket, offer()) == pytest.approx(100.0)


def test_what_is_not_on_sale_is_left_out():
    """Memory that no host sells any more: CPU alone counts; nothing on sale has no index."""
    basket = complete(offer())
    gone = offer(price=(20.0, 0.0), capacity=(8.0, 0.0), sold=(4.0, 0.0))
    assert price_index(basket, gone) == pytest.approx(200.0)
    assert left_out(basket, gone) == {'memory': 'no host sells it'}
    assert left_out(basket, offer(price=(20.0, 0.0))) == {'memory': 'its price is 0'}
    assert left_out(basket, offer()) == {}
    empty = offer(price=(0.0, 0.0))
    assert price_index(basket, empty) is None and next_basket(basket, empty) is basket
    assert price_index(Basket(), offer()) is None
    assert left_out(Basket(), offer())['cpu'] == 'nothing of it was sold in the base window'


def test_a_resource_that_comes_on_sale_begins_a_new_base_at_the_level_of_the_index():
    """No jump when it comes; from then on its price counts."""
    cpu_only = offer(price=(10.0, 0.0), capacity=(8.0, 0.0), sold=(4.0, 0.0))
    basket = complete(cpu_only)
    both = offer(price=(15.0, 1.0))
    linked = next_basket(basket, both)
    assert linked.rounds == 1
    assert price_index(linked, both) == pytest.approx(150.0)
    dearer = offer(price=(15.0, 2.0))
    assert price_index(linked, dearer) == pytest.approx(150.0 * (60 + 100) / (60 + 50))


def test_a_resource_that_is_away_for_a_while_begins_no_new_base():
    """It is in the basket already."""
    basket = complete(offer())
    away = offer(price=(10.0, 0.0), capacity=(8.0, 0.0), sold=(4.0, 0.0))
    assert next_basket(next_basket(basket, away), offer()) is basket


def test_purchasing_power_is_what_the_spend_buys_now():
    """40 per period: 4 cores at 10; two ninths of what is worth 180; half of it at an index of 200."""
    power = purchasing_power(40, offer(), 200.0)
    assert (power.cores, power.real) == (4.0, 20.0)
    assert power.part == pytest.approx(40 / 180)


def test_nobody_can_buy_more_than_there_is():
    """At a reserve price of next to nothing: all cores, and all of the cloud."""
    power = purchasing_power(10**9, offer(price=(1e-3, 1e-3)), 1.0)
    assert (power.cores, power.part) == (8.0, 1.0)


def test_without_a_price_there_is_no_purchasing_power():
    """What nobody sells, and what costs nothing."""
    power = purchasing_power(40, offer(price=(0.0, 1.0)), None)
    assert power.cores is None and power.real is None and power.part == pytest.approx(0.4)
    assert purchasing_power(40, offer(price=(0.0, 0.0)), None).part is None
