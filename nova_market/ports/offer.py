# SPDX-License-Identifier: Apache-2.0
"""What the API and the service of jobs need to keep offers.

Any method may raise errors.DatabaseUnavailable.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nova_market.core.job.pe_line import Accepted
from nova_market.core.job.record import StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs
from nova_market.core.lease.limit import LeaseQuota
from nova_market.core.lease.record import LeaseEvent, StoredLease
from nova_market.core.ledger.posting import Posting
from nova_market.core.tender.outlook import ForecastMark, OfferRows
from nova_market.core.tender.stored_offer import OfferFilter, StoredOffer


class OfferStore(Protocol):
    """Offers, as their owners and the service see them."""

    def create(self, made: Sequence[StoredOffer], most: int) -> Sequence[StoredOffer]:
        """Keep the offers of one request; as they are stored.

        :raises errors.TooManyOffers: their project would have more than `most` that are open or held.
        """

    def check(self, project_id: str, most: int) -> None:
        """:raises errors.TooManyOffers: the project has `most` that are open or held."""

    def offer(self, offer_id: str) -> StoredOffer | None:
        """One offer; None when there is none."""

    def offers(
        self, chosen: OfferFilter, before: int = 0, limit: int = 1000
    ) -> Sequence[StoredOffer]:
        """Newest first; before: number of the last one of a page, 0: from the newest."""

    def promised(self, since: float) -> tuple[int, Sequence[StoredOffer]]:
        """(the turn, offers that are held now or were accepted since, in the order of their numbers)."""

    def outlook(self, queue: str, project_id: str, known: ForecastMark) -> OfferRows | None:
        """All that offers of a queue (queue_access.key_of) are made by; None: there is no such queue.

        project_id: to whom they are made; known: the forecast that the caller has: it is not read again
        """

    def accept(
        self, offer: StoredOffer, turn: int, new: NewJobs, quotas: JobQuotas
    ) -> tuple[StoredOffer, StoredJob]:
        """Store the one job of an offer as it is honoured, and what is held for it. offer: as it will be.

        :raises errors.PromisesChanged: somebody has taken a turn since it was read; decide again.
        :raises errors.OfferEnded: it, or another one of its request, was accepted; or it has ended.
        :raises errors.TooManyJobs, errors.QueueClosed, errors.QueueChanged, errors.BalanceTooLow: as
            JobStore.submit.
        """

    def accept_lease(
        self,
        offer: StoredOffer,
        turn: int,
        lease: StoredLease,
        postings: Sequence[Posting],
        events: Sequence[LeaseEvent],
        quota: LeaseQuota,
    ) -> tuple[StoredOffer, StoredLease]:
        """Book the one lease of an offer as it is honoured. offer: as it will be; else as LeaseStore.book.

        :raises errors.PromisesChanged, errors.OfferEnded: as accept; the turn is that of leases.
        :raises errors.TooManyLeases, errors.LeaseLimitReached: as LeaseStore.book.
        :raises errors.BalanceTooLow, errors.UnknownAccount: as LeaseStore.book.
        """

    def hold(self, offer: StoredOffer, turn: int, fees: Sequence[Posting]) -> StoredOffer:
        """Store an offer as it is held. offer: as it will be.

        :raises errors.PromisesChanged, errors.OfferEnded: as accept.
        :raises errors.BalanceTooLow: the fee cannot be paid.
        """

    def release(self, offer_id: str) -> StoredOffer | None:
        """Give up an offer that is open or held; what it is then. None: there is none.

        :raises errors.OfferEnded: it was accepted.
        """

    def accepted(self, queue_ids: Sequence[str]) -> Mapping[str, Accepted]:
        """How the jobs of these queues were accepted, until their offers are closed; by the id of the job."""

    def due(self, limit: int = 1000) -> Sequence[tuple[StoredOffer, StoredJob]]:
        """Accepted offers whose jobs have ended, with these, by number."""

    def close(self, offer_id: str, refunded: int) -> None:
        """Its job has ended, and this much came back."""
