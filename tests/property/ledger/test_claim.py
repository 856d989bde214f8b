# SPDX-License-Identifier: Apache-2.0
"""M6: what the operator claims is taken from all that a project has, once, and nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.ledger.claim import Holding, left, taken
from nova_market.core.ledger.posting import Book, Reason, account, totals

amount = st.integers(0, 50)
holding = st.builds(
    Holding,
    account=amount,
    budgets=st.dictionaries(st.sampled_from(['web', 'app', 'db']), amount),
    escrow=amount,
)


@given(holding=holding, back=amount, tax=amount)
def test_a_claim_is_taken_as_far_as_there_is_something(holding, back, tax):
    """The entitlement first; what is left is what was not at hand, and the rest stays where it was."""
    own = account('project', 'p')
    budgets = {account('budget', name): have for name, have in holding.budgets.items()}
    book = Book({own: holding.account, 'escrow': holding.escrow, **budgets})
    postings = taken(1, {'p': holding}, {'p': back}, {'p': tax})
    assert book.post_all(postings) == len(postings), 'nothing is refused'
    moved = totals(postings)
    to_mint = sum(moved.get(Reason.RENEWAL, {}).values())
    to_bank = sum(moved.get(Reason.TAX, {}).values())
    assert to_mint == min(back, holding.at_hand)
    assert to_bank == min(tax, holding.at_hand - to_mint)
    assert book.balance('mint') == to_mint and book.balance('bank') == to_bank
    kept = book.balance(own) + sum(book.balance(name) for name in budgets)
    assert kept == holding.at_hand - to_mint - to_bank
    assert book.balance('escrow') == holding.escrow
    rest = left({'p': back}, {'p': to_mint}).get('p', 0) + left({'p': tax}, {'p': to_bank}).get(
        'p', 0
    )
    assert rest == back + tax - to_mint - to_bank
    assert not rest or kept == 0


@given(holding=holding, tax=amount)
def test_a_budget_gives_only_what_the_account_lacks(holding, tax):
    """An application keeps its budget while its project can pay."""
    postings = taken(1, {'p': holding}, {}, {'p': tax})
    from_budgets = sum(totals(postings).get(Reason.BUDGET, {}).values())
    assert from_budgets == max(min(tax, holding.at_hand) - holding.account, 0)
