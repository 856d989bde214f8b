# SPDX-License-Identifier: Apache-2.0
"""What the currency and the notices carry from one round to the next.

Implements the state behind rules M3, M4 and M6 of doc/source/specs/market.rst. It stands in each round's
document, so any engine can go on from the round that was stored last. Units: micro-credits, periods.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace

from nova_market.core.ledger.claim import left
from nova_market.core.ledger.posting import Reason, Totals, bare_id, kind_of
from nova_market.core.row_check import checked

KEY = 'memory'
"""Where it stands in a round's document."""

CATCH_UP = 1000
"""Periods whose charges are returned at most in one round, after the engines were away."""

CHANGING = (Reason.RENEWAL, Reason.TAX, Reason.DISTRIBUTION)
"""Postings for these reasons change the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedState:
    """entitled: project -> micro-credits that renewals have given it, this round's not included; in it is
              every project that has taken part in a renewal
    renewed:  period of the last renewal, 0 before the first
    returned: last period whose charges went back
    counted:  last period whose charges are in `coming`
    coming:   project -> charges up to `counted` that have not gone back to it (B3)
    pool:     taxes that wait to be distributed
    back, tax: project -> what is claimed of it still: of its entitlement, and of the hoarding tax (M6), this
              round's not yet taken
    low, short: payers who were notified that they run out, or that their bids were scaled down
    """

    entitled: Mapping[str, int] = field(default_factory=dict)
    renewed: int = 0
    returned: int = 0
    counted: int = 0
    coming: Mapping[str, int] = field(default_factory=dict)
    pool: int = 0
    back: Mapping[str, int] = field(default_factory=dict)
    tax: Mapping[str, int] = field(default_factory=dict)
    low: tuple[str, ...] = ()
    short: tuple[str, ...] = ()

    def plain(self) -> dict[str, object]:
        """As JSON has it; `carried_state` reads it back."""
        return asdict(self) | {'low': list(self.low), 'short': list(self.short)}


def carried_state(document: Mapping[str, object]) -> CarriedState:
    """The state in a round's document; that of the first round where there is none.

    :raises BadRow, KeyError, TypeError: there is none such in it.
    """
    known = document.get(KEY)
    if not isinstance(known, dict):
        return CarriedState()
    # a document of the version before has no `counted`; one of a later version may have more
    whole = {'counted': known.get('returned', 0), **known}
    whole |= {'low': tuple(known['low']), 'short': tuple(known['short'])}
    made = CarriedState(
        **{one.name: whole[one.name] for one in fields(CarriedState) if one.name in whole}
    )
    return checked(made)


def before_first_round(period: int) -> CarriedState:
    """The state with which the first round of all decides, in this period."""
    return CarriedState(returned=period - 1, counted=period - 1)


def after_postings(
    state: CarriedState, moved: Mapping[Reason, Totals], *, renewed: int = 0
) -> CarriedState:
    """The state after what the currency has decided was posted, as far as it could be.

    moved: what was posted for each of the reasons in CHANGING
    renewed: the period of these postings, where the state does not have it
    """
    renewals, taxed, given = (moved.get(reason, {}) for reason in CHANGING)
    entitled = dict(state.entitled)
    back = {bare_id(debit): amount for (debit, _), amount in renewals.items()}
    tax = {bare_id(debit): amount for (debit, _), amount in taxed.items()}
    for (debit, credit), amount in renewals.items():
        gained = kind_of(credit) == 'project'
        project = bare_id(credit if gained else debit)
        entitled[project] = entitled.get(project, 0) + (amount if gained else -amount)
    pool = max(state.pool + sum(taxed.values()) - sum(given.values()), 0)
    return replace(
        state,
        entitled=entitled,
        pool=pool,
        renewed=renewed if renewals and renewed else state.renewed,
        back=left(state.back, back),
        tax=left(state.tax, tax),
    )


def due_returns(
    state: CarriedState, period: int, delay: int, settled: int
) -> tuple[range, CarriedState]:
    """(periods whose charges go back in the round of `period`, the state after that).

    delay:   periods until charges return, 0 = never
    settled: the last period up to which all rounds are settled: what a later one charges is not known yet
    """
    if not delay:
        return range(0), replace(state, returned=period - 1)
    last = min(period - delay, settled, state.returned + CATCH_UP)
    return (
        range(state.returned + 1, last + 1),
        replace(state, returned=max(last, state.returned)),
    )


def uncounted(state: CarriedState, settled: int, due: range) -> range:
    """Periods whose charges have to be counted now.

    settled: as in due_returns; due: periods whose charges go back now
    """
    last = max(settled, due.stop - 1)
    return range(state.counted + 1, min(last, state.counted + CATCH_UP) + 1)


def with_charges(state: CarriedState, counted: range, charged: Mapping[str, int]) -> CarriedState:
    """The state after the charges of some periods were counted. charged: project -> micro-credits"""
    coming = {p: state.coming.get(p, 0) + charged.get(p, 0) for p in {*state.coming, *charged}}
    return replace(
        state,
        counted=max(counted.stop - 1, state.counted),
        coming=dict(sorted(coming.items())),
    )


def after_returns(state: CarriedState, paid: Mapping[str, int]) -> CarriedState:
    """The state after charges went back. paid: project -> micro-credits"""
    coming = {project: amount - paid.get(project, 0) for project, amount in state.coming.items()}
    return replace(state, coming={project: left for project, left in coming.items() if left > 0})
