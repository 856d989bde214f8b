# SPDX-License-Identifier: Apache-2.0
"""What is carried from round to round: written, read back, changed by what was posted; returns in order."""

from nova_market.core.ledger.posting import BANK, MINT, Posting, Reason, account, totals
from nova_market.core.market.carried_state import (
    CATCH_UP,
    KEY,
    CarriedState,
    after_postings,
    after_returns,
    before_first_round,
    carried_state,
    due_returns,
    uncounted,
    with_charges,
)
from nova_market.core.market.past import paid_by_projects

RED, BLUE, WEB = account('project', 'red'), account('project', 'blue'), account('budget', 'web')


def test_a_round_document_keeps_it():
    """What is written is read back; a document without it gives the state of nobody."""
    state = CarriedState(
        entitled={'red': 5}, renewed=3, returned=9, counted=11, coming={'red': 2}, pool=7,
        low=('a',), short=('b',),
    )  # fmt: skip
    assert carried_state({KEY: state.plain()}) == state
    assert carried_state({}) == CarriedState()


def test_documents_of_other_versions_are_read():
    """One from before charges were counted counts all since the last return; later fields are left out."""
    old = {'entitled': {}, 'renewed': 3, 'returned': 9, 'pool': 7, 'low': [], 'short': []}
    assert carried_state({KEY: old}) == CarriedState(renewed=3, returned=9, counted=9, pool=7)
    assert carried_state({KEY: {**old, 'later': 1}}).counted == 9


def test_entitlements_follow_what_was_posted():
    """A renewal that gives counts up, one that takes counts down; others stay."""
    state = CarriedState(entitled={'red': 10, 'blue': 4})
    renewals = {(MINT, RED): 5, (BLUE, MINT): 3}
    assert after_postings(state, {Reason.RENEWAL: renewals}).entitled == {
        'red': 15, 'blue': 1,
    }  # fmt: skip


def test_the_pool_is_what_taxes_left():
    """It never falls below nothing, as where the bank's income is distributed."""
    state = CarriedState(pool=10)
    given = {Reason.DISTRIBUTION: {(BANK, RED): 5, (BANK, BLUE): 7}}
    assert after_postings(state, given | {Reason.TAX: {(RED, BANK): 5}}).pool == 3
    assert after_postings(state, given).pool == 0


def test_charges_return_after_their_delay():
    """Each period once, in order; nothing before the delay is over."""
    state = before_first_round(100)
    due, state = due_returns(state, 101, 2, 100)
    assert (list(due), state.returned) == ([], 99)
    due, state = due_returns(state, 104, 2, 103)
    assert (list(due), state.returned) == ([100, 101, 102], 102)
    due, state = due_returns(state, 104, 2, 103)
    assert (list(due), state.returned) == ([], 102)


def test_charges_return_when_all_before_them_are_known():
    """With the first round that finds the periods up to them settled, however short the delay is."""
    due, state = due_returns(before_first_round(100), 104, 1, 100)
    assert (list(due), state.returned) == ([100], 100)
    due, state = due_returns(state, 105, 1, 99)
    assert (list(due), state.returned) == ([], 100)
    due, state = due_returns(state, 106, 1, 105)
    assert (list(due), state.returned) == ([101, 102, 103, 104, 105], 105)


def test_a_long_pause_is_caught_up_with_by_and_by():
    """At most CATCH_UP periods in one round."""
    due, state = due_returns(CarriedState(returned=10), 10_000, 5, 9_999)
    assert (due[0], due[-1], state.returned) == (11, 10 + CATCH_UP, 10 + CATCH_UP)


def test_each_period_is_counted_once_when_it_is_settled():
    """A round that is still being settled is counted with the next one; what returns is always counted."""
    state = CarriedState(returned=10, counted=20)
    assert list(uncounted(state, 21, range(11, 12))) == [21]
    assert list(uncounted(state, 20, range(11, 12))) == []
    assert list(uncounted(state, 22, range(11, 12))) == [21, 22]
    assert list(uncounted(state, 20, range(11, 22))) == [21]


def test_charges_are_on_their_way_until_they_have_returned():
    """Project by project, to the micro-credit."""
    state = with_charges(
        CarriedState(counted=4, coming={'red': 5}), range(5, 6), {'red': 2, 'blue': 1}
    )
    assert (state.counted, state.coming) == (5, {'red': 7, 'blue': 1})
    assert after_returns(state, {'red': 3, 'blue': 1}).coming == {'red': 4}
    assert with_charges(state, range(6, 6), {}) == state


def test_without_a_delay_nothing_returns():
    """And nothing is owed later, when the delay is changed."""
    due, state = due_returns(CarriedState(returned=10), 50, 0, 49)
    assert (list(due), state.returned) == ([], 49)


def test_what_a_budget_paid_is_its_projects():
    """Charges of projects and of their budgets add up; a budget that nobody knows is left out."""
    charges = [
        {(RED, BANK): 3, (WEB, BANK): 4},
        {(BLUE, BANK): 5, (account('budget', 'x'), BANK): 9},
    ]
    found = paid_by_projects([*charges, {(RED, WEB): 100}], {WEB: 'red'}.get)
    assert found == {'red': 7, 'blue': 5}


def test_postings_add_up_by_reason_and_ends():
    """As the ledger gives them."""
    postings = [
        Posting(key=str(number), reason=reason, debit=RED, credit=BANK, amount=number)
        for number, reason in enumerate([Reason.TAX, Reason.CHARGE, Reason.CHARGE], 1)
    ]
    assert totals(postings) == {Reason.TAX: {(RED, BANK): 1}, Reason.CHARGE: {(RED, BANK): 5}}
