# SPDX-License-Identifier: Apache-2.0
"""Money in a simulation: projects, a budget for each job, charges, and what the currency posts.

Implements rules M1 to M4 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.1): the state that
services.market keeps in a database is kept in memory, and core.market decides on it. A round charges each
payer once, where the engine has a line for each server. Units: whole micro-credits, periods.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nova_market.core.ledger.currency import WEIGHT_PARTS, Budget, Currency, recharge
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import (
    BANK,
    MINT,
    NO_PERIOD,
    AccountId,
    Book,
    Posting,
    Reason,
    Totals,
    account,
    bare_id,
    posting_key,
    totals,
)
from nova_market.core.market.carried_state import (
    CarriedState,
    after_postings,
    before_first_round,
    due_returns,
)
from nova_market.core.market.currency_step import CurrencyInputs, currency_step
from nova_market.core.market.past import paid_by_projects
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import Rows, Values
from nova_market.errors import BalanceTooLow


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MoneySetting:
    """total: micro-credits in circulation; by default so much that no renewal is ever short
    grant: micro-credits for each project before the first round, for currencies that mint nothing
    projects: among which the jobs are divided; the others as in group [market]
    """

    total: int = 1_000_000_000 * MICRO
    grant: int = 0
    projects: int = 1
    renew_every: int = 60
    return_delay: int = 60
    tax_rate: int = 0
    tax_floor: int = 0
    currency: Currency = recharge

    def market_settings(self) -> MarketSettings:
        """The same for the functions of core; no project is notified of anything."""
        return MarketSettings(
            currency=self.currency,
            total=self.total,
            renew_every=self.renew_every,
            return_delay=self.return_delay,
            tax_rate=self.tax_rate,
            tax_floor=self.tax_floor,
            notice=0,
        )


def project_name(row: int) -> str:
    return f'project-{row:06d}'


def budget_of(job: int) -> AccountId:
    return account('budget', f'job-{job:09d}')


class SimulatedAccounts:
    """Accounts of projects and of the jobs that are there, and what the currency carries on."""

    def __init__(self, setting: MoneySetting, targets: Values, project: Rows) -> None:
        """targets: (jobs,) to which a job's budget is filled up every period; project: (jobs,) row"""
        self._settings = setting.market_settings()
        self._targets, self._project = targets, project
        self._names = [project_name(row) for row in range(setting.projects)]
        self._weights = dict.fromkeys(self._names, WEIGHT_PARTS)
        book = Book()
        book.post_all(grants(setting))
        self._balances = book.balances()
        self._open: dict[int, AccountId] = {}
        self._charged: dict[int, Totals] = {}
        self._carried: CarriedState | None = None

    def balances(self) -> dict[AccountId, int]:
        """Every account that is not empty; the sum over all is zero."""
        return {name: amount for name, amount in sorted(self._balances.items()) if amount}

    def available(self, jobs: Rows) -> list[int]:
        """What each job's budget holds."""
        return [self._balances.get(budget_of(job), 0) for job in jobs.tolist()]

    def projects(self) -> list[int]:
        """What each project has not set aside."""
        return [self._balances.get(account('project', name), 0) for name in self._names]

    def open(self, jobs: Rows, period: int) -> None:
        """Budgets for new jobs, filled as far as their projects can."""
        book = Book(self._balances)
        for job in jobs.tolist():
            self._open[job] = budget_of(job)
            posting = opening(job, period, self._targets, self._project, book.balance)
            if posting:
                book.post(posting)
        self._balances = book.balances()

    def close(self, jobs: Rows, period: int) -> None:
        """What is left of a budget goes back to its project."""
        book = Book(self._balances)
        for job in jobs.tolist():
            name = self._open.pop(job)
            if left := book.balance(name):
                book.post(closing(job, period, left, self._project))
        self._balances = book.balances()
        for job in jobs.tolist():
            self._balances.pop(budget_of(job), None)

    def charge(self, period: int, due: Mapping[int, int]) -> None:
        """The charges of a round, job -> amount, and what the currency decides with it."""
        if self._carried is None:
            self._carried = before_first_round(period)
        bank = self._balances.get(BANK, 0)
        delay = self._settings.return_delay
        returned, carried = due_returns(self._carried, period, delay, period - 1)
        book = Book(self._balances)
        charged: dict[tuple[AccountId, AccountId], int] = {}
        for job, amount in due.items():
            if amount <= 0:
                continue
            payer, ends = self._open[job], (self._owner(job), BANK)
            charged[ends] = charged.get(ends, 0) + amount
            book.post(
                Posting(
                    key=posting_key(Reason.CHARGE, period, payer),
                    reason=Reason.CHARGE,
                    debit=payer,
                    credit=BANK,
                    amount=amount,
                )
            )
        if self._settings.return_delay:
            self._charged[period] = charged
        inputs = CurrencyInputs(
            period=period,
            weights=self._weights,
            balances={name: book.balance(account('project', name)) for name in self._names},
            aside=self._aside(book),
            paid=paid_by_projects(self._charged.pop(one, {}) for one in returned),
            bank=bank,
            budgets=self._budgets(book),
            carried=carried,
        )
        postings, carried = currency_step(inputs, self._settings)
        self._carried = posted(book, postings, carried)
        self._balances = book.balances()

    def _owner(self, job: int) -> AccountId:
        return account('project', self._names[self._project[job]])

    def _aside(self, book: Book) -> dict[str, dict[str, int]]:
        """Project -> what is in its budgets."""
        found: dict[str, dict[str, int]] = {}
        for job, name in self._open.items():
            own = found.setdefault(self._names[self._project[job]], {})
            own[bare_id(name)] = book.balance(name)
        return found

    def _budgets(self, book: Book) -> tuple[Budget, ...]:
        return tuple(
            Budget(
                name=bare_id(name),
                project=self._names[self._project[job]],
                target=int(self._targets[job]),
                automatic=True,
                balance=book.balance(name),
            )
            for job, name in self._open.items()
        )


def posted(book: Book, postings: Iterable[Posting], carried: CarriedState) -> CarriedState:
    """Write what can be posted, as the ledger does; the state follows what was."""
    written = []
    for posting in postings:
        try:
            book.post(posting)
        except BalanceTooLow:
            continue
        written.append(posting)
    return after_postings(carried, totals(written))


def grants(setting: MoneySetting) -> list[Posting]:
    """What projects begin with."""
    return [
        Posting(
            key=posting_key(Reason.GRANT, NO_PERIOD, project_name(row)),
            reason=Reason.GRANT,
            debit=MINT,
            credit=account('project', project_name(row)),
            amount=setting.grant,
        )
        for row in range(setting.projects)
        if setting.grant
    ]


def opening(
    job: int, period: int, targets: Values, project: Rows, balance: Callable[[AccountId], int]
) -> Posting | None:
    """The first filling of a job's budget; None when its project has nothing."""
    owner = account('project', project_name(int(project[job])))
    amount = min(int(targets[job]), balance(owner))
    if amount <= 0:
        return None
    return Posting(
        key=posting_key(Reason.TRANSFER, period, f'open-{job}'),
        reason=Reason.TRANSFER,
        debit=owner,
        credit=budget_of(job),
        amount=amount,
    )


def closing(job: int, period: int, left: int, project: Rows) -> Posting:
    """The last of it."""
    return Posting(
        key=posting_key(Reason.TRANSFER, period, f'close-{job}'),
        reason=Reason.TRANSFER,
        debit=budget_of(job),
        credit=account('project', project_name(int(project[job]))),
        amount=left,
    )
