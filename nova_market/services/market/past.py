# SPDX-License-Identifier: Apache-2.0
"""What a round needs of the one before: prices, demand, allocations, and what currency policies remember.

Implements the state behind rules P2, M3, M4 and F2 of doc/source/specs/market.rst. All of it is in the round
that was stored last, so any engine can go on from there. Units: as in core.market.record; times in periods.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from nova_market.core.ledger.posting import BANK, AccountId, Reason, kind_of
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.inputs import Memory, Past
from nova_market.core.market.record import AllocationRecord, RoundRecord, RoundState
from nova_market.ports import AccountStore, History, LedgerStore

PAGE = 10_000

LOOK_BACK = 100

CATCH_UP = 1000
"""Periods whose charges are returned at most in one round, after the engines were away."""


def read_past(
    history: History,
    ledger: LedgerStore,
    accounts: AccountStore,
    period: int,
    delay: int,
    *,
    allocated: bool = True,
) -> Past:
    """What is known before the round of `period`.

    delay: periods until charges return, 0 = never; allocated: whether allocations are needed
    """
    before = _before(history, period)
    if before is None:
        return Past(memory=Memory(returned=period - 1))
    prices = {p.resource: p.price for p in history.prices(before.period, before.period)}
    memory = _memory(before, ledger)
    first, last = memory.returned + 1, min(period - delay, memory.returned + CATCH_UP)
    paid: dict[str, int] = {}
    if delay:
        for one in range(first, last + 1):
            _add(paid, _paid(ledger, accounts, one))
    return Past(
        period=before.period,
        price=np.array([prices.get(name, 0.0) for name in MARKET_RESOURCES]),
        demand=np.array(_numbers(before.document.get('demand'))),
        allocated={
            a.server_id: (a.actual_cpu, a.actual_memory_mib)
            for a in (all_allocations(history, before.period) if allocated else ())
        },
        paid=paid,
        memory=Memory(
            entitled=memory.entitled,
            renewed=memory.renewed,
            returned=max(last, memory.returned) if delay else period - 1,
            pool=memory.pool,
            low=memory.low,
            short=memory.short,
        ),
    )


def _before(history: History, period: int) -> RoundRecord | None:
    """The newest round before `period` that was carried out."""
    marker = period
    while page := history.rounds(before=marker, limit=LOOK_BACK):
        for record in page:
            if record.state != RoundState.UNDONE:
                return history.round(record.period)
        marker = page[-1].period
    return None


def all_allocations(history: History, period: int) -> list[AllocationRecord]:
    """Those of all servers in one period."""
    found: list[AllocationRecord] = []
    while page := history.allocations(period, after=found[-1].server_id if found else ''):
        found += page
        if len(page) < PAGE:
            break
    return found


def remembered(document: Mapping[str, object]) -> Memory:
    """The memory in a round's document."""
    known = document.get('memory')
    if not isinstance(known, dict):
        return Memory()
    return Memory(**known | {'low': tuple(known['low']), 'short': tuple(known['short'])})


def _memory(before: RoundRecord, ledger: LedgerStore) -> Memory:
    """What its document says, and what its settlement really moved."""
    known = remembered(before.document)
    entitled = dict(known.entitled)
    moved = ledger.totals(before.period, Reason.RENEWAL)
    for (debit, credit), amount in moved.items():
        gained = kind_of(credit) == 'project'
        project = (credit if gained else debit).partition(':')[2]
        entitled[project] = entitled.get(project, 0) + (amount if gained else -amount)
    taxed = sum(ledger.totals(before.period, Reason.TAX).values())
    given = sum(ledger.totals(before.period, Reason.DISTRIBUTION).values())
    return Memory(
        entitled=entitled,
        renewed=known.renewed,
        returned=known.returned,
        pool=max(known.pool + taxed - given, 0),
        low=known.low,
        short=known.short,
    )


def _paid(ledger: LedgerStore, accounts: AccountStore, period: int) -> dict[str, int]:
    """Project -> what it and its budgets paid in a period, also those that were closed since."""
    paid: dict[str, int] = {}
    for (debit, credit), amount in ledger.totals(period, Reason.CHARGE).items():
        if credit == BANK and (owner := _owner(accounts, debit)):
            _add(paid, {owner: amount})
    return paid


def _owner(accounts: AccountStore, payer: AccountId) -> str:
    if kind_of(payer) == 'project':
        return payer.partition(':')[2]
    found = accounts.account(payer)
    return found.project_id if found else ''


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _numbers(value: object) -> Sequence[float]:
    if isinstance(value, list) and len(value) == len(MARKET_RESOURCES):
        return [float(number) for number in value]
    return [0.0] * len(MARKET_RESOURCES)
