# SPDX-License-Identifier: Apache-2.0
"""Reads what a round needs of the one before.

Implements the state behind rules P2, P4, M3, M4 and F2 of doc/source/specs/market.rst. All of it is in the
round that was stored last and in the ledger, so any engine can go on from there. Units: as in
core.market.record; times in periods.
"""

from collections.abc import Mapping
from dataclasses import replace

from nova_market.core.ledger.posting import AccountId, Reason
from nova_market.core.market.carried_state import (
    CHANGING,
    CarriedState,
    after_postings,
    before_first_round,
    carried_state,
    due_returns,
    uncounted,
    with_charges,
)
from nova_market.core.market.delivery import LATE
from nova_market.core.market.past import Past, paid_by_projects, past_of
from nova_market.core.market.record import OPEN, AllocationRecord, RoundRecord, RoundState
from nova_market.ports import AccountStore, History, LedgerStore

PAGE = 10_000

LOOK_BACK = 100
"""Rounds that are read at once to find the last one that was carried out."""


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

    def paid_in(periods: range) -> Mapping[str, int]:
        charges = (ledger.totals(one, Reason.CHARGE) for one in periods)
        return paid_by_projects(charges, project_of)

    def project_of(budget: AccountId) -> str | None:
        found = accounts.account(budget)
        return found.project_id if found else None

    before = _before(history, period)
    if before is None:
        return Past(carried=before_first_round(period))
    settled = _settled(history, before)
    due, carried = due_returns(_carried(before, ledger), period, delay, settled)
    paid = paid_in(due)
    if delay:
        new = uncounted(carried, settled, due)
        carried = with_charges(carried, new, paid_in(new))
    else:
        carried = replace(carried, counted=carried.returned, coming={})
    return past_of(
        before,
        history.prices(before.period, before.period),
        all_allocations(history, before.period) if allocated else (),
        paid,
        carried,
        next(iter(history.economy(before.period, before.period)), None),
    )


def all_allocations(history: History, period: int) -> list[AllocationRecord]:
    """Those of all servers in one period."""
    found: list[AllocationRecord] = []
    while page := history.allocations(period, after=found[-1].server_id if found else ''):
        found += page
        if len(page) < PAGE:
            break
    return found


def _before(history: History, period: int) -> RoundRecord | None:
    """The newest round before `period` that was carried out."""
    marker = period
    while page := history.rounds(before=marker, limit=LOOK_BACK):
        for record in page:
            if record.state != RoundState.UNDONE:
                return history.round(record.period)
        marker = page[-1].period
    return None


def _settled(history: History, before: RoundRecord) -> int:
    """The last period up to which all rounds are settled; later ones may still be charged (F2)."""
    last = history.rounds(before=before.period + 1, limit=LATE + 1)
    return min((one.period - 1 for one in last if one.state in OPEN), default=before.period)


def _carried(before: RoundRecord, ledger: LedgerStore) -> CarriedState:
    """The state in the document of the round before, and what its settlement really moved."""
    moved = {reason: ledger.totals(before.period, reason) for reason in CHANGING}
    return after_postings(carried_state(before.document), moved)
