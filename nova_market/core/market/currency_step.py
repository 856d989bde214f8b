# SPDX-License-Identifier: Apache-2.0
"""What the currency does in a round: renewals, returns, the tax, budgets; and who runs out.

Implements rules M3 and M4 of doc/source/specs/market.rst. Decided with the round and stored in its document,
so that a settlement that is made again posts the same. Units: micro-credits, periods.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import (
    Budget,
    CurrencyState,
    budget_renewals,
    hoarding_tax,
    periods_left,
)
from nova_market.core.ledger.posting import Posting, kind_of
from nova_market.core.market.inputs import Memory, RoundInputs
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.settings import MarketSettings

WEIGHT_PARTS = 1_000_000
"""A weight of 1 in whole numbers, as splits take them."""

CALM = 2
"""Who was told stays so until his credits last for this many times the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a project is told."""

    event: str
    project_id: str
    payload: Mapping[str, object]


def currency_postings(
    inputs: RoundInputs, outcome: RoundOutcome, settings: MarketSettings
) -> tuple[tuple[Posting, ...], Memory]:
    """(what is posted after the charges, what the next round has to remember)."""
    memory = inputs.past.memory
    left = _left(inputs, outcome)
    projects = {a.project_id: a for a in inputs.accounts.values() if kind_of(a.id) == 'project'}
    balances = {name: left[a.id] for name, a in sorted(projects.items())}
    due = memory.renewed == 0 or inputs.period - memory.renewed >= settings.renew_every
    state = CurrencyState(
        period=inputs.period,
        weights=_weights(projects) if due else {},
        balances=balances,
        total=settings.total,
        # without weights a renewal would take everything back
        entitled=memory.entitled if due else {},
        paid=inputs.past.paid,
        pool=memory.pool if settings.return_delay else inputs.bank,
    )
    postings = [*settings.currency(state)]
    if due:
        memory = replace(memory, renewed=inputs.period)
        if settings.tax_rate:
            given = {p.debit: p.amount for p in postings}
            held = {n: b - given.get(projects[n].id, 0) for n, b in balances.items()}
            tax = hoarding_tax(inputs.period, held, settings.tax_floor, settings.tax_rate)
            postings += tax
    spent: dict[str, int] = {}
    for posting in postings:
        spent[posting.debit] = spent.get(posting.debit, 0) + posting.amount
    after = {name: have - spent.get(projects[name].id, 0) for name, have in balances.items()}
    postings += budget_renewals(inputs.period, _budgets(inputs, left), after)
    return tuple(postings), memory


def notices(
    inputs: RoundInputs, outcome: RoundOutcome, settings: MarketSettings, memory: Memory
) -> tuple[list[Notice], Memory]:
    """(whom to tell what, who then was told): each once, until it is over."""
    dues = _dues(inputs, outcome)
    told: list[Notice] = []
    low, short = [], [str(inputs.payers[row]) for row in outcome.short.tolist()]
    for row, payer in enumerate(inputs.payers):
        owner = inputs.accounts[payer].project_id
        available, spent = int(inputs.snapshot.available[row]), int(dues[row])
        received = inputs.past.paid.get(owner, 0) if kind_of(payer) == 'project' else 0
        left = periods_left(available, spent, received)
        limit = settings.notice * (CALM if payer in memory.low else 1)
        if left is not None and left < limit:
            low.append(str(payer))
            if payer not in memory.low:
                told.append(_low(inputs, row, spent, left, settings.period))
        if payer in short and payer not in memory.short:
            wanted = int(inputs.bids.bids[:, inputs.snapshot.payer == row].sum())
            payload = {'account': payer, 'bids': wanted, 'available': available}
            told.append(Notice(event='market.bid.scaled', project_id=owner, payload=payload))
    return told, replace(memory, low=tuple(low), short=tuple(short))


def _low(inputs: RoundInputs, row: int, spent: int, left: int, seconds: int) -> Notice:
    payer = inputs.payers[row]
    return Notice(
        event='market.credit.low',
        project_id=inputs.accounts[payer].project_id,
        payload={
            'account': payer,
            'balance': int(inputs.snapshot.available[row]),
            'spent_per_period': spent,
            'periods_left': left,
            'exhausted_at': (inputs.period + left) * seconds,
        },
    )


def _dues(inputs: RoundInputs, outcome: RoundOutcome) -> list[int]:
    """What each payer owes when everything is confirmed."""
    return [int(n) for n in np.bincount(inputs.snapshot.payer, outcome.due(), len(inputs.payers))]


def _left(inputs: RoundInputs, outcome: RoundOutcome) -> dict[str, int]:
    """Account -> what is in it after the charges."""
    left: dict[str, int] = {name: a.balance for name, a in inputs.accounts.items()}
    for payer, due in zip(inputs.payers, _dues(inputs, outcome), strict=True):
        left[payer] = max(left[payer] - due, 0)
    return left


def _weights(projects: Mapping[str, Account]) -> dict[str, int]:
    return {name: round(a.weight * WEIGHT_PARTS) for name, a in sorted(projects.items())}


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
