# SPDX-License-Identifier: Apache-2.0
"""The currency of one round: when it renews, what the tax and the budgets take, what stays unposted."""

from dataclasses import replace

from nova_market.core.ledger.currency import WEIGHT_PARTS, Budget, recharge, redistribute
from nova_market.core.ledger.posting import Reason, totals
from nova_market.core.market.carried_state import CarriedState, after_postings
from nova_market.core.market.currency_step import CurrencyInputs, currency_step
from nova_market.core.market.settings import MarketSettings

SETTINGS = MarketSettings(currency=recharge, total=100, renew_every=10, return_delay=5)


def inputs(**more):
    known = {
        'period': 50,
        'weights': {'blue': WEIGHT_PARTS, 'red': WEIGHT_PARTS},
        'balances': {'blue': 0, 'red': 0},
        'paid': {},
        'bank': 0,
        'budgets': (),
        'carried': CarriedState(),
    }
    return CurrencyInputs(**known | more)


def amounts(postings, reason):
    return {
        p.credit if p.debit in ('mint', 'bank') else p.debit: p.amount
        for p in postings
        if p.reason == reason
    }


def test_the_first_round_renews_and_remembers_when():
    """Equal weights, equal parts."""
    postings, carried = currency_step(inputs(), SETTINGS)
    assert amounts(postings, Reason.RENEWAL) == {'project:blue': 50, 'project:red': 50}
    assert carried.renewed == 50


def test_between_renewals_only_charges_return():
    """Nothing is taken back although no weights are given."""
    carried = CarriedState(entitled={'blue': 50, 'red': 50}, renewed=45)
    rich = {'blue': 50, 'red': 50}
    postings, after = currency_step(
        inputs(carried=carried, paid={'red': 7}, balances=rich), SETTINGS
    )
    assert [(p.reason, p.amount) for p in postings] == [(Reason.RETURN, 7)]
    assert after.renewed == 45
    later, after = currency_step(inputs(period=55, carried=carried), SETTINGS)
    assert later == () and after.renewed == 55


def test_a_new_project_is_entitled_between_two_renewals():
    """What it receives is taken from the others, so that the total stays; nobody is taxed for it."""
    settings = replace(SETTINGS, tax_rate=500_000)
    carried = CarriedState(entitled={'blue': 100}, renewed=45)
    postings, after = currency_step(
        inputs(carried=carried, balances={'blue': 80, 'red': 0}), settings
    )
    assert [(p.reason, p.debit, p.credit, p.amount) for p in postings] == [
        (Reason.RENEWAL, 'mint', 'project:red', 50),
        (Reason.RENEWAL, 'project:blue', 'mint', 50),
    ]
    assert after.renewed == 45 and after.entitled.keys() == {'blue', 'red'}
    after = after_postings(after, totals(postings))
    assert after.entitled == {'blue': 50, 'red': 50} and after.back == {}
    assert currency_step(inputs(carried=after), settings)[0] == ()


def test_charges_that_return_are_no_longer_on_their_way():
    """From the round on in which they go back."""
    carried = CarriedState(entitled={'blue': 50, 'red': 50}, renewed=45, coming={'red': 9})
    assert currency_step(inputs(carried=carried, paid={'red': 7}), SETTINGS)[1].coming == {'red': 2}


def test_the_tax_is_taken_with_a_renewal_from_what_it_leaves():
    """Half of what is above the floor, after what the renewal itself has taken back."""
    settings = replace(SETTINGS, tax_rate=500_000, tax_floor=10)
    carried = CarriedState(entitled={'blue': 80, 'red': 50}, renewed=1)
    postings, _ = currency_step(inputs(carried=carried, balances={'blue': 60, 'red': 8}), settings)
    assert amounts(postings, Reason.RENEWAL) == {'project:blue': 30}
    assert amounts(postings, Reason.TAX) == {'project:blue': 10}


def test_the_tax_is_on_what_is_set_aside_and_held_too():
    """M6: of 20 in the account, 30 in budgets and 50 in escrow half is due, and 50 can be taken."""
    settings = replace(SETTINGS, tax_rate=500_000)
    carried = CarriedState(entitled={'blue': 50, 'red': 50}, renewed=1)
    rich = inputs(
        carried=carried, balances={'blue': 20}, aside={'blue': {'web': 10, 'app': 20}},
        escrow={'blue': 50},
    )  # fmt: skip
    postings, after = currency_step(rich, settings)
    assert [(p.key, p.debit, p.credit, p.amount) for p in postings] == [
        ('budget:50:app/claim', 'budget:app', 'project:blue', 20),
        ('budget:50:web/claim', 'budget:web', 'project:blue', 10),
        ('tax:50:blue', 'project:blue', 'bank', 50),
    ]
    assert after_postings(after, totals(postings)).tax == {}


