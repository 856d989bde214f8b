# SPDX-License-Identifier: Apache-2.0
"""Offers to bags: only those that are taken are stored (rule T5 of doc/source/specs/tender.rst)."""

from collections.abc import Mapping, Sequence

from nova_market.core.job.pe_line import Accepted
from nova_market.core.job.record import StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs
from nova_market.core.lease.limit import LeaseQuota
from nova_market.core.lease.record import LeaseEvent, StoredLease
from nova_market.core.ledger.posting import Posting
from nova_market.core.tender.outlook import ForecastMark, OfferRows
from nova_market.core.tender.stored_offer import OfferFilter, StoredOffer
from nova_market.ports import OfferStore


class UnkeptOffers:
    """An OfferStore in which new offers are not stored: a bag keeps what it takes, with its decision.

    So what bags ask for does not count among the offers that a project may have open.
    """

    def __init__(self, store: OfferStore) -> None:
        self._store = store

    def create(self, made: Sequence[StoredOffer], most: int) -> Sequence[StoredOffer]:
        return tuple(made)

    def check(self, project_id: str, most: int) -> None:
        """None of them counts."""

    def offer(self, offer_id: str) -> StoredOffer | None:
        return self._store.offer(offer_id)

    def offers(
        self, chosen: OfferFilter, before: int = 0, limit: int = 1000
    ) -> Sequence[StoredOffer]:
        return self._store.offers(chosen, before, limit)

    def promised(self, since: float) -> tuple[int, Sequence[StoredOffer]]:
        return self._store.promised(since)

    def outlook(self, queue: str, project_id: str, known: ForecastMark) -> OfferRows | None:
        return self._store.outlook(queue, project_id, known)

    def accept(
        self, offer: StoredOffer, turn: int, new: NewJobs, quotas: JobQuotas
    ) -> tuple[StoredOffer, StoredJob]:
        return self._store.accept(offer, turn, new, quotas)

    def accept_lease(
        self,
        offer: StoredOffer,
        turn: int,
        lease: StoredLease,
        postings: Sequence[Posting],
        events: Sequence[LeaseEvent],
        quota: LeaseQuota,
    ) -> tuple[StoredOffer, StoredLease]:
        return self._store.accept_lease(offer, turn, lease, postings, events, quota)

    def hold(self, offer: StoredOffer, turn: int, fees: Sequence[Posting]) -> StoredOffer:
        return self._store.hold(offer, turn, fees)

    def release(self, offer_id: str) -> StoredOffer | None:
        return self._store.release(offer_id)

    def accepted(self, queue_ids: Sequence[str]) -> Mapping[str, Accepted]:
        return self._store.accepted(queue_ids)

    def due(self, limit: int = 1000) -> Sequence[tuple[StoredOffer, StoredJob]]:
        return self._store.due(limit)

    def close(self, offer_id: str, refunded: int) -> None:
        self._store.close(offer_id, refunded)
