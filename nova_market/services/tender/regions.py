# SPDX-License-Identifier: Apache-2.0
"""Offers of this region and of those below it, as one list.

Implements rule O5 of doc/source/specs/tender.rst (INRIA RR-7837, section 2). All regions are asked at once
and for the same time; each asks those below it in a part of that time, so that its own answer is in time. A
request carries an id and the regions that it has passed: a ring of regions ends where it began.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from nova_market.core.job.queue_access import Submitter
from nova_market.core.tender.offer_request import deadline_of
from nova_market.core.tender.region_answer import (
    MAX_OFFERS,
    MAX_REASONS,
    Expected,
    RegionOffer,
    reason,
)
from nova_market.core.tender.region_merge import together, without_repeated
from nova_market.core.tender.stored_offer import OfferFilter, StoredOffer
from nova_market.errors import BadJob, BadOffer, CloudUnavailable, QueueClosed, TooManyOffers
from nova_market.ports import ChildRegions, RegionReply
from nova_market.services.tender.offers import OfferRequests, OfferSettings, OfferStores

PART = 0.75
"""Of the time that a region has to answer, for those below it; the rest is for its own work and the way."""

OF_THIS_REGION = (BadOffer, BadJob, QueueClosed, TooManyOffers)
"""What makes one region offer nothing, and others not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Of a request that another region sends for a user of it.

    path:   regions that it has passed, the first one first
    within: seconds that the sender waits
    """

    request_id: str
    path: tuple[str, ...]
    within: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """offers: of all regions, the best one first; why: a sentence for each flavor or region without one"""

    request_id: str
    offers: Sequence[StoredOffer | RegionOffer]
    why: Sequence[str]
    queues: Mapping[str, str]
    """Names of queues of this region, by id."""


class RegionOffers:
    """Requests of one caller. by: the user who will accept."""

    def __init__(
        self,
        own: OfferRequests,
        by: Submitter,
        stores: OfferStores,
        settings: OfferSettings,
        children: ChildRegions,
    ) -> None:
        self._own = own
        self._by = by
        self._stores = stores
        self._settings = settings
        self._children = children

    def create(self, body: Mapping[str, Any], asking: Asking | None = None) -> Together:
        """Offers for a job, of this region and of those below.

        :raises BadOffer, BadJob, QueueClosed, TooManyOffers: names what is wrong; of this region alone only
            if no other one was asked.
        """
        self._own.check(body)
        path = asking.path if asking else ()
        request_id = asking.request_id if asking else str(uuid4())
        if asking is not None and self._repeated(asking):
            seen = f'{self._settings.region} was asked for this request already'
            return Together(request_id=request_id, offers=(), why=(seen,), queues={})
        visited = (*path, self._settings.region)
        wait = self._asked(body, request_id, visited, asking)
        own, none, queues = self._made(body, request_id, alone=wait is None)
        replies = wait() if wait else ()
        answers = {one.region: one.answer for one in replies if one.answer is not None}
        others, repeated = without_repeated(answers)
        why = [
            *none,
            *(f'{one.region}: {reason(one.why)}' for one in replies if one.answer is None),
            *(reason(text) for answer in answers.values() for text in answer.why),
            *repeated,
        ]
        utility, weight = self._own.utility(body)
        offers = together(own, others, utility, weight)
        if asking is not None:
            # more than this would be refused whole; the best ones come first
            offers, why = offers[:MAX_OFFERS], why[:MAX_REASONS]
        return Together(request_id=request_id, offers=offers, why=why, queues=queues)

    def _repeated(self, asking: Asking) -> bool:
        """Whether the request has been here: by its path, or on another way."""
        if not self._settings.region:
            raise BadOffer(
                'this region has no name: its operator sets [offers]region, which offers are found by'
            )
        if self._settings.region in asking.path:
            return True
        chosen = OfferFilter(
            now=self._stores.wall(), project_id=self._by.project_id, request_id=asking.request_id
        )
        return bool(self._stores.offers.offers(chosen, limit=1))

    def _asked(
        self,
        body: Mapping[str, Any],
        request_id: str,
        visited: tuple[str, ...],
        asking: Asking | None,
    ) -> Callable[[], Sequence[RegionReply]] | None:
        """Waits for the replies of those below; None: there is nobody to ask."""
        regions = [name for name in self._children.names if name not in visited]
        if not regions or len(visited) >= self._settings.depth:
            return None
        within = self._settings.child_timeout
        if asking is not None:
            within = min(within, PART * asking.within)
        request = {name: value for name, value in body.items() if name != 'on_behalf'}
        request['on_behalf'] = {
            'project_id': self._by.project_id,
            'user_id': self._by.user_id,
            'roles': list(self._by.roles),
            'request_id': request_id,
            'path': list(visited),
            'within': within,
        }
        expected = Expected(
            request_id=request_id,
            project_id=self._by.project_id,
            user_id=self._by.user_id,
            servers=int(body.get('servers', 1)),
            time_limit=int(body['time_limit']),
            flavor=str(body.get('flavor', '')),
            deadline=deadline_of(body),
            visited=visited,
        )
        return self._children.ask(request, expected, regions, within)

    def _made(
        self, body: Mapping[str, Any], request_id: str, *, alone: bool
    ) -> tuple[Sequence[StoredOffer], list[str], Mapping[str, str]]:
        """Offers of this region, why there are none, and the name of its queue."""
        try:
            made = self._own.create(body, request_id)
        except OF_THIS_REGION as error:
            if alone:
                raise
            return (), [self._named(str(error))], {}
        except CloudUnavailable:
            if alone:
                raise
            return (), [self._named('the cloud does not answer: ask again later')], {}
        return made.offers, [self._named(one) for one in made.why], {made.queue.id: made.queue.name}

    def _named(self, text: str) -> str:
        return f'{self._settings.region}: {text}' if self._settings.region else text
