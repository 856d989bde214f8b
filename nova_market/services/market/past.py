# SPDX-License-Identifier: Apache-2.0
"""Reads what a round needs of the one before.

Implements the state behind rules P2, P4, M3, M4 and F2 of doc/source/specs/market.rst. All of it is in the
round that was stored last and in the ledger, so any engine can go on from there. Units: as in
core.market.record; times in periods.
"""

from collections.abc import Mapping
from dataclasses import replace

from nova_market.core.ledger.posting import AccountId, Reason, Totals
from nova_market.core.market.carried_state import (
    CHANGING,
    CarriedState,
    after_postings,
    after_returns,
    before_first_round,
    carried_state,
    due_returns,
    uncounted,
    with_charges,
)
from nova_market.core.market.delivery import LATE
from nova_market.core.market.past import Past, paid_by_projects, past_of
from nova_market.core.market.record import OPEN, AllocationRecord, RoundRecord, RoundState
from nova_market.errors import BadRow
from nova_market.ports import History, LedgerStore
from nova_market.ports.stores import MarketStores
from nova_market.row_boundary import READ

PAGE = 10_000

CARRIES_ON = f'{READ} what it carries on'
"""Where a round is set aside whose document cannot be read."""

LOOK_BACK = 100
"""Rounds that are read at once to find the last one that was carried out."""


def read_past(stores: MarketStores, period: int, delay: int, *, allocated: bool = True) -> Past:
    """What is known before the round of `period`.

    delay: periods until charges return, 0 = never; allocated: whether allocations are needed

    :raises BadRow: there were rounds, and none of the last ones can be read: credits would be given twice.
    """
    history, ledger, accounts = stores.history, stores.ledger, stores.accounts

    def paid_in(periods: range) -> Mapping[str, int]:
        charges = (ledger.totals(one, Reason.CHARGE) for one in periods)
        return paid_by_projects(charges, project_of)

    def project_of(budget: AccountId) -> str | None:
        found = accounts.account(budget)
        return found.project_id if found else None

    def counted(state: CarriedState, now: int, settled: int) -> tuple[range, CarriedState]:
        """(periods whose charges go back in the round of `now`, the state with all charges until then)."""
        due, state = due_returns(state, now, delay, settled)
        if not delay:
            return due, state
        new = uncounted(state, settled, due)
        return due, with_charges(state, new, paid_in(new))

    before = _before(stores, period)
    if before is None:
        return Past(carried=before_first_round(period))
    settled, carried = _settled(history, before), carried_on(before, ledger)
    for unread in _unread(stores, before, period):
        # it is taken to have returned all that it could, so that nothing returns twice
        due, carried = counted(carried, unread, unread - 1)
        carried = after_returns(carried, paid_in(due))
        carried = after_postings(carried, _moved(ledger, unread), renewed=unread)
    due, carried = counted(carried, period, settled)
    paid = paid_in(due)
    if not delay:
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


def _before(stores: MarketStores, period: int) -> RoundRecord | None:
    """The newest round before `period` that was carried out and can be read.

    :raises BadRow: there were some, and none can.
    """
    history, marker, tried = stores.history, period, 0
    while tried < LOOK_BACK and (page := history.rounds(before=marker, limit=LOOK_BACK)):
        for record in page:
            if record.state == RoundState.UNDONE:
                continue
            with stores.boundary.row('round', str(record.period), CARRIES_ON):
                return _readable(history, record.period)
            tried += 1
        marker = page[-1].period
    if tried or stores.boundary.unread('round'):
        raise BadRow('no round before this one can be read: mend one of those that are set aside')
    return None


def _readable(history: History, period: int) -> RoundRecord | None:
    """:raises BadRow: what it hands on cannot be read, or not all of it."""
    found = history.round(period)
    if found is not None:
        past_of(found, (), (), {}, carried_state(found.document))
    return found


def _unread(stores: MarketStores, before: RoundRecord, period: int) -> list[int]:
    """Periods between the two whose rounds cannot be read, in order."""
    found = map(int, stores.boundary.unread('round'))
    return sorted(one for one in found if before.period < one < period)


def _settled(history: History, before: RoundRecord) -> int:
    """The last period up to which all rounds are settled; later ones may still be charged (F2)."""
    last = history.rounds(before=before.period + 1, limit=LATE + 1)
    return min((one.period - 1 for one in last if one.state in OPEN), default=before.period)


def carried_on(before: RoundRecord, ledger: LedgerStore) -> CarriedState:
    """The state in the document of the round before, and what its settlement really moved."""
    return after_postings(carried_state(before.document), _moved(ledger, before.period))


def _moved(ledger: LedgerStore, period: int) -> Mapping[Reason, Totals]:
    return {reason: ledger.totals(period, reason) for reason in CHANGING}
