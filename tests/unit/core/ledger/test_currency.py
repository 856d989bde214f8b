# SPDX-License-Identifier: Apache-2.0
"""How credits come back: renewal, return of charges, redistribution, tax, budgets (M3, M4)."""

import pytest

from nova_market.core.ledger.currency import (
    Budget,
    CurrencyState,
    budget_renewals,
    hoarding_tax,
    periods_left,
    recharge,
    redistribute,
    renewals,
)
from nova_market.core.ledger.posting import BANK, MINT, Book, Posting, Reason, account
from nova_market.errors import BadAmount

WEIGHTS = {'a': 3, 'b': 1}


def moved(postings):
    return [(p.debit, p.credit, p.amount) for p in postings]


def test_the_total_is_handed_out_by_weight():
    state = CurrencyState(period=1, weights=WEIGHTS, total=100)
    assert moved(renewals(state)) == [(MINT, 'project:a', 75), (MINT, 'project:b', 25)]


def test_a_second_renewal_mints_nothing():
    """The currency is bounded: what is in circulation is the total, however often it is renewed."""
    state = CurrencyState(period=2, weights=WEIGHTS, total=100, entitled={'a': 75, 'b': 25})
    assert renewals(state) == ()


def test_new_weights_move_the_difference():
    """All of it is claimed, whatever is there."""
    state = CurrencyState(
        period=2,
        weights={'a': 1, 'b': 1},
        total=100,
        entitled={'a': 75, 'b': 25},
        balances={'a': 10},
    )
    assert moved(renewals(state)) == [('project:a', MINT, 25), (MINT, 'project:b', 25)]


def test_a_project_without_weight_loses_its_entitlement():
    state = CurrencyState(
        period=2, weights={'a': 1}, total=75, entitled={'a': 75, 'b': 25}, balances={'b': 99}
    )
    assert moved(renewals(state)) == [('project:b', MINT, 25)]


def test_recharge_returns_charges_to_who_paid():
    state = CurrencyState(
        period=9, weights=WEIGHTS, total=100, entitled={'a': 75, 'b': 25}, paid={'b': 7, 'a': 0}
    )
    assert moved(recharge(state)) == [(BANK, 'project:b', 7)]


def test_redistribution_is_exact():
    state = CurrencyState(period=9, weights={'a': 1, 'b': 1, 'c': 1}, pool=100)
    assert [p.amount for p in redistribute(state)] == [34, 33, 33]
    assert redistribute(CurrencyState(period=9, weights={'a': 0}, pool=100)) == ()


def test_posting_a_policy_twice_changes_nothing():
    book = Book()
    state = CurrencyState(period=3, weights=WEIGHTS, total=100)
    assert book.post_all(recharge(state)) == 2
    assert book.post_all(recharge(state)) == 0
    assert book.issued == 100


def test_a_closed_circle_keeps_every_credit():
    """Thirty periods of paying and redistributing: the issued sum is where it was."""
    book = Book()
    book.post_all(recharge(CurrencyState(period=0, weights=WEIGHTS, total=1001)))
    for period in range(1, 31):
        for name in WEIGHTS:
            have = book.balance(account('project', name))
            if have // 3:
                key = f'charge:{period}:{name}'
                project = account('project', name)
                book.post(
                    Posting(
                        key=key, reason=Reason.CHARGE, debit=project, credit=BANK, amount=have // 3
                    )
                )
        state = CurrencyState(period=period, weights=WEIGHTS, pool=book.balance(BANK))
        book.post_all(redistribute(state))
        assert book.balance(BANK) == 0
    assert book.issued == 1001
    assert sum(book.balances().values()) == 0


def test_hoarding_tax_is_on_what_is_above_the_floor():
    assert hoarding_tax({'a': 1100, 'b': 100, 'c': -5}, floor=100, rate=50_000) == {'a': 50}
    assert hoarding_tax({'a': 1100}, floor=0, rate=0) == {}


@pytest.mark.parametrize(('floor', 'rate'), [(0, -1), (0, 1_000_001), (-1, 5)])
def test_bad_tax(floor, rate):
    with pytest.raises(BadAmount, match='give a rate of 0 to 1000000'):
        hoarding_tax({}, floor, rate)


def budget(name, target, balance, *, automatic=True):
    return Budget(name=name, project='a', target=target, automatic=automatic, balance=balance)


def test_automatic_budgets_are_filled_up():
    budgets = (budget('x', 50, 20), budget('y', 10, 30), budget('z', 90, 0, automatic=False))
    assert moved(budget_renewals(1, budgets, {'a': 99})) == [('project:a', 'budget:x', 30)]


def test_budgets_share_what_a_poor_project_has():
    budgets = (budget('x', 50, 20), budget('y', 60, 0))
    assert [p.amount for p in budget_renewals(1, budgets, {'a': 30})] == [10, 20]
    assert budget_renewals(1, budgets, {'a': 0}) == ()


@pytest.mark.parametrize(
    ('balance', 'spent', 'received', 'left'),
    [(100, 30, 0, 3), (100, 30, 20, 10), (100, 5, 5, None), (0, 1, 0, 0), (-5, 1, 0, 0)],
)
def test_forecast_of_exhaustion(balance, spent, received, left):
    assert periods_left(balance, spent, received) == left