def test_what_cannot_be_taken_is_taken_when_it_is_there():
    """M6: all is in escrow at the renewal; later rounds take what comes back, and no tax is due on a tax."""
    settings = replace(SETTINGS, tax_rate=500_000)
    carried = CarriedState(entitled={'blue': 80, 'red': 20}, renewed=1)
    found, after = currency_step(inputs(carried=carried, escrow={'blue': 90}), settings)
    assert amounts(found, Reason.RENEWAL) == {'project:red': 30} and after.back == {'blue': 30}
    assert after.tax == {'blue': 30}, 'half of what the renewal leaves'
    after = after_postings(after, totals(found))
    seen = []
    for period, have, paid in ((51, 0, 0), (52, 20, 0), (53, 0, 25), (54, 90, 0)):
        found, after = currency_step(
            inputs(period=period, carried=after, balances={'blue': have}, paid={'blue': paid}),
            settings,
        )
        after = after_postings(after, totals(found))
        seen.append((amounts(found, Reason.RENEWAL), amounts(found, Reason.TAX)))
    blue = 'project:blue'
    assert seen == [({}, {}), ({blue: 20}, {}), ({blue: 10}, {blue: 15}), ({}, {blue: 15})]
    assert after.back == after.tax == {} and after.entitled == {'blue': 50, 'red': 50}


def test_what_was_not_posted_is_claimed_again():
    """M6: credits that were moved away before the settlement."""
    settings = replace(SETTINGS, tax_rate=500_000)
    carried = CarriedState(entitled={'blue': 50, 'red': 50}, renewed=1)
    _, after = currency_step(inputs(carried=carried, balances={'blue': 60}), settings)
    again, _ = currency_step(
        inputs(period=51, carried=after_postings(after, {}), balances={'blue': 60}), settings
    )
    assert amounts(again, Reason.TAX) == {'project:blue': 30}


def test_budgets_are_filled_with_what_is_left_after_all_else():
    """A project that has 20 after the tax fills 20."""
    budget = Budget(name='web', project='red', target=100, automatic=True, balance=0)
    carried = CarriedState(entitled={'blue': 50, 'red': 50}, renewed=1)
    settings = replace(SETTINGS, tax_rate=500_000)
    postings, _ = currency_step(
        inputs(carried=carried, balances={'blue': 0, 'red': 40}, budgets=(budget,)), settings
    )
    assert amounts(postings, Reason.BUDGET) == {'project:red': 20}


def test_what_returns_pays_what_is_claimed_before_budgets_wait():
    """M4, M6: 60 return and 50 are due, so all 40 that it has are for its budget."""
    budget = Budget(name='web', project='blue', target=100, automatic=True, balance=0)
    carried = CarriedState(entitled={'blue': 50, 'red': 50}, renewed=1)
    postings, _ = currency_step(
        inputs(carried=carried, balances={'blue': 40}, paid={'blue': 60}, budgets=(budget,)),
        replace(SETTINGS, tax_rate=500_000),
    )
    assert amounts(postings, Reason.TAX) == {'project:blue': 50}
    assert amounts(postings, Reason.BUDGET) == {'project:blue': 40}


def test_the_bank_is_split_where_charges_do_not_return():
    """Its income of before; with a delay it is the taxes that are split."""
    settings = replace(SETTINGS, currency=redistribute, return_delay=0)
    postings, _ = currency_step(inputs(bank=30, carried=CarriedState(pool=4)), settings)
    assert amounts(postings, Reason.DISTRIBUTION) == {'project:blue': 15, 'project:red': 15}
    postings, _ = currency_step(
        inputs(bank=30, carried=CarriedState(pool=4)), replace(settings, return_delay=1)
    )
    assert amounts(postings, Reason.DISTRIBUTION) == {'project:blue': 2, 'project:red': 2}


def test_a_project_whose_account_is_not_known_keeps_its_part():
    """Others neither get it nor lose any, whatever is divided meanwhile."""
    carried = CarriedState(entitled={'blue': 60, 'red': 40}, renewed=40)
    known = {'weights': {'red': WEIGHT_PARTS}, 'balances': {'red': 40}}
    postings, after = currency_step(inputs(carried=carried, **known), SETTINGS)
    assert postings == () and after.entitled == {'blue': 60, 'red': 40}
    known = {'weights': {'red': 3, 'green': 1}, 'balances': {'red': 40, 'green': 0}}
    postings, after = currency_step(inputs(period=60, carried=after, **known), SETTINGS)
    assert amounts(postings, Reason.RENEWAL) == {'project:red': 10, 'project:green': 10}
