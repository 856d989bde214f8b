# SPDX-License-Identifier: Apache-2.0
"""Double-entry postings, and the book they are written in.

Implements rules M1 and M2 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.1, leaves the
accounting open). Units: whole micro-credits.

An account is named `<kind>` or `<kind>:<id>`:

    mint                where credits come from; its balance is minus what the operator has issued
    bank                what was paid for servers and leases
    project:<id>        one per Keystone project
    budget:<id>         what a project has set aside for an application
    escrow              what is held for rounds that are not settled yet, for jobs that have not ended, and
                        for leases that are not over

The sum over all accounts is zero, always; so the sum over all but `mint` is what has been issued.

The book here is the rule in its shortest form: it serves the simulator, and tests hold the database to it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NewType

from nova_market.core.ledger.money import MAX_AMOUNT, credit_text
from nova_market.errors import BadAmount, BalanceTooLow, KeyReused

AccountId = NewType('AccountId', str)

MINT = AccountId('mint')
BANK = AccountId('bank')
ESCROW = AccountId('escrow')
NO_PERIOD = 0
"""In the key of what belongs to a request, a job or a lease: its posting is purged by its age (M2)."""

KINDS = frozenset({'mint', 'bank', 'project', 'budget', 'escrow'})
SINGLE = frozenset({'mint', 'bank', 'escrow'})
MAX_NAME = 255


class Reason(StrEnum):
    """What a posting is for; the first part of its key."""

    GRANT = 'grant'
    REVOKE = 'revoke'
    TRANSFER = 'transfer'
    CHARGE = 'charge'
    RETURN = 'return'
    RENEWAL = 'renewal'
    DISTRIBUTION = 'distribution'
    TAX = 'tax'
    BUDGET = 'budget'
    HOLD = 'hold'
    RELEASE = 'release'
    COMPENSATION = 'compensation'
    """From the project whose job displaced another one, to that one's (J4)."""


CHARGE_OF_SERVER = re.compile(r'charge:[1-9][0-9]*:([A-Za-z0-9_-]{1,64})')
"""Key of what a round charges for a server; what a job or a lease is charged names that with a slash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """`amount` moves from the account `debit` to the account `credit`, once for each `key`."""

    key: str
    reason: Reason
    debit: AccountId
    credit: AccountId
    amount: int

    def __post_init__(self) -> None:
        if not 0 < self.amount <= MAX_AMOUNT:
            raise BadAmount(
                f'posting {self.key}: {self.amount} micro-credits; give 1 to {MAX_AMOUNT}'
            )
        if self.debit == self.credit:
            raise BadAmount(f'posting {self.key} moves from {self.debit} to itself; name two')


def account(kind: str, name: str = '') -> AccountId:
    """The id of an account.

    :raises BadAmount: an unknown kind, or a name where none belongs, or none where one does.
    """
    if kind not in KINDS or (kind in SINGLE) == bool(name) or len(name) > MAX_NAME:
        raise BadAmount(f'account {kind!r} {name!r:.80}: {", ".join(sorted(KINDS))}, with one name')
    return AccountId(f'{kind}:{name}' if name else kind)


def kind_of(name: AccountId) -> str:
    """`project` of `project:<id>`."""
    return name.partition(':')[0]


def bare_id(name: AccountId) -> str:
    """`<id>` of `project:<id>`; '' of an account that is the only one of its kind."""
    return name.partition(':')[2]


def posting_key(reason: Reason, period: int, subject: str) -> str:
    """Unique key of a posting (M2): what, in which period, for which server, project or request."""
    return f'{reason}:{period}:{subject}'


def server_of(key: str) -> str:
    """The server that the posting with this key is a round's charge for; '' of any other posting."""
    found = CHARGE_OF_SERVER.fullmatch(key)
    return found[1] if found else ''


def dated(posting: Posting, period: int) -> Posting:
    """What is charged to the bank outside a round, as a charge of this period: it returns with those (M3)."""
    if posting.reason != Reason.CHARGE or posting.credit != BANK:
        return posting
    subject = posting.key.split(':', 2)[2]
    return replace(posting, key=posting_key(posting.reason, period, subject))


Totals = Mapping[tuple[AccountId, AccountId], int]
"""(debit, credit) -> the sum of what moved between the two for one reason in one period."""


def totals(postings: Iterable[Posting]) -> Mapping[Reason, Totals]:
    """The sums of these postings, by reason."""
    found: dict[Reason, dict[tuple[AccountId, AccountId], int]] = {}
    for posting in postings:
        sums, ends = found.setdefault(posting.reason, {}), (posting.debit, posting.credit)
        sums[ends] = sums.get(ends, 0) + posting.amount
    return found


def reused(before: Posting) -> KeyReused:
    """The key of this posting is given for another one. A key is shown as its user has chosen it."""
    key = before.key.partition('/')[2] or before.key
    return KeyReused(
        f'key {key} was used for {credit_text(before.amount)} credits from {before.debit} to '
        f'{before.credit}: nothing is moved now; use a new key'
    )


class Book:
    """Balances and the keys that are taken. Remembers, but reads no clock and takes no lock."""

    def __init__(self, balances: Mapping[AccountId, int] | None = None) -> None:
        self._balances = dict(balances or {})
        self._posted: dict[str, Posting] = {}

    def balance(self, name: AccountId) -> int:
        """Micro-credits; 0 for an account nothing was posted to."""
        return self._balances.get(name, 0)

    def balances(self) -> dict[AccountId, int]:
        """Every account that was ever posted to, by id."""
        return dict(sorted(self._balances.items()))

    def __iter__(self) -> Iterator[Posting]:
        return iter(self._posted.values())

    def post(self, posting: Posting) -> bool:
        """Write one posting; False when it is written already, and then nothing changes.

        :raises BalanceTooLow: an account other than mint would go below zero; nothing is changed.
        :raises KeyReused: the key is taken by a different posting; nothing is changed.
        """
        known = self._posted.get(posting.key)
        if known is not None:
            if known != posting:
                raise reused(known)
            return False
        left = self.balance(posting.debit)
        if posting.debit != MINT and left < posting.amount:
            raise BalanceTooLow(
                f'{posting.debit} has {credit_text(left)} credits left, '
                f'{credit_text(posting.amount)} are needed'
            )
        self._balances[posting.debit] = left - posting.amount
        self._balances[posting.credit] = self.balance(posting.credit) + posting.amount
        self._posted[posting.key] = posting
        return True

    def post_all(self, postings: Iterable[Posting]) -> int:
        """Write all of them or none; how many were new.

        :raises BalanceTooLow: as in post.
        :raises KeyReused: as in post.
        """
        balances, posted = dict(self._balances), dict(self._posted)
        try:
            return sum(self.post(posting) for posting in postings)
        except (BalanceTooLow, KeyReused):
            self._balances, self._posted = balances, posted
            raise

    @property
    def issued(self) -> int:
        """What the operator has minted and not taken back."""
        return -self.balance(MINT)
