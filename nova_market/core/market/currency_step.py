# SPDX-License-Identifier: Apache-2.0
"""What the currency does in a round: renewals, returns, the tax, budgets.

Implements rules M3 and M4 of doc/source/specs/market.rst. Decided with the round and stored in its document,
so that a settlement that is made again posts the same. Units: micro-credits, periods.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.ledger.currency import (
    Budget,
    CurrencyState,
    budget_renewals,
    hoarding_tax,
    project_weights,
)
from nova_market.core.ledger.posting import Posting, account, kind_of
from nova_market.core.market.carried_state import CarriedState, after_returns
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.settings import MarketSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyInputs:
    """What the currency decides on, once the charges of a round are paid.

    weights:  project -> weight, as core.ledger.currency.project_weights gives it
    balances: project -> what it has and has not set aside
    paid:     project -> charges that are due to be returned now
    bank:     what was in the bank before the charges of this round
    budgets:  those that are to be filled up now
    carried:  from the round before
    """

    period: int
    weights: Mapping[str, int]
    balances: Mapping[str, int]
    paid: Mapping[str, int]
    bank: int
    budgets: tuple[Budget, ...]
    carried: CarriedState


def currency_step(
    inputs: CurrencyInputs, settings: MarketSettings
) -> tuple[tuple[Posting, ...], CarriedState]:
    """(what is posted after the charges, what is carried to the next round)."""
    carried, balances = after_returns(inputs.carried, inputs.paid), inputs.balances
    due = carried.renewed == 0 or inputs.period - carried.renewed >= settings.renew_every
    # who appears in between would have nothing until the next renewal
    divides = due or bool(inputs.weights.keys() - carried.entitled.keys())
    # a project whose account cannot be read keeps its part of the total, which others do not divide
    entitled = {name: one for name, one in carried.entitled.items() if name in inputs.weights}
    apart = sum(carried.entitled.values()) - sum(entitled.values())
    state = CurrencyState(
        period=inputs.period,
        weights=inputs.weights if divides else {},
        balances=balances,
        total=max(settings.total - apart, 0),
        # without weights a renewal would take everything back
        entitled=entitled if divides else {},
        paid=inputs.paid,
        pool=carried.pool if settings.return_delay else inputs.bank,
    )
    postings = [*settings.currency(state)]
    if divides:
        seen = dict.fromkeys(inputs.weights, 0) | dict(carried.entitled)
        carried = replace(carried, entitled=seen)
    if due:
        carried = replace(carried, renewed=inputs.period)
        if settings.tax_rate:
            given = {posting.debit: posting.amount for posting in postings}
            held = {n: b - given.get(account('project', n), 0) for n, b in balances.items()}
            postings += hoarding_tax(inputs.period, held, settings.tax_floor, settings.tax_rate)
    spent: dict[str, int] = {}
    for posting in postings:
        spent[posting.debit] = spent.get(posting.debit, 0) + posting.amount
    after = {n: b - spent.get(account('project', n), 0) for n, b in balances.items()}
    postings += budget_renewals(inputs.period, inputs.budgets, after)
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
    sold = np.where(inputs.snapshot.buyable, inputs.bids.bids, 0)
    sums = np.bincount(inputs.snapshot.payer, sold.sum(axis=0), len(inputs.payers))
    return [int(amount) for amount in sums.tolist()]


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
            name=one.id.partition(':')[2],
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
