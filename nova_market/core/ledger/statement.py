# SPDX-License-Identifier: Apache-2.0
"""Which postings of a statement are wanted, and sums of them.

For rule M2 of doc/source/specs/market.rst. Units: whole micro-credits, seconds since the epoch.
"""

from dataclasses import dataclass
from enum import StrEnum

DAY = 86_400
"""Seconds of a day of UTC."""


class Grouping(StrEnum):
    """What postings are summed by."""

    SERVER = 'server'
    ACCOUNT = 'account'
    """Of those that are summed: each application has a budget, which is an account."""

    DAY = 'day'
    """Of UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Postings from `since` to `until`, inclusive, and of one server's charges; None: of all."""

    since: float | None = None
    until: float | None = None
    server_id: str | None = None


EVERYTHING = Choice()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementSum:
    """Postings of some accounts that have the same server, account or day in common."""

    key: str
    """Id of the server ('': not for a server), id of the account, or the day, such as 2026-11-21."""

    name: str = ''
    """Of an account that has one, as the budget of an application does."""

    charged: int
    """What was charged to these accounts."""

    change: int
    """What all postings did to them: positive when they gained."""

    postings: int
    """How many; one between two of these accounts is counted for each of the two."""
