# SPDX-License-Identifier: Apache-2.0
"""What is stored of the economy of a round, and what the next round takes from it."""

from dataclasses import replace

import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.economy import Basket
from nova_market.core.market.economy_record import (
    basket_of,
    economy_record,
    offer_of,
    power_records,
    project_wealth,
    velocity_of,
)
from nova_market.core.market.record import PriceRecord


def prices(cpu, memory=None, sold=4.0):
    values = {'cpu': cpu} | ({} if memory is None else {'memory': memory})
    return [
        PriceRecord(
            period=1, resource=name, price=value, bid_price=value, capacity=8.0, allocated=sold,
            bids=1,
        )
        for name, value in values.items()
    ]  # fmt: skip


def test_the_next_round_goes_on_from_what_is_stored():
    """The basket is complete in the record: no other round is read."""
    first = economy_record(1, {}, offer_of(prices(10.0, 1.0)), Basket())
    second = economy_record(2, {}, offer_of(prices(20.0, 2.0)), basket_of(first))
    assert (first.price_index, second.base_rounds) == (pytest.approx(100.0), 2)
    # against the mean of the two
    assert second.price_index == pytest.approx(100 * 20 / 15)
    assert basket_of(None).rounds == 0


def test_a_resource_without_a_price_is_not_on_sale():
    """As in a round that stored none."""
    found = offer_of(prices(10.0))
    assert found.on_sale.tolist() == [True, False]


def test_a_project_has_what_its_budgets_have_and_what_comes_back():
    """Charges that return to it, and its part of what the bank divides by weight; the bank is nobody's."""
    accounts = {
        one.id: one
        for one in (
            Account(id=AccountId('project:a'), project_id='a', balance=10, weight=1.0),
            Account(id=AccountId('budget:x'), project_id='a', balance=5),
            Account(id=AccountId('project:b'), project_id='b', weight=3.0),
            Account(id=AccountId('bank'), balance=99),
        )
    }
    assert project_wealth(accounts, {'b': 7, 'a': 1}, 0) == {'a': 16, 'b': 7}
    assert project_wealth(accounts, {}, 40) == {'a': 25, 'b': 30}


def test_the_spend_is_the_wealth_over_the_cycle():
    """B3: 100 over 10 periods buys a core at 10, half of 8 cores worth 80 eight times."""
    (one,) = power_records(3, {'a': 100}, 10, offer_of(prices(10.0)), 50.0)
    assert (one.period, one.project_id, one.wealth, one.spend) == (3, 'a', 100, 10)
    assert (one.cores, one.part, one.real) == (1.0, 0.125, 20.0)


def test_the_velocity_of_a_window_is_that_of_its_settled_rounds():
    """A round whose charges are not known yet counts neither in the charges nor in the supply."""
    balances = {AccountId('project:a'): 60, AccountId('bank'): 40}
    offer = offer_of(prices(10.0))
    open_ = economy_record(2, balances, offer, Basket())
    assert velocity_of([open_]) is None
    assert velocity_of([replace(open_, charged=20), open_]) == 0.2
