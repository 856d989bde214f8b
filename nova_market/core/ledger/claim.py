# SPDX-License-Identifier: Apache-2.0
"""What the operator claims of a project, and how it is taken.

Implements rule M6 of doc/source/specs/market.rst, which the papers leave open. Units: whole micro-credits.

A claim is an entitlement that has become smaller, which goes back to the mint, or the hoarding tax, which
goes to the bank. It is made on all that a project has: its account, its budgets, and what is in escrow for
it. It is taken from the account first, with what returns to it in the same round, and then from its budgets,
by id. What is in escrow is promised to somebody and stays there; so a part of a claim may be left. Each round
takes what there is by then, and until then the project promises and gives nothing of it to others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import (
    BANK,
    MINT,
    AccountId,
    Posting,
    Reason,
    account,
    bare_id,
    kind_of,
    posting_key,
)

Claims = Mapping[str, int]
"""Project -> micro-credits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """All that a project has. account: with what returns to it now; budgets: by id"""

    account: int = 0
    budgets: Mapping[str, int] = field(default_factory=dict)
    escrow: int = 0

    @property
    def at_hand(self) -> int:
        """What can be taken."""
        return max(self.account, 0) + sum(self.budgets.values())

    @property
    def total(self) -> int:
        return self.at_hand + self.escrow


def holdings_of(accounts: Iterable[Account]) -> dict[str, Holding]:
    """Project -> what is in its open accounts, without escrow."""
    own: dict[str, int] = {}
    aside: dict[str, dict[str, int]] = {}
    for one in accounts:
        if kind_of(one.id) == 'project':
            own[one.project_id] = one.balance
        elif kind_of(one.id) == 'budget':
            aside.setdefault(one.project_id, {})[bare_id(one.id)] = one.balance
    return {
        name: Holding(account=own.get(name, 0), budgets=aside.get(name, {}))
        for name in sorted({*own, *aside})
    }


def taken(
    period: int, holdings: Mapping[str, Holding], back: Claims, tax: Claims, mark: str = ''
) -> tuple[Posting, ...]:
    """As much of these claims as there is. back: to the mint, goes first; tax: to the bank

    mark: ends the keys of postings that are a second try in the same period
    """
    postings: list[Posting] = []
    for project in sorted({*back, *tax}):
        holding = holdings.get(project, Holding())
        own = account('project', project)
        to_mint = min(back.get(project, 0), holding.at_hand)
        to_bank = min(tax.get(project, 0), holding.at_hand - to_mint)
        postings += _from_budgets(period, own, holding, to_mint + to_bank, mark)
        postings += _moved(Reason.RENEWAL, period, project + mark, (own, MINT), to_mint)
        postings += _moved(Reason.TAX, period, project + mark, (own, BANK), to_bank)
    return tuple(postings)


def together(back: Claims, tax: Claims) -> dict[str, int]:
    """Project -> all that is claimed of it."""
    return {name: back.get(name, 0) + tax.get(name, 0) for name in sorted({*back, *tax})}


def left(claims: Claims, taken_back: Claims) -> dict[str, int]:
    """What is still claimed after this was taken."""
    found = {project: due - taken_back.get(project, 0) for project, due in claims.items()}
    return {project: due for project, due in sorted(found.items()) if due > 0}


def _from_budgets(
    period: int, own: AccountId, holding: Holding, wanted: int, mark: str
) -> list[Posting]:
    """What the account lacks, back into it."""
    postings: list[Posting] = []
    lacking = wanted - max(holding.account, 0)
    for name, balance in sorted(holding.budgets.items()):
        part = min(balance, lacking)
        ends = account('budget', name), own
        postings += _moved(Reason.BUDGET, period, f'{name}/claim{mark}', ends, part)
        lacking -= max(part, 0)
    return postings


def _moved(
    reason: Reason, period: int, subject: str, ends: tuple[AccountId, AccountId], amount: int
) -> list[Posting]:
    if amount <= 0:
        return []
    key = posting_key(reason, period, subject)
    return [Posting(key=key, reason=reason, debit=ends[0], credit=ends[1], amount=amount)]
