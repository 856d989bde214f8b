# SPDX-License-Identifier: Apache-2.0
"""Offers of a tender queue, from what is stored: the forecast, and what was promised since.

For rule T2 of doc/source/specs/tender.rst, around core.tender.queue_offer.
"""

from collections.abc import Sequence

from nova_market.core.tender.job_offer import JobNeed, JobOffers
from nova_market.core.tender.queue_offer import queue_offers
from nova_market.core.tender.stored_offer import How, StoredOffer
from nova_market.services.tender.outlook import Outlook, Outlooks, promise_of


def tender_offers(
    need: JobNeed,
    outlook: Outlook,
    promised: Sequence[StoredOffer],
    outlooks: Outlooks,
    now: float,
) -> tuple[JobOffers, tuple[float, ...]]:
    """(the offers, the prices by which they are made). promised: since the forecast, or held."""
    queue, forecast = outlook.queue, outlook.forecast
    assert forecast is not None, 'no offers without a forecast'
    # who waits for a worker of this queue takes no room of its own
    with_room = [
        one for one in promised if one.queue_id != queue.id or one.how is not How.BUSY_WORKER
    ]
    mine = [one for one in promised if one.queue_id == queue.id]
    mine.sort(key=lambda one: (one.accepted_at or now, one.number))
    made = queue_offers(
        need,
        queue,
        forecast,
        promises=[promise_of(one) for one in mine],
        calendar=outlooks.calendar(outlook, with_room, now),
        now=now,
    )
    ahead = forecast.queues.get(queue.id)
    return made, ahead.tender.prices if ahead and ahead.tender else ()
