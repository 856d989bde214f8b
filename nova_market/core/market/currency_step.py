# SPDX-License-Identifier: Apache-2.0
"""What the currency does in a round: renewals, returns, the tax, budgets.

Implements rules M3, M4 and M6 of doc/source/specs/market.rst. Decided with the round and stored in its
document, so that a settlement that is made again posts the same. Units: micro-credits, periods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.ledger.claim import Holding, taken, together
from nova_market.core.ledger.currency import (
    Budget,
    CurrencyState,
    budget_renewals,
    hoarding_tax,
    project_weights,
)
from nova_market.core.ledger.posting import MINT, Posting, account, bare_id, kind_of
from nova_market.core.market.carried_state import CarriedState, after_returns
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.settings import MarketSettings

HALF = 27
"""Bits of a bid: of up to 2^26 servers, with two bids of up to 2^53 each, the halves add up below 2^53."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyInputs:
    """What the currency decides on, once the charges of a round are paid.

    weights:  project -> weight, as core.ledger.currency.project_weights gives it
    balances: project -> what it has and has not set aside
    aside:    project -> what is in its budgets, by id
    escrow:   project -> what is in escrow for it
    paid:     project -> charges that are due to be returned now
    bank:     what was in the bank before the charges of this round
    budgets:  those that are to be filled up now
    carried:  from the round before
    """

    period: int
    weights: Mapping[str, int]
    balances: Mapping[str, int]
    aside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    escrow: Mapping[str, int] = field(default_factory=dict)
    paid: Mapping[str, int]
    bank: int
    budgets: tuple[Budget, ...]
    carried: CarriedState

    def holding(self, project: str) -> Holding:
        """All that a project has."""
        return Holding(
            account=self.balances.get(project, 0) + self.paid.get(project, 0),
            budgets=self.aside.get(project, {}),
            escrow=self.escrow.get(project, 0),
        )


def renews(carried: CarriedState, period: int, settings: MarketSettings) -> bool:
    """Whether the total is renewed in the round of this period, and the tax is due."""
    return carried.renewed == 0 or period - carried.renewed >= settings.renew_every


def currency_step(
    inputs: CurrencyInputs, settings: MarketSettings
) -> tuple[tuple[Posting, ...], CarriedState]:
    """(what is posted after the charges, what is carried to the next round)."""
    carried = after_returns(inputs.carried, inputs.paid)
    due = renews(carried, inputs.period, settings)
    # who appears in between would have nothing until the next renewal
    divides = due or bool(inputs.weights.keys() - carried.entitled.keys())
    # a project whose account cannot be read keeps its part of the total, which others do not divide
    entitled = {name: one for name, one in carried.entitled.items() if name in inputs.weights}
    apart = sum(carried.entitled.values()) - sum(entitled.values())
    holdings = {n: inputs.holding(n) for n in sorted({*inputs.balances, *carried.entitled})}
    state = CurrencyState(
        period=inputs.period,
        weights=inputs.weights if divides else {},
        balances={name: one.total for name, one in holdings.items()},
        total=max(settings.total - apart, 0),
        # without weights a renewal would take everything back
        entitled=entitled if divides else {},
        paid=inputs.paid,
        pool=carried.pool if settings.return_delay else inputs.bank,
    )
    decided = settings.currency(state)
    if divides:
        seen = dict.fromkeys(inputs.weights, 0) | dict(carried.entitled)
        claimed = {bare_id(one.debit): one.amount for one in decided if one.credit == MINT}
        carried = replace(carried, entitled=seen, back=claimed)
    if due:
        carried = replace(carried, renewed=inputs.period)
        if settings.tax_rate:
            carried = replace(carried, tax=_taxed(carried, holdings, settings))
    postings = [one for one in decided if one.credit != MINT]
    postings += taken(inputs.period, holdings, carried.back, carried.tax)
    postings += budget_renewals(inputs.period, inputs.budgets, _after(inputs.balances, postings))
    return tuple(postings), carried


