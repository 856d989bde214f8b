# SPDX-License-Identifier: Apache-2.0
"""What the market keeps (rules M1 to M4, B1, A3, A4, F2 of doc/source/specs/market.rst).

Any method may raise errors.DatabaseUnavailable.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nova_market.core.ledger.account import Account, StatementLine
from nova_market.core.ledger.posting import AccountId, Posting, Reason
from nova_market.core.ledger.statement import EVERYTHING, Choice, Grouping, StatementSum
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
    RoundRecord,
    RoundState,
)
from nova_market.core.notice.notice import Notice
from nova_market.core.rebalancing.plan import MoveState, PlanState, StoredPlan


class LedgerStore(Protocol):
    """Where postings are kept (rules M1, M2). Any method may raise errors.DatabaseUnavailable."""

    def post(self, batch: Sequence[Posting], by: str = '') -> int:
        """Write all postings or none; how many were new.

        `by` is who asked. A posting that is written already changes nothing. After
        DatabaseUnavailable the same batch can be posted again.

        :raises errors.BalanceTooLow, KeyReused, UnknownAccount, PeriodPurged: nothing was changed.
        """

    def balances(self, names: Sequence[AccountId]) -> Mapping[AccountId, int]:
        """Micro-credits by account; an account that does not exist is left out."""

    def posted(self, keys: Sequence[str]) -> Mapping[str, Posting]:
        """What is written under these keys, but for those that are not taken, or are set aside."""

    def statement(
        self,
        name: AccountId,
        before: int | None = None,
        limit: int = 100,
        choice: Choice = EVERYTHING,
    ) -> Sequence[StatementLine]:
        """Postings of one account, newest first; `before`: number of the last line of a page."""

    def sums(
        self,
        name: AccountId,
        by: Grouping,
        choice: Choice = EVERYTHING,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[StatementSum]:
        """Sums of the postings of an account, and of its budgets when it is a project's.

        Days newest first, servers and accounts by id. after: key of the last sum of the page before this one
        """

    def totals(self, period: int, reason: Reason) -> Mapping[tuple[AccountId, AccountId], int]:
        """What moved in one period for one reason, by (from, to)."""


class EscrowStore(Protocol):
    """Whose the credits in escrow are (rule M6)."""

    def held(self) -> Mapping[str, int]:
        """Project -> micro-credits that are held for its rounds, jobs and leases."""


class AccountStore(Protocol):
    """Accounts and what is known of them besides money (rules M1, M4)."""

    def open(self, wanted: Sequence[Account]) -> int:
        """Open accounts with nothing in them; how many were new."""

    def open_budget(self, budget: Account, most: int, *, alone: bool = False) -> None:
        """Open a budget, and its project's account when there is none.

        alone: no other budget of the project may have its name

        :raises errors.Conflict: the project has `most` budgets that are open.
        :raises errors.BudgetNameTaken: another one has its name.
        """

    def account(self, name: AccountId) -> Account | None:
        """One account; None when there is none."""

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[Account]:
        """Open accounts by id; `after`: last id of a page."""

    def set(self, name: AccountId, changed: Mapping[str, Any], *, alone: bool = False) -> Account:
        """Change those of name, weight, renew_amount and renew_every that are given; what it is then.

        alone: no other budget of the project may have its new name

        :raises errors.BudgetNameTaken: another one has it.
        :raises errors.UnknownAccount: it does not exist or is closed.
        :raises errors.BadAmount: no such setting, or out of range.
        """

    def claim(self, claims: Mapping[str, int]) -> None:
        """Project -> what is claimed of it now (rule M6), all others: nothing.

        Until it is taken, holds for jobs and leases and transfers to other projects leave at least that much
        in the accounts of the project, or are refused with errors.BalanceTooLow.
        """

    def close(self, name: AccountId) -> None:
        """For good; a budget that nothing was ever posted to is gone then.

        :raises errors.Conflict: there is something in it.
        """


class BidStore(Protocol):
    """Bids that stay until they are changed (rule B1)."""

    def put(self, bid: StoredBid) -> StoredBid:
        """Replace the bid whose generation is bid.generation (0: none); the stored one.

        :raises errors.Conflict: it was changed meanwhile.
        :raises errors.UnknownAccount: its payer does not exist or is closed.
        """

    def bid(self, server_id: str) -> StoredBid | None:
        """A server's bid; None when there is none."""

    def of(self, server_ids: Sequence[str]) -> Mapping[str, StoredBid]:
        """The bids of these servers; a server without one is left out."""

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 10_000
    ) -> Sequence[StoredBid]:
        """Bids by server; `after`: last server of a page."""

    def remove(self, server_ids: Sequence[str]) -> int:
        """Forget bids; how many there were."""


