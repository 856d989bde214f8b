# SPDX-License-Identifier: Apache-2.0
"""Money in a simulation: projects, a budget for each job, charges, renewals, returns, taxes.

Implements rules M1 to M4 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.1) with the
functions and the book that they have in core: what market.renewal and market.settlement do with a database,
done in memory. A round charges each payer once, where the engine has a line for each server.
Units: whole micro-credits, periods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nova_market.core.ledger.currency import (
    Budget,
    Currency,
    CurrencyState,
    budget_renewals,
    hoarding_tax,
    recharge,
)
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import (
    BANK,
    MINT,
    AccountId,
    Book,
    Posting,
    Reason,
    account,
    posting_key,
)
from nova_market.core.resource import Rows, Values
from nova_market.errors import BalanceTooLow

WEIGHT = 1_000_000
"""Of each project."""


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


def project_name(row: int) -> str:
    return f'project-{row:06d}'


def budget_of(job: int) -> AccountId:
    return account('budget', f'job-{job:09d}')


class SimulatedAccounts:
    """Accounts of projects and of the jobs that are there. Remembers what currencies remember."""

    def __init__(self, setting: MoneySetting, targets: Values, project: Rows) -> None:
        """targets: (jobs,) to which a job's budget is filled up every period; project: (jobs,) row"""
        self._setting, self._targets, self._project = setting, targets, project
        self._names = [project_name(row) for row in range(setting.projects)]
        self._weights = dict.fromkeys(self._names, WEIGHT)
        book = Book()
        book.post_all(grants(setting))
        self._balances = book.balances()
        self._open: dict[int, AccountId] = {}
        self._entitled: dict[str, int] = {}
        self._paid: dict[int, dict[str, int]] = {}
        self._renewed = self._pool = 0

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
        bank = self._balances.get(BANK, 0)
        paid = self._due_back(period)
        book = Book(self._balances)
        charged: dict[str, int] = {}
        for job, amount in due.items():
            if amount <= 0:
                continue
            name = self._names[self._project[job]]
            charged[name] = charged.get(name, 0) + amount
            key = posting_key(Reason.CHARGE, period, self._open[job])
            book.post(
                Posting(
                    key=key,
                    reason=Reason.CHARGE,
                    debit=self._open[job],
                    credit=BANK,
                    amount=amount,
                )
            )
        for posting in self._currency(period, bank, paid, book):
            self._post(book, posting)
        if self._setting.return_delay:
            self._paid[period] = charged
        self._balances = book.balances()

    def _due_back(self, period: int) -> dict[str, int]:
        """Charges of the periods whose delay is over."""
        delay = self._setting.return_delay
        found: dict[str, int] = {}
        over = [one for one in self._paid if delay and one <= period - delay]
        for one in sorted(over):
            for name, amount in self._paid.pop(one).items():
                found[name] = found.get(name, 0) + amount
        return found

    def _currency(
        self, period: int, bank: int, paid: Mapping[str, int], book: Book
    ) -> list[Posting]:
        """As market.renewal.currency_postings, which decides on balances after the charges."""
        setting = self._setting
        balances = {name: book.balance(account('project', name)) for name in self._names}
        due = self._renewed == 0 or period - self._renewed >= setting.renew_every
        state = CurrencyState(
            period=period,
            weights=self._weights if due else {},
            balances=balances,
            total=setting.total,
            entitled=dict(self._entitled) if due else {},
            paid=paid,
            pool=self._pool if setting.return_delay else bank,
        )
        postings = [*setting.currency(state)]
        if due:
            self._renewed = period
            if setting.tax_rate:
                given = {p.debit: p.amount for p in postings}
                held = {n: b - given.get(account('project', n), 0) for n, b in balances.items()}
                postings += hoarding_tax(period, held, setting.tax_floor, setting.tax_rate)
        spent: dict[AccountId, int] = {}
        for posting in postings:
            spent[posting.debit] = spent.get(posting.debit, 0) + posting.amount
        after = {n: b - spent.get(account('project', n), 0) for n, b in balances.items()}
        return [*postings, *budget_renewals(period, self._budgets(book), after)]

    def _budgets(self, book: Book) -> tuple[Budget, ...]:
        return tuple(
            Budget(
                name=name.partition(':')[2],
                project=self._names[self._project[job]],
                target=int(self._targets[job]),
                automatic=True,
                balance=book.balance(name),
            )
            for job, name in self._open.items()
        )

    def _post(self, book: Book, posting: Posting) -> None:
        """What can't be posted is left out; entitlements and the pool follow what is."""
        try:
            book.post(posting)
        except BalanceTooLow:
            return
        if posting.reason == Reason.RENEWAL:
            gained = posting.credit.startswith('project:')
            name = (posting.credit if gained else posting.debit).partition(':')[2]
            change = posting.amount if gained else -posting.amount
            self._entitled[name] = self._entitled.get(name, 0) + change
        elif posting.reason == Reason.TAX:
            self._pool += posting.amount
        elif posting.reason == Reason.DISTRIBUTION:
            self._pool = max(self._pool - posting.amount, 0)


def grants(setting: MoneySetting) -> list[Posting]:
    """What projects begin with."""
    return [
        Posting(
            key=posting_key(Reason.GRANT, 0, project_name(row)),
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
