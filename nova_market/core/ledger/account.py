# SPDX-License-Identifier: Apache-2.0
"""Accounts and lines of their statements, as values.

Implements rows of rules M1 and M2 of doc/source/specs/market.rst. Units: amounts in whole micro-credits,
times in seconds since the epoch.
"""

from dataclasses import dataclass

from nova_market.core.ledger.money import MAX_AMOUNT, MONEY
from nova_market.core.ledger.posting import AccountId, Posting
from nova_market.core.row_check import COUNT, Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account; `project_id` is whose it is ('' for bank, mint and escrow)."""

    id: AccountId
    project_id: str = ''
    name: str = ''
    weight: float = 1.0
    """Share of this project in what the operator hands out [2.1]."""

    renew_amount: int | None = None
    """A budget that renews by itself is filled up to this; None: by hand (M4)."""

    renew_every: int = 1
    """Periods from one renewal to the next."""

    balance: int = 0
    closed: bool = False


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