def currency_inputs(inputs: RoundInputs, outcome: RoundOutcome) -> CurrencyInputs:
    """What the currency decides on when everything that the round has allocated is confirmed."""
    left = _left(inputs, outcome)
    projects = {
        one.project_id: one for one in inputs.accounts.values() if kind_of(one.id) == 'project'
    }
    return CurrencyInputs(
        period=inputs.period,
        weights=project_weights(inputs.accounts.values()),
        balances={name: left[one.id] for name, one in sorted(projects.items())},
        aside=_aside(inputs, left),
        escrow=inputs.escrow,
        paid=inputs.past.paid,
        bank=inputs.bank,
        budgets=_budgets(inputs, left),
        carried=inputs.past.carried,
    )


def payer_dues(inputs: RoundInputs, outcome: RoundOutcome) -> list[int]:
    """What each payer owes when everything is confirmed."""
    return [int(n) for n in np.bincount(inputs.snapshot.payer, outcome.due(), len(inputs.payers))]


def payer_bids(inputs: RoundInputs) -> list[int]:
    """What the bids of each payer add up to before B2, without those for what is not sold (B5)."""
    sold = np.where(inputs.snapshot.buyable, inputs.bids.bids, 0).sum(axis=0)
    # numpy sums by payer in float64: each half of a bid adds up exactly, and Python's integers do the rest
    high, low = (
        np.bincount(inputs.snapshot.payer, half, len(inputs.payers)).tolist()
        for half in (sold >> HALF, sold & (2**HALF - 1))
    )
    return [(int(a) << HALF) + int(b) for a, b in zip(high, low, strict=True)]


def _taxed(
    carried: CarriedState, holdings: Mapping[str, Holding], settings: MarketSettings
) -> dict[str, int]:
    """Project -> the tax that it owes: what it owed before, and that on what is left to it."""
    owed = together(carried.back, carried.tax)
    held = {name: one.total - owed.get(name, 0) for name, one in holdings.items()}
    new = hoarding_tax(held, settings.tax_floor, settings.tax_rate)
    every = sorted({*carried.tax, *new})
    return {name: carried.tax.get(name, 0) + new.get(name, 0) for name in every}


def _after(balances: Mapping[str, int], postings: Sequence[Posting]) -> dict[str, int]:
    """Project -> what its account will have, of what it has; what it gets pays what it owes first."""
    change = dict.fromkeys((account('project', name) for name in balances), 0)
    for posting in postings:
        for name, amount in ((posting.debit, -posting.amount), (posting.credit, posting.amount)):
            if name in change:
                change[name] += amount
    return {n: have + min(change[account('project', n)], 0) for n, have in balances.items()}


def _aside(inputs: RoundInputs, left: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Project -> what is in its budgets after the charges, by id."""
    found: dict[str, dict[str, int]] = {}
    for name, one in inputs.accounts.items():
        if kind_of(name) == 'budget' and left[name] > 0:
            found.setdefault(one.project_id, {})[bare_id(name)] = left[name]
    return found


def _left(inputs: RoundInputs, outcome: RoundOutcome) -> dict[str, int]:
    """Account -> what is in it after the charges."""
    left: dict[str, int] = {name: a.balance for name, a in inputs.accounts.items()}
    for payer, due in zip(inputs.payers, payer_dues(inputs, outcome), strict=True):
        left[payer] = max(left[payer] - due, 0)
    return left


def _budgets(inputs: RoundInputs, left: Mapping[str, int]) -> tuple[Budget, ...]:
    """Those whose time has come since the round before."""
    return tuple(
        Budget(
            name=bare_id(one.id),
            project=one.project_id,
            target=one.renew_amount or 0,
            automatic=True,
            balance=left[one.id],
        )
        for _, one in sorted(inputs.accounts.items())
        if kind_of(one.id) == 'budget'
        and one.renew_amount is not None
        and inputs.period // one.renew_every > inputs.past.period // one.renew_every
    )
