# SPDX-License-Identifier: Apache-2.0
"""What the currency and the notices carry from one round to the next.

Implements the state behind rules M3 and M4 of doc/source/specs/market.rst. It stands in each round's
document, so any engine can go on from the round that was stored last. Units: micro-credits, periods.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from nova_market.core.ledger.posting import Reason, Totals, kind_of

KEY = 'memory'
"""Where it stands in a round's document."""

CATCH_UP = 1000
"""Periods whose charges are returned at most in one round, after the engines were away."""

CHANGING = (Reason.RENEWAL, Reason.TAX, Reason.DISTRIBUTION)
"""Postings for these reasons change the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedState:
    """entitled: project -> micro-credits that renewals have given it, this round's not included
    renewed:  period of the last renewal, 0 before the first
    returned: last period whose charges went back
    pool:     taxes that wait to be distributed
    low, short: payers who were notified that they run out, or that their bids were scaled down
    """

    entitled: Mapping[str, int] = field(default_factory=dict)
    renewed: int = 0
    returned: int = 0
    pool: int = 0
    low: tuple[str, ...] = ()
    short: tuple[str, ...] = ()

    def plain(self) -> dict[str, object]:
        """As JSON has it; `carried_state` reads it back."""
        return asdict(self) | {'low': list(self.low), 'short': list(self.short)}


def carried_state(document: Mapping[str, object]) -> CarriedState:
    """The state in a round's document; that of the first round where there is none."""
    known = document.get(KEY)
    if not isinstance(known, dict):
        return CarriedState()
    return CarriedState(**known | {'low': tuple(known['low']), 'short': tuple(known['short'])})


def before_first_round(period: int) -> CarriedState:
    """The state with which the first round of all decides, in this period."""
    return CarriedState(returned=period - 1)


def after_postings(state: CarriedState, moved: Mapping[Reason, Totals]) -> CarriedState:
    """The state after what the currency has decided was posted, as far as it could be.

    moved: what was posted for each of the reasons in CHANGING
    """
    renewals, taxed, given = (moved.get(reason, {}) for reason in CHANGING)
    entitled = dict(state.entitled)
    for (debit, credit), amount in renewals.items():
        gained = kind_of(credit) == 'project'
        project = (credit if gained else debit).partition(':')[2]
        entitled[project] = entitled.get(project, 0) + (amount if gained else -amount)
    pool = max(state.pool + sum(taxed.values()) - sum(given.values()), 0)
    return replace(state, entitled=entitled, pool=pool)


def due_returns(state: CarriedState, period: int, delay: int) -> tuple[range, CarriedState]:
    """(periods whose charges go back in the round of `period`, the state after that).

    delay: periods until charges return, 0 = never
    """
    if not delay:
        return range(0), replace(state, returned=period - 1)
    last = min(period - delay, state.returned + CATCH_UP)
    return (
        range(state.returned + 1, last + 1),
        replace(state, returned=max(last, state.returned)),
    )
