# SPDX-License-Identifier: Apache-2.0
"""Accounts and lines of their statements, as values.

Implements rows of rules M1 and M2 of doc/source/specs/market.rst. Units: amounts in whole micro-credits,
times in seconds since the epoch.
"""

from dataclasses import dataclass

from nova_market.core.ledger.money import MAX_AMOUNT, MONEY
from nova_market.core.ledger.posting import AccountId, Posting, kind_of
from nova_market.core.row_check import COUNT, Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account; `project_id` is whose it is ('' for bank, mint and escrow)."""

    id: AccountId
    project_id: str = ''
    name: str = ''
    weight: float | None = None
    """Share of this project in what the operator hands out [2.1]; None: nobody has set it (M7)."""

    claimed: int = 0
    """Of a project: what the operator claims of it and has not taken yet (M6)."""

    renew_amount: int | None = None
    """A budget that renews by itself is filled up to this; None: by hand (M4)."""

    renew_every: int = 1
    """Periods from one renewal to the next."""

    balance: int = 0
    closed: bool = False

    def weight_that_counts(self, new_weight: float) -> float:
        """new_weight: of a project for which nobody has set one (M7); what is no project has none."""
        if self.weight is not None:
            return self.weight
        return new_weight if kind_of(self.id) == 'project' else 0.0


ACCOUNT_BOUNDS: Bounds = {
    'weight': (0.0, 1e15),
    'renew_amount': MONEY,
    'renew_every': (1, COUNT[1]),
    'balance': (-MAX_AMOUNT, MAX_AMOUNT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """One posting as the owner of one account sees it."""

    number: int
    """Grows with time; the marker for the next page."""

    posting: Posting
    posted_at: float
    by: str
    change: int
    """What it did to this account: positive when it gained."""

    balance: int
    """Of this account, after it."""
