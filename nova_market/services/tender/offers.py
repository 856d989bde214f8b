# SPDX-License-Identifier: Apache-2.0
"""Offers for jobs are made, accepted, held and released.

Implements rules O1 to O4 of doc/source/specs/tender.rst (INRIA RR-7837, section 3.2) around
core.tender.job_offer. Accepting and holding decide by what was promised until then, and are stored only if
nothing was promised since (ports.OfferStore): otherwise all is read and decided again.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import numpy as np

from nova_market.core.job.forecast import Forecast
from nova_market.core.job.operator_limits import JobLimits, queue_in_force
from nova_market.core.job.queue import QueueState, StoredQueue
from nova_market.core.job.queue_access import (
    Submitter,
    invitations,
    key_of,
    may_submit,
    no_queue,
)
from nova_market.core.job.request import AdmissionFacts, Size, check_limits, flavors_of
from nova_market.core.ledger.account import Account
from nova_market.core.tender.acceptance import Terms, honoured
from nova_market.core.tender.job_offer import JobNeed, JobOffers, job_offers, no_offers
from nova_market.core.tender.offer_request import deadline_of, utility_name, utility_of
from nova_market.core.tender.place import Kind
from nova_market.core.tender.stored_offer import (
    HOW,
    OfferState,
    StoredOffer,
    free_hold_problem,
    hold_fee,
    hold_posting,
)
from nova_market.core.tender.utility import Utility, best_first
from nova_market.core.timestamp import stamp
from nova_market.errors import (
    BadOffer,
    Conflict,
    OfferEnded,
    OfferGone,
    PromisesChanged,
    QueueChanged,
    QueueClosed,
    TooManyOffers,
)
from nova_market.ports import (
    AccountStore,
    Flavors,
    OfferStore,
    QueueStore,
)
from nova_market.services.job.submission import Submissions
from nova_market.services.tender.outlook import Outlook, Outlooks, promise_of
from nova_market.services.tender.tender_places import tender_offers

TRIES = 100
"""While others accept and hold: of n at once each tries at most n times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferStores:
    """What offers are made with. wall: seconds since the epoch; outlooks: of all requests of a process."""

    offers: OfferStore
    queues: QueueStore
    accounts: AccountStore
    flavors: Flavors
    wall: Callable[[], float]
    outlooks: Outlooks = field(default_factory=Outlooks)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferSettings:
    """valid: seconds of an open offer; most: open or held of a project; longest_hold: seconds

    hold_fee: part of the cost for each hour of a hold; late_refund: part that comes back at twice the time
    forecast_age: seconds after which a forecast is of no use
    region: name of this one, '' when it stands alone; child_timeout: seconds for which others are waited for
    depth: levels of regions, this one included
    utilities: plug-ins of nova_market.utility, by name; limits: what no queue may exceed
    """

    valid: float = 300.0
    most: int = 1000
    longest_hold: float = 600.0
    hold_fee: float = 0.1
    late_refund: float = 0.5
    forecast_age: float = 60.0
    region: str = ''
    child_timeout: float = 2.0
    depth: int = 3
    utilities: Mapping[str, Utility] = field(default_factory=dict)
    limits: JobLimits = field(default_factory=JobLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """offers: the best one first; why: a sentence for each flavor without one; queue: that was asked"""

    request_id: str
    offers: Sequence[StoredOffer]
    why: Sequence[str]
    queue: StoredQueue


class Gone(OfferGone):
    """With what can be had instead."""

    def __init__(self, problem: str, instead: Made) -> None:
        super().__init__(problem)
        self.instead = instead


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Found:
    """What can be offered now, by what was promised until `turn`. others: that, but the offer itself"""

    turn: int
    queue: StoredQueue
    now: float
    made: JobOffers
    prices: tuple[float, ...] = ()
    others: Sequence[StoredOffer] = ()


class OfferRequests:
    """Requests of one caller."""

    def __init__(
        self,
        stores: OfferStores,
        by: Submitter,
        submissions: Submissions,
        settings: OfferSettings,
    ) -> None:
        self._stores = stores
        self._by = by
        self._submissions = submissions
        self._settings = settings

    def check(self, body: Mapping[str, Any]) -> None:
        """What is wrong wherever it is asked; before anything is computed.

        :raises BadOffer, TooManyOffers: names the entry; of the project.
        """
        self.utility(body)
        at, now = deadline_of(body), self._stores.wall()
        if at <= now:
            raise BadOffer(f'deadline: {stamp(at)} is past: give a time after {stamp(now)}')
        self._stores.offers.check(self._by.project_id, self._settings.most)

    def utility(self, body: Mapping[str, Any]) -> tuple[Utility, float]:
        """By which the best of several is chosen, and its weight.

        :raises BadOffer: it is not installed.
        """
        return utility_of(body, self._settings.utilities)

    def create(self, body: Mapping[str, Any], request_id: str | None = None) -> Made:
        """Offers for a job, kept until they are accepted or have expired. request_id: None: a new one

        :raises BadOffer, BadJob, QueueClosed: names what is wrong.
        :raises TooManyOffers: of the project.
        """
        self.check(body)
        deadline = deadline_of(body)
        outlook = self._outlook(body['queue'])
        queue = outlook.queue
        asked = StoredOffer(
            id='',
            request_id=request_id or str(uuid4()),
            project_id=self._by.project_id,
            user_id=self._by.user_id,
            queue_id=queue.id,
            flavors=self._flavors(body, outlook),
            servers=int(body.get('servers', 1)),
            time_limit=int(body['time_limit']),
            deadline=0.0 if math.isinf(deadline) else deadline,
            utility=utility_name(body),
            weight=float(body.get('weight', 0.5)),
            flavor='',
            how=HOW[Kind.NEW],
            count=0,
            cost=0,
            seconds=0.0,
        )
        return self._kept(asked, self._find(asked, outlook))

    def accept(
        self, offer: StoredOffer, content: Mapping[str, Any], key: str | None
    ) -> tuple[StoredOffer, str, bool]:
        """(the offer as it is honoured, the id of its job, whether it is new). content: what the job runs.

        :raises Gone: it cannot be had any more; with alternatives.
        :raises OfferEnded: it was accepted by somebody, was released, or has expired.
        :raises BadJob, BalanceTooLow, QueueClosed, TooManyJobs: nothing was charged.
        """
        if key and offer.accept_key == key:
            return offer, offer.job_id, False
        for _ in range(TRIES):
            self._check_live(offer)
            found, row = self._again(offer)
            job_id = str(uuid5(NAMESPACE_URL, f'market:offer:{offer.request_id}'))
            honest = self._as_made(offer, found, row)
            accepted = replace(
                honest,
                state=OfferState.ACCEPTED,
                job_id=job_id,
                accept_key=key or '',
                accepted_at=found.now,
                due_at=found.now + honest.seconds,
                late_refund=self._settings.late_refund,
            )
            entry = {
                **content,
                'queue': found.queue.id,
                'flavor': accepted.flavor,
                'servers': offer.servers,
                'time_limit': offer.time_limit,
            }
            new, quotas = self._submissions.checked(entry, job_id, accepted.cost)
            try:
                if new.generations[found.queue.id] != found.queue.generation:
                    raise QueueChanged('the queue was changed: decide again')
                stored, job = self._stores.offers.accept(accepted, found.turn, new, quotas)
            except (PromisesChanged, QueueChanged):
                offer = self._read(offer)
                if key and offer.accept_key == key:
                    return offer, offer.job_id, False
                continue
            return stored, job.id, True
        raise Conflict(f'offer {offer.id}: others accept offers all the time: try again')

    def hold(self, offer: StoredOffer, wanted: float) -> StoredOffer:
        """Keep the room of an offer for some seconds, for a fee.

        :raises Gone, OfferEnded: as accept; BadOffer: for longer than is allowed.
        :raises BalanceTooLow: the fee cannot be paid; TooManyOffers: there is none, and one is held so.
        """
        most = self._settings.longest_hold
        if not 0 < wanted <= most:
            raise BadOffer(f'seconds: {wanted:g}: give more than 0, at most {most:g}')
        for _ in range(TRIES):
            self._check_live(offer)
            found, row = self._again(offer)
            honest = self._as_made(offer, found, row)
            fee = hold_fee(honest.cost, self._settings.hold_fee, wanted)
            posting = hold_posting(honest, found.queue.project_id, fee)
            if posting is None and (problem := free_hold_problem(offer, found.others)):
                raise TooManyOffers(problem)
            if posting is not None:
                self._stores.accounts.open(
                    [Account(id=posting.credit, project_id=found.queue.project_id)]
                )
            held = replace(
                honest,
                state=OfferState.HELD,
                valid_until=found.now + wanted,
                due_at=found.now + honest.seconds,
                holds=offer.holds + 1,
                fees=offer.fees + (posting.amount if posting else 0),
            )
            try:
                return self._stores.offers.hold(held, found.turn, [posting] if posting else [])
            except PromisesChanged:
                offer = self._read(offer)
                if (offer.holds, offer.valid_until) == (held.holds, held.valid_until):
                    return offer  # it was stored, and the answer got lost
        raise Conflict(f'offer {offer.id}: others accept offers all the time: try again')

    def _again(self, offer: StoredOffer) -> tuple[_Found, int]:
        """All offers that can be made now, and the row that honours this one (O2)."""
        found = self._find(offer, self._outlook(offer.queue_id))
        terms = Terms(cost=offer.cost, seconds=offer.seconds)
        utility = self._settings.utilities[offer.utility]
        row = honoured(terms, found.made.offers, utility, offer.weight)
        if row is None:
            instead = self._kept(replace(offer, request_id=str(uuid4())), found)
            reasons = '; '.join(instead.why)
            raise Gone(
                f'offer {offer.id} cannot be had any more for that cost and time, and nothing was charged'
                + (f': {reasons}' if reasons else ''),
                instead,
            )
        return found, row

    def _find(self, offer: StoredOffer, outlook: Outlook) -> _Found:
        """What can be offered for what this one was asked for."""
        queue, forecast, now = outlook.queue, outlook.forecast, self._stores.wall()
        if forecast is None or now - forecast.at > self._settings.forecast_age:
            made = no_offers(_too_old(forecast, now))
            return _Found(turn=outlook.turn, queue=queue, now=now, made=made)
        others = [one for one in outlook.promised if one.id != offer.id]
        need = JobNeed(
            flavors=offer.flavors,
            servers=offer.servers,
            time_limit=offer.time_limit,
            deadline=offer.deadline or math.inf,
        )
        if queue.is_tender:
            made, prices = tender_offers(need, outlook, others, self._stores.outlooks, now)
            return _Found(
                turn=outlook.turn, queue=queue, now=now, made=made, prices=prices, others=others
            )
        made = job_offers(
            need,
            queue,
            forecast,
            idle=outlook.idle,
            promises=[promise_of(one) for one in others],
            calendar=self._stores.outlooks.calendar(outlook, others, now),
            now=now,
        )
        return _Found(turn=outlook.turn, queue=queue, now=now, made=made, others=others)

    def _kept(self, asked: StoredOffer, found: _Found) -> Made:
        """What was found, as new offers that are stored."""
        offers = found.made.offers
        utility = self._settings.utilities[asked.utility]
        order = best_first(offers, np.arange(len(offers)), utility, asked.weight)
        made = [
            replace(
                self._as_made(asked, found, row),
                id=str(uuid4()),
                state=OfferState.OPEN,
                created_at=found.now,
                valid_until=found.now + self._settings.valid,
                due_at=0.0,
                holds=0,
                fees=0,
            )
            for row in order.tolist()
        ]
        stored = self._stores.offers.create(made, self._settings.most)
        return Made(
            request_id=asked.request_id, offers=stored, why=found.made.why, queue=found.queue
        )

    def _as_made(self, offer: StoredOffer, found: _Found, row: int) -> StoredOffer:
        offers = found.made.offers
        return replace(
            offer,
            flavor=list(offer.flavors)[int(offers.flavor[row])],
            how=HOW[Kind(int(offers.kind[row]))],
            count=int(offers.count[row]),
            cost=int(offers.cost[row]),
            seconds=float(offers.seconds[row]),
            price_core_hour=found.queue.price_core_hour,
            prices=found.prices,
        )

    def _outlook(self, name: str) -> Outlook:
        """Of a queue that takes jobs of the caller."""
        whose = self._by.project_id
        outlook = self._stores.outlooks.of(self._stores.offers, key_of(name, whose), whose)
        if outlook is None or not may_submit(outlook.queue, self._by):
            others = invitations(self._stores.queues.named(name), self._by)
            raise BadOffer(f'queue: {no_queue(name, others)}')
        queue = outlook.queue
        if queue.state is not QueueState.OPEN:
            raise QueueClosed(f'queue: {queue.name} is {queue.state}: name another one')
        return replace(outlook, queue=queue_in_force(queue, self._settings.limits))

    def _flavors(self, body: Mapping[str, Any], outlook: Outlook) -> Mapping[str, Size]:
        queue = outlook.queue
        sizes = {name: self._stores.flavors.size(name) for name in queue.flavors}
        facts = AdmissionFacts(
            queues={},
            flavors={name: size for name, size in sizes.items() if size is not None},
            hosts=outlook.hosts,
            now=self._stores.wall(),
        )
        check_limits('offer', body, queue)
        return {name: facts.flavors[name] for name in flavors_of('offer', body, queue, facts)}

    def _check_live(self, offer: StoredOffer) -> None:
        state = offer.state_at(self._stores.wall())
        if state not in (OfferState.OPEN, OfferState.HELD):
            raise OfferEnded(f'offer {offer.id} is {state}: ask for new ones')

    def _read(self, offer: StoredOffer) -> StoredOffer:
        if (found := self._stores.offers.offer(offer.id)) is None:
            raise OfferEnded(f'offer {offer.id} is not kept any more: ask for new ones')
        return found


def _too_old(forecast: Forecast | None, now: float) -> str:
    if forecast is None:
        return 'the service of jobs has made no forecast yet: ask again in a minute'
    return f'the last forecast of the service of jobs is {now - forecast.at:.0f} s old: ask again later'
