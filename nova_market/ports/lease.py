# SPDX-License-Identifier: Apache-2.0
"""What the API and the service of leases need to keep leases.

Any method may raise errors.DatabaseUnavailable.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nova_market.core.lease.limit import LeaseQuota, Span
from nova_market.core.lease.record import (
    LeaseChanges,
    LeaseEvent,
    LeaseFilter,
    LeaseStep,
    StoredLease,
)
from nova_market.core.ledger.posting import Posting


class LeaseStore(Protocol):
    """Leases, as their owners and the service see them."""

    def book(
        self,
        lease: StoredLease,
        turn: int,
        postings: Sequence[Posting],
        events: Sequence[LeaseEvent],
        quota: LeaseQuota,
    ) -> StoredLease:
        """Store a new lease with what is held for it; as it is stored. With its id twice: as it was then.

        :raises errors.PromisesChanged: somebody has taken a turn since it was read; decide again.
        :raises errors.TooManyLeases: the project that pays has as many that are not over as it may.
        :raises errors.LeaseLimitReached: more would be reserved ahead than the quota allows.
        :raises errors.BalanceTooLow, errors.UnknownAccount: it cannot be paid.
        """

    def lease(self, lease_id: str) -> StoredLease | None:
        """One lease; None when there is none."""

    def by_ids(self, ids: Sequence[str]) -> Mapping[str, StoredLease]:
        """Those that are there, by id."""

    def leases(
        self, chosen: LeaseFilter, before: int = 0, limit: int = 1000
    ) -> Sequence[StoredLease]:
        """Newest first; before: number of the last one of a page, 0: from the newest."""

    def spans(self, payer_id: str) -> Sequence[Span]:
        """What the leases take that a project has booked, and that are not over."""

    def turn(self) -> int:
        """Of the calendar: who decides by what was read after it is refused when others have booked since."""

    def calendar(self) -> tuple[int, Sequence[StoredLease]]:
        """(the turn, all leases that are not over, by number; what one may hold that cannot be read)."""

    def changes(self, known: Mapping[str, tuple[int, int]]) -> LeaseChanges:
        """What has changed of the leases that are not over. known: StoredLease.mark of each, by id"""

    def check(self, payer_id: str, most: int) -> None:
        """:raises errors.TooManyLeases: the project that pays has `most` that are not over."""

    def change(
        self,
        steps: Sequence[LeaseStep],
        turn: int | None = None,
        by: str = '',
        quota: LeaseQuota | None = None,
    ) -> Sequence[StoredLease]:
        """Write all of these steps or none; the leases as they are stored.

        turn: needed where one of them books room; by: in statements
        quota: where a lease may not take more than this allows, and then a turn is needed too

        :raises errors.LeaseLimitReached: as book.
        :raises errors.LeaseChanged: a lease is not what it was read as.
        :raises errors.PromisesChanged: as book.
        :raises errors.BalanceTooLow, errors.UnknownAccount: as book.
        """

    def events(
        self, lease_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[LeaseEvent]:
        """Newest first; `before`: number of the last one of a page."""

    def events_since(self, after: int, limit: int = 1000) -> Sequence[LeaseEvent]:
        """Of all leases, oldest first: what notifications are made of."""
