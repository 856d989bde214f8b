# SPDX-License-Identifier: Apache-2.0
"""How credits come back to those who pay: currency policies, the hoarding tax, budgets and their forecast.

Implements Merkat (INRIA RR-8648), section 2.1 (re-chargeable currency, weights, budget renewal), and
INRIA RR-7837, section 3.1 (income redistributed by a bank); rules M3 and M4 of
doc/source/specs/market.rst. Units: whole micro-credits; rates in parts per million; times in periods.

Differs from the papers: a renewal gives the difference between what a project's weight entitles it to and
what it was entitled to before, because giving the whole total again each time would let prices rise
for ever. The tax is beyond Merkat; RR-7837 mentions it (section 5.1.2).

A plug-in of `nova_market.currency` is a function (CurrencyState) -> postings. All are idempotent: the
same state gives postings with the same keys. A posting to `mint` is a claim: it is taken as far as the
project has it, and what is left in later rounds (core.ledger.claim).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.money import split
from nova_market.core.ledger.posting import (
    BANK,
    MINT,
    AccountId,
    Posting,
    Reason,
    account,
    kind_of,
    posting_key,
)
from nova_market.errors import BadAmount

PARTS = 1_000_000
"""A rate of PARTS takes all."""

WEIGHT_PARTS = 1_000_000
"""A weight of 1 in whole numbers, as splits take them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyState:
    """What a policy knows at a period.

    total:    micro-credits the operator wants in circulation (`recharge`)
    weights:  per project, whole numbers, 0 gets nothing
    balances: per project, all that it has, in budgets and, where the tax is due, in escrow too
    entitled: per project, what renewals have given it so far (`recharge`)
    paid:     per project, charges of the period whose delay is over (`recharge`)
    pool:     in the bank for everybody: its income (`redistribute`) or the tax (`recharge`)
    """

    period: int
    weights: Mapping[str, int]
    balances: Mapping[str, int] = field(default_factory=dict)
    total: int = 0
    entitled: Mapping[str, int] = field(default_factory=dict)
    paid: Mapping[str, int] = field(default_factory=dict)
    pool: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a project sets aside for an application; `automatic` ones are filled up to `target`."""

    name: str
    project: str
    target: int
    automatic: bool
    balance: int


Currency = Callable[[CurrencyState], tuple[Posting, ...]]


def project_weights(accounts: Iterable[Account]) -> dict[str, int]:
    """Project -> its weight in parts of WEIGHT_PARTS, by id; without those that have none (M7)."""
    projects = {
        one.project_id: one.weight
        for one in accounts
        if kind_of(one.id) == 'project' and one.weight is not None
    }
    return {name: round(weight * WEIGHT_PARTS) for name, weight in sorted(projects.items())}


def weighed(
    accounts: Mapping[AccountId, Account], weight: float, projects: Collection[str]
) -> Mapping[AccountId, Account]:
    """With this weight for projects of these for which nobody has set one (M7)."""
    new = {
        name: replace(one, weight=weight)
        for name, one in accounts.items()
        if one.weight is None and kind_of(name) == 'project' and one.project_id in projects
    }
    return {**accounts, **new} if new else accounts


def recharge(state: CurrencyState) -> tuple[Posting, ...]:
    """M3, Merkat 2.1: entitlements by weight, charges back to who paid them, the tax by weight."""
    return (*renewals(state), *returns(state), *distributions(state))


def redistribute(state: CurrencyState) -> tuple[Posting, ...]:
    """M3, RR-7837 3.1: the bank's income by weight (equally, when all weights are equal)."""
    return distributions(state)


def renewals(state: CurrencyState) -> tuple[Posting, ...]:
    """Bring each project's entitlement to its weight's part of the total.

    What is too much is claimed.
    """
    wanted = split(state.total, state.weights)
    postings = []
    for project in sorted({*wanted, *state.entitled}):
        change = wanted.get(project, 0) - state.entitled.get(project, 0)
        if change:
            ends = (MINT, account('project', project))
            postings.append(_posting(state, Reason.RENEWAL, project, change, ends))
    return tuple(postings)


def returns(state: CurrencyState) -> tuple[Posting, ...]:
    """What was paid a delay ago goes back to who paid it."""
    return tuple(
        _posting(state, Reason.RETURN, project, amount, (BANK, account('project', project)))
        for project, amount in sorted(state.paid.items())
        if amount > 0
    )


def distributions(state: CurrencyState) -> tuple[Posting, ...]:
    """The pool, split by weight to the last micro-credit; it stays in the bank when nobody has a weight."""
    return tuple(
        _posting(state, Reason.DISTRIBUTION, project, part, (BANK, account('project', project)))
        for project, part in split(max(state.pool, 0), state.weights).items()
        if part > 0
    )


def hoarding_tax(balances: Mapping[str, int], floor: int, rate: int) -> dict[str, int]:
    """Project -> rate parts per million of what it holds above the floor.

    :raises BadAmount: a rate outside 0 to PARTS, or a negative floor.
    """
    if not 0 <= rate <= PARTS or floor < 0:
        raise BadAmount(
            f'tax of {rate} parts per million above {floor} micro-credits: '
            f'give a rate of 0 to {PARTS} and a floor of 0 or more'
        )
    dues = {p: max(have - floor, 0) * rate // PARTS for p, have in sorted(balances.items())}
    return {project: due for project, due in dues.items() if due > 0}


def budget_renewals(
    period: int, budgets: tuple[Budget, ...], balances: Mapping[str, int]
) -> tuple[Posting, ...]:
    """M4: automatic budgets are filled up; when a project can't fill all, in proportion to what lacks."""
    lacking: dict[str, dict[str, int]] = {}
    for budget in budgets:
        if budget.automatic and budget.target > budget.balance:
            lacking.setdefault(budget.project, {})[budget.name] = budget.target - budget.balance
    postings = []
    for project, wanted in sorted(lacking.items()):
        have = min(max(balances.get(project, 0), 0), sum(wanted.values()))
        for name, part in split(have, wanted).items():
            if part > 0:
                postings.append(
                    Posting(
                        key=posting_key(Reason.BUDGET, period, name),
                        reason=Reason.BUDGET,
                        debit=account('project', project),
                        credit=account('budget', name),
                        amount=part,
                    )
                )
    return tuple(postings)


def periods_left(balance: int, spent: int, received: int = 0) -> int | None:
    """M4: whole periods a balance lasts at this rate; None when it does not fall."""
    net = spent - received
    return max(balance, 0) // net if net > 0 else None


def _posting(
    state: CurrencyState,
    reason: Reason,
    project: str,
    amount: int,
    ends: tuple[AccountId, AccountId],
) -> Posting:
    """A posting between two accounts; a negative amount goes the other way."""
    debit, credit = ends if amount > 0 else (ends[1], ends[0])
    return Posting(
        key=posting_key(reason, state.period, project),
        reason=reason,
        debit=debit,
        credit=credit,
        amount=abs(amount),
    )