class RoundStore(Protocol):
    """What the engine keeps of its rounds (rules A4, F1, F2)."""

    def begin(
        self,
        record: RoundRecord,
        price_list: Sequence[PriceRecord],
        allocated: Sequence[AllocationRecord],
        holds: Sequence[Posting] = (),
        economy: EconomyRecord | None = None,
        powers: Sequence[PowerRecord] = (),
        notices: Sequence[Notice] = (),
    ) -> RoundRecord:
        """Store a round, or return the one stored for its period: the first one counts.

        holds: posted with the round or not at all, each at most what its account has by then
        notices: queued with the round for those who want them by mail or to a webhook
        """

    def charged(self, period: int, amount: int) -> None:
        """What a round has charged in all (P4)."""

    def advance(self, period: int, before: RoundState, after: RoundState) -> None:
        """Take it to its next state; nothing happens when it is there already.

        :raises errors.Conflict: it is in another state.
        """

    def confirm(
        self,
        period: int,
        server_ids: Sequence[str],
        unenforced: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Hosts have applied the allocations of these servers.

        unenforced: resource -> those of them whose host does not control it: they are not charged for it
        """

    def unfinished(self) -> Sequence[RoundRecord]:
        """Neither settled nor undone, oldest first: what a new leader completes."""


class History(Protocol):
    """What is served of past rounds (rules P3, P4, A4)."""

    def round(self, period: int) -> RoundRecord | None:
        """One round with its document."""

    def round_for(self, period: int, project_id: str) -> RoundRecord | None:
        """The same with what everybody may see of the document, and with the lines of some projects.

        project_id: of which all lines are among them
        """

    def rounds(self, before: int | None = None, limit: int = 100) -> Sequence[RoundRecord]:
        """Rounds without documents, newest first."""

    def prices(
        self,
        first: int,
        last: int,
        resource: str | None = None,
        after: str = '',
        limit: int = 10_000,
        *,
        newest_first: bool = False,
    ) -> Sequence[PriceRecord]:
        """Prices of the periods first to last, inclusive, by period and resource.

        after: last resource of a page that ended within the period that is read first
        """

    def economy(
        self, first: int, last: int, limit: int = 10_000, *, newest_first: bool = False
    ) -> Sequence[EconomyRecord]:
        """The economy of the periods first to last, inclusive, by period."""

    def powers(
        self,
        first: int,
        last: int,
        project_id: str | None = None,
        after: str = '',
        limit: int = 10_000,
        *,
        newest_first: bool = False,
    ) -> Sequence[PowerRecord]:
        """What projects could buy, by period and project.

        after: last project of a page that ended within the period that is read first
        """

    def allocations(
        self, period: int, after: str = '', limit: int = 10_000, project_id: str | None = None
    ) -> Sequence[AllocationRecord]:
        """Allocations of one period by server, those of one project or all."""

    def allocations_of(
        self, server_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[AllocationRecord]:
        """Allocations of one server, newest first."""


class PlanStore(Protocol):
    """Migration plans (rule A3)."""

    def add(self, plan: StoredPlan, notices: Sequence[Notice] = ()) -> None:
        """Store a new plan; one that is stored stays as it is. notices: as RoundStore.begin"""

    def plan(self, plan_id: str) -> StoredPlan | None:
        """A plan with its moves."""

    def list(
        self, state: PlanState | None = None, before: float | None = None, limit: int = 100
    ) -> Sequence[StoredPlan]:
        """Plans without moves, newest first."""

    def advance(self, plan_id: str, before: PlanState, after: PlanState, by: str = '') -> None:
        """Take it to its next state.

        :raises errors.Conflict: it is in another state.
        """

    def move(
        self, plan_id: str, position: int, before: MoveState, after: MoveState, outcome: str = ''
    ) -> None:
        """The same for one of its moves."""
