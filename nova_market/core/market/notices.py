# SPDX-License-Identifier: Apache-2.0
"""Notices to projects: a payer's credits run out, or its bids were scaled down.

Implements rules B2 and M4 of doc/source/specs/market.rst. Units: micro-credits, periods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import periods_left
from nova_market.core.ledger.posting import account
from nova_market.core.market.carried_state import CarriedState
from nova_market.core.market.currency_step import payer_bids, payer_dues
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.sustainable_bid import means_of
from nova_market.core.notice.notice import Notice

BID_SCALED, CREDIT_LOW = 'market.bid.scaled', 'market.credit.low'
CALM = 2
"""A payer that was notified stays so until its credits last for this many times the limit."""


def notices(
    inputs: RoundInputs, outcome: RoundOutcome, settings: MarketSettings, carried: CarriedState
) -> tuple[list[Notice], CarriedState]:
    """(notices to send, the state that remembers them): each is sent once, until its cause is over."""
    dues = payer_dues(inputs, outcome)
    left_of = forecasts(inputs, dues, settings)
    new: list[Notice] = []
    low, short = [], [str(inputs.payers[row]) for row in outcome.short.tolist()]
    were_low, were_short, are_short = set(carried.low), set(carried.short), set(short)
    wanted = payer_bids(inputs)
    for row, payer in enumerate(inputs.payers):
        left = left_of[row]
        limit = settings.notice * (CALM if payer in were_low else 1)
        if left is not None and left < limit:
            low.append(str(payer))
            if payer not in were_low:
                new.append(_low(inputs, row, dues[row], left, settings.period))
        if payer in are_short and payer not in were_short:
            available = int(inputs.snapshot.available[row])
            payload = {'account': payer, 'bids': wanted[row], 'available': available}
            new.append(_notice(BID_SCALED, inputs, row, payload, settings.period))
    return new, replace(carried, low=tuple(low), short=tuple(short))


def forecasts(
    inputs: RoundInputs, dues: Sequence[int], settings: MarketSettings
) -> list[int | None]:
    """M4: for how many periods the credits of each payer last; None: they do not run out."""
    due = dict(zip(inputs.payers, dues, strict=True))
    projects = {account('project', inputs.accounts[one].project_id) for one in inputs.payers}
    known = sorted({*inputs.payers, *projects})
    means = means_of(
        known,
        np.array([due.get(one, 0) for one in known], dtype=np.int64),
        inputs.accounts,
        inputs.past.carried.coming,
        settings.shared_pool(inputs.bank),
        settings.cycle,
    )
    spends = dict(zip(known, means.committed.tolist(), strict=True))
    lasting = dict(zip(known, means.sustainable.tolist(), strict=True))
    left: list[int | None] = []
    for payer in inputs.payers:
        own = inputs.accounts[payer]
        project = account('project', own.project_id)
        received = inputs.past.paid.get(own.project_id, 0)
        lasts = spends[project] <= lasting[project]
        if payer == project:
            spent = spends[payer]
            left.append(None if lasts else periods_left(own.balance, spent, received))
        elif own.renew_amount is None:
            left.append(periods_left(own.balance, due[payer]))
        else:
            # what its project has when nothing else changes, without what this budget draws
            others = spends[project] - min(due[payer], own.renew_amount // own.renew_every)
            wait = _rounds_until_renewal(inputs, own)
            gives = inputs.accounts[project].balance - wait * (others - received)
            left.append(_with_renewal(own, due[payer], wait, None if lasts else max(gives, 0)))
    return left


def _with_renewal(budget: Account, spent: int, wait: int, gives: int | None) -> int | None:
    """Periods that a budget lasts when it is filled up after so many rounds.

    gives: the most that its project can give then; None: all that it takes
    """
    left = periods_left(budget.balance, spent)
    if left is None or left < wait:
        return left
    lacks = (budget.renew_amount or 0) - (budget.balance - wait * spent)
    if gives is None or gives >= lacks:
        return None
    return (budget.balance + gives) // spent


def _rounds_until_renewal(inputs: RoundInputs, budget: Account) -> int:
    """Rounds that it must pay for until it is filled up: at the end of this one, when it is due now."""
    every = budget.renew_every
    due = (inputs.past.period // every + 1) * every
    return max(due - inputs.period, 0) + 1


def _low(inputs: RoundInputs, row: int, spent: int, left: int, seconds: int) -> Notice:
    payload = {
        'account': inputs.payers[row],
        'balance': int(inputs.snapshot.available[row]),
        'spent_per_period': spent,
        'periods_left': left,
        'exhausted_at': (inputs.period + left) * seconds,
    }
    return _notice(CREDIT_LOW, inputs, row, payload, seconds)


def _notice(
    event: str, inputs: RoundInputs, row: int, payload: Mapping[str, object], seconds: int
) -> Notice:
    payer = inputs.payers[row]
    return Notice(
        event=event,
        project_id=inputs.accounts[payer].project_id,
        payload=payload,
        key=f'round:{inputs.period}:{event}:{payer}',
        at=float(inputs.period * seconds),
    )
