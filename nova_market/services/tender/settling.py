# SPDX-License-Identifier: Apache-2.0
"""Money back for jobs that were done later than an accepted offer promised.

Implements the end of rule O3 of doc/source/specs/tender.rst. What a job costs is charged before its end is
stored (services.job.billing); so a job that has ended is charged, and what is late comes back now, from the
project of the queue: at most what that project has. Whoever is killed after posting finds the posting.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import StoredJob
from nova_market.core.tender.stored_offer import StoredOffer, late_refund, refund_posting
from nova_market.errors import BadRow, BalanceTooLow, KeyReused, UnknownAccount
from nova_market.ports import LedgerStore, OfferStore
from nova_market.row_boundary import RowBoundary

LOG = logging.getLogger(__name__)

TRIES = 3
"""While the project of the queue spends what it has."""


class OfferSettling:
    """Closes accepted offers whose jobs have ended. Remembers nothing."""

    def __init__(
        self,
        offers: OfferStore,
        ledger: LedgerStore,
        boundary: RowBoundary,
        by: str = 'nova-market-jobs',
    ) -> None:
        self._offers = offers
        self._ledger = ledger
        self._boundary = boundary
        self._by = by

    def settle(self, queues: Mapping[str, StoredQueue]) -> int:
        """How many were closed. queues: by id; an offer of one that is gone is closed without a refund.

        :raises errors.DatabaseUnavailable: the next call does the rest.
        """
        closed = 0
        for offer, job in self._offers.due():
            with self._boundary.row('offer', offer.id, 'settle'):
                queue = queues.get(offer.queue_id)
                if queue is None and offer.queue_id in self._boundary.unread('queue'):
                    raise BadRow(f'its queue {offer.queue_id} cannot be read')
                paid = self._paid_back(offer, job, queue.project_id) if queue else 0
                self._offers.close(offer.id, paid)
                closed += 1
        return closed

    def _paid_back(self, offer: StoredOffer, job: StoredJob, owner: str) -> int:
        posting = refund_posting(offer, owner, late_refund(offer, job))
        if posting is None:
            return 0
        for _ in range(TRIES):
            before = self._ledger.posted([posting.key])
            if before:
                return before[posting.key].amount
            there = self._ledger.balances([posting.debit]).get(posting.debit, 0)
            amount = min(posting.amount, there)
            if amount <= 0:
                break
            try:
                self._ledger.post([replace(posting, amount=amount)], by=self._by)
            except (BalanceTooLow, KeyReused):
                continue  # another service pays: what it has posted is read
            except UnknownAccount:
                break
            return amount
        LOG.warning(
            'offer %s: job %s was late, and %s has nothing to give back',
            offer.id,
            job.id,
            posting.debit,
        )
        return 0
