# SPDX-License-Identifier: Apache-2.0
"""Notices to projects: a payer's credits run out, or its bids were scaled down.

Implements rules B2 and M4 of doc/source/specs/market.rst. Units: micro-credits, periods.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nova_market.core.ledger.currency import periods_left
from nova_market.core.ledger.posting import kind_of
from nova_market.core.market.carried_state import CarriedState
from nova_market.core.market.currency_step import payer_dues
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.settings import MarketSettings

CALM = 2
"""A payer that was notified stays so until its credits last for this many times the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notification to one project."""

    event: str
    project_id: str
    payload: Mapping[str, object]


def notices(
    inputs: RoundInputs, outcome: RoundOutcome, settings: MarketSettings, carried: CarriedState
) -> tuple[list[Notice], CarriedState]:
    """(notices to send, the state that remembers them): each is sent once, until its cause is over."""
    dues = payer_dues(inputs, outcome)
    new: list[Notice] = []
    low, short = [], [str(inputs.payers[row]) for row in outcome.short.tolist()]
    for row, payer in enumerate(inputs.payers):
        owner = inputs.accounts[payer].project_id
        available, spent = int(inputs.snapshot.available[row]), int(dues[row])
        received = inputs.past.paid.get(owner, 0) if kind_of(payer) == 'project' else 0
        left = periods_left(available, spent, received)
        limit = settings.notice * (CALM if payer in carried.low else 1)
        if left is not None and left < limit:
            low.append(str(payer))
            if payer not in carried.low:
                new.append(_low(inputs, row, spent, left, settings.period))
        if payer in short and payer not in carried.short:
            wanted = int(inputs.bids.bids[:, inputs.snapshot.payer == row].sum())
            payload = {'account': payer, 'bids': wanted, 'available': available}
            new.append(Notice(event='market.bid.scaled', project_id=owner, payload=payload))
    return new, replace(carried, low=tuple(low), short=tuple(short))


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
