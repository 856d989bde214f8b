# SPDX-License-Identifier: Apache-2.0
"""What the API and the service of leases need to keep leases.

Any method may raise errors.DatabaseUnavailable.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nova_market.core.lease.record import LeaseEvent, LeaseFilter, LeaseStep, StoredLease
from nova_market.core.ledger.posting import Posting


class LeaseStore(Protocol):
    """Leases, as their owners and the service see them."""

    def book(
        self,
        lease: StoredLease,
        turn: int,
        postings: Sequence[Posting],
        events: Sequence[LeaseEvent],
        most: int,
    ) -> StoredLease:
        """Store a new lease with what is held for it; as it is stored. With its id twice: as it was then.

        :raises errors.PromisesChanged: somebody has taken a turn since it was read; decide again.
        :raises errors.TooManyLeases: the project that pays has `most` that are not over.
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

    def calendar(self) -> tuple[int, Sequence[StoredLease]]:
        """(the turn, all leases that are not over, by number; what one may hold that cannot be read)."""

    def change(
        self, steps: Sequence[LeaseStep], turn: int | None = None, by: str = ''
    ) -> Sequence[StoredLease]:
        """Write all of these steps or none; the leases as they are stored.

        turn: needed where one of them books room; by: in statements

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
