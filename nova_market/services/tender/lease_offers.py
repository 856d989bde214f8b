# SPDX-License-Identifier: Apache-2.0
"""Offers for leases and for servers are made and accepted.

Implements rules O1, O2 and O4 of doc/source/specs/tender.rst for leases around core.tender.lease_way. What
is accepted is decided by what was booked until then, and stored only if nothing was booked since
(ports.OfferStore): otherwise all is read and decided again. Seconds since the epoch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import numpy as np

from nova_market.core.calendar.grain import not_before
from nova_market.core.lease.billing import hold
from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.greedy import first_place
from nova_market.core.lease.life import event
from nova_market.core.lease.limit import LeaseQuota
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.record import LeaseAction, StoredLease
from nova_market.core.lease.refusal import faults
from nova_market.core.lease.repair import stored_nodes
from nova_market.core.lease.request import LeaseRequest
from nova_market.core.tender.lease_way import LeaseWay, cheapest_first, lease_ways, way_columns
from nova_market.core.tender.offer_request import utility_name, utility_of
from nova_market.core.tender.offered_lease import OfferedLease, taken_by
from nova_market.core.tender.stored_offer import How, OfferKind, OfferState, StoredOffer
from nova_market.core.tender.utility import best_first
from nova_market.core.text import shown
from nova_market.errors import (
    BadLease,
    BadOffer,
    Conflict,
    LeaseRefused,
    OfferEnded,
    OfferGone,
    PromisesChanged,
)
from nova_market.ports import Flavors, OfferStore
from nova_market.services.lease.asking import (
    Booker,
    LeaseStores,
    TimeLeft,
    booked_lease,
    check_lease,
    check_on,
    check_worth,
    lease_request,
    planned,
    quota_of,
    seen_hosts,
)
from nova_market.services.lease.booking import where
from nova_market.services.lease.settings import LeaseSettings
from nova_market.services.tender.offers import OfferSettings

MOST = 20
"""Offers of one request."""

SIZE = ('cores', 'memory_mib', 'disk_gib')

MarketCost = Callable[[float, float, float], int | None]
"""(cores, MiB, seconds) -> micro-credits in the market at its last prices; None: there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeLeases:
    """offers: the best one first; why: a sentence when what was asked for cannot be had"""

    request_id: str
    offers: Sequence[StoredOffer]
    why: Sequence[str]


class LeaseGone(OfferGone):
    """With what can be had instead."""

    def __init__(self, problem: str, instead: Sequence[StoredOffer]) -> None:
        super().__init__(problem)
        self.instead = instead


class LeaseOfferRequests:
    """Requests of one caller."""

    def __init__(
        self,
        offers: OfferStore,
        leases: LeaseStores,
        flavors: Flavors,
        by: Booker,
        settings: OfferSettings,
        lease_settings: LeaseSettings,
        market: MarketCost = lambda cores, memory_mib, seconds: None,
    ) -> None:
        self._offers = offers
        self._stores = leases
        self._flavors = flavors
        self._by = by
        self._settings = settings
        self._leases = lease_settings
        self._market = market

    def create(self, kind: OfferKind, body: Mapping[str, Any]) -> MadeLeases:
        """Offers for a lease or for servers, kept until they are accepted or have expired.

        body: as it was sent: the request below `lease` or `server`, utility and weight

        :raises BadOffer, BadLease, LeasesOff: names what is wrong.
        :raises TooManyOffers: of the project.
        """
        utility, weight = utility_of(body, self._settings.utilities)
        check_on(self._leases)
        self._offers.check(self._by.project_id, self._settings.most)
        now, request_id = self._stores.wall(), str(uuid4())
        asked = body[kind]
        requests = self._requests(kind, asked, now)
        try:
            _, hosts = seen_hosts(self._stores, self._leases, now)
        except LeaseRefused as error:
            return MadeLeases(request_id=request_id, offers=(), why=(str(error),))
        # one after the other, in the time of one
        each = self._leases.request_seconds / len(requests)
        plans = [planned(hosts, (one,), self._leases, now, each)[0].places[0] for one in requests]
        ways = lease_ways(hosts, requests, plans, self._leases.prices)
        total = quota_of(hosts, self._leases, now).total
        for way in ways:
            taken = () if way.asked.whole else taken_by(way.nodes)
            check_worth(way.cost, self._leases, taken, total)
        columns = way_columns(ways, now)
        order = best_first(columns, np.arange(len(ways)), utility, weight)[:MOST].tolist()
        made = [
            self._offer(request_id, kind, body, ways[row], requests[ways[row].row], now)
            for row in order
        ]
        missing = not ways or ways[0].change is not None
        why = [one.sentence for one in faults(hosts, requests[0])] if missing else []
        return MadeLeases(
            request_id=request_id,
            offers=self._offers.create(made, self._settings.most),
            why=why or (['no placement was found in time'] if not ways else []),
        )

    def accept(self, offer: StoredOffer, key: str | None) -> tuple[StoredOffer, StoredLease, bool]:
        """(the offer as it is honoured, its lease, whether it is new).

        :raises LeaseGone: it cannot be had any more; with alternatives.
        :raises OfferEnded: it was accepted by somebody, was released, or has expired.
        :raises LeasesOff, TooManyLeases, LeaseLimitReached, BalanceTooLow, UnknownAccount: nothing was
            charged.
        :raises Conflict: others booked all the time.
        """
        time_left = TimeLeft(self._leases.request_seconds)
        while time_left.again():
            if key and offer.accept_key == key:
                lease = self._stores.leases.lease(offer.lease_id)
                if lease is None:
                    raise OfferEnded(f'lease {offer.lease_id} is not kept any more')
                return offer, lease, False
            now = self._stores.wall()
            state = offer.state_at(now)
            if state is not OfferState.OPEN:
                raise OfferEnded(f'offer {offer.id} is {state}: ask for new ones')
            self._stores.leases.check(offer.project_id, self._leases.limits.leases)
            lease, turn, quota = self._again(offer, now, time_left)
            check_lease(lease, self._leases, quota.total)
            accepted = replace(
                offer,
                state=OfferState.ACCEPTED,
                cost=lease.cost,
                lease_id=lease.id,
                accept_key=key or '',
                accepted_at=now,
                due_at=lease.end,
            )
            booked = event(lease, now, LeaseAction.BOOKED, where(lease))
            try:
                return *self._offers.accept_lease(
                    accepted, turn, lease, hold(lease), [booked], quota
                ), True
            except PromisesChanged:
                found = self._offers.offer(offer.id)
                if found is None:
                    raise OfferEnded(f'offer {offer.id} is not kept any more') from None
                offer = found
        raise Conflict(f'offer {offer.id}: others book leases all the time: try again')

    def _again(
        self, offer: StoredOffer, now: float, time_left: TimeLeft
    ) -> tuple[StoredLease, int, LeaseQuota]:
        """The lease of an offer as it can be booked now, the turn, what it is checked against (O2)."""
        promised = offer.lease
        assert promised is not None, 'the caller has looked at its kind'
        lease_id = str(uuid5(NAMESPACE_URL, f'market:offer:{offer.request_id}'))
        asked = promised.request(lease_id, float(not_before(now)))
        problem = _passed(promised, asked, now)
        if not problem:
            try:
                turn, hosts = seen_hosts(self._stores, self._leases, now)
                lease = self._placed(offer, promised, asked, hosts, now, time_left)
                if lease is not None:
                    return lease, turn, quota_of(hosts, self._leases, now)
                problem = '; '.join(one.sentence for one in faults(hosts, asked)) or (
                    'other hosts have less, or cost more'
                )
            except (LeaseRefused, BadLease) as error:
                problem = str(error)
        raise LeaseGone(
            f'offer {offer.id} cannot be had any more for that cost at that time, and nothing was charged: '
            f'{problem}',
            self._instead(offer),
        )

    def _placed(
        self,
        offer: StoredOffer,
        promised: OfferedLease,
        asked: LeaseRequest,
        hosts: Cluster,
        now: float,
        time_left: TimeLeft,
    ) -> StoredLease | None:
        """On the hosts that were offered, or on others that have no less for no more; None: neither."""
        row = {name: number for number, name in enumerate(hosts.names)}
        offered = [row[name] for name in promised.hosts if name in row]
        plan, names = planned(hosts, (asked,), self._leases, now, time_left.seconds)
        places: list[LeasePlace | None] = [
            first_place(hosts, replace(asked, hosts=()), np.array(offered, dtype=np.intp)),
            *plan.places,
            first_place(hosts, asked, cheapest_first(hosts, asked)),
        ]
        for place in places:
            if place is None:
                continue
            nodes = stored_nodes(hosts, asked, place.hosts)
            body = promised.body
            made = booked_lease(asked, body, nodes, place.start, now, self._by, self._leases.prices)
            if made.cost <= offer.cost and promised.kept_by(nodes):
                made = replace(made, finish=max(promised.finish, made.finish))
                return made if asked.hosts else replace(made, **names)
        return None

    def _instead(self, offer: StoredOffer) -> Sequence[StoredOffer]:
        """What can be offered now for the same request."""
        assert offer.lease is not None, 'the caller has looked at its kind'
        body = {
            offer.kind: offer.lease.body,
            'utility': offer.utility,
            'weight': offer.weight,
        }
        try:
            return self.create(offer.kind, body).offers
        except (BadLease, BadOffer):
            return ()  # its time has passed

    def _offer(
        self,
        request_id: str,
        kind: OfferKind,
        body: Mapping[str, Any],
        way: LeaseWay,
        request: LeaseRequest,
        now: float,
    ) -> StoredOffer:
        asked, taken = way.asked, taken_by(way.nodes)
        of_servers = kind is OfferKind.SERVER
        per_node = int(body[kind].get('count', 1)) // request.nodes if of_servers else 0
        at_once = way.start <= float(not_before(now))
        valid_until = now + self._settings.valid
        lease = OfferedLease(
            body=body[kind],
            nodes=len(way.nodes),
            servers=per_node,
            amounts=tuple(asked.amounts.tolist()),
            whole=asked.whole,
            utilisation=asked.utilisation,
            named=asked.hosts,
            duration=asked.duration,
            start=way.start,
            at_once=at_once,
            finish=asked.finish,
            hosts=tuple(node.host for node in way.nodes),
            taken=taken,
            change=str(way.change or ''),
            market=self._market(taken[0], taken[1], asked.duration),
        )
        return StoredOffer(
            id=str(uuid4()),
            request_id=request_id,
            project_id=self._by.project_id, user_id=self._by.user_id, queue_id='', flavors={},
            servers=lease.nodes * max(lease.servers, 1),
            time_limit=int(np.ceil(asked.duration)),
            utility=utility_name(body),
            weight=float(body.get('weight', 0.5)),
            flavor=str(body[kind].get('flavor', '')),
            how=How.RESERVED_HOSTS, count=1, cost=way.cost,
            seconds=way.start + asked.duration - now,
            created_at=now,
            valid_until=valid_until if at_once else min(valid_until, way.start),
            kind=kind,
            lease=lease,
        )  # fmt: skip

    def _requests(
        self, kind: OfferKind, asked: Mapping[str, Any], now: float
    ) -> tuple[LeaseRequest, ...]:
        """What is looked for; for servers, one request for each number of hosts that they share evenly."""
        if kind is OfferKind.LEASE:
            return (lease_request('lease', asked, now, self._leases),)
        size = self._flavors.size(asked['flavor'])
        if size is None:
            raise BadOffer(f'flavor: there is no public flavor {shown(asked["flavor"])}')
        count = int(asked.get('count', 1))
        rest = {name: value for name, value in asked.items() if name not in ('flavor', 'count')}
        return tuple(
            lease_request(
                'server',
                {
                    **rest,
                    'nodes': nodes,
                    **{name: one * (count // nodes) for name, one in zip(SIZE, size, strict=True)},
                },
                now,
                self._leases,
            )
            for nodes in range(count, 0, -1)
            if count % nodes == 0
        )


def _passed(promised: OfferedLease, asked: LeaseRequest, now: float) -> str:
    """Why it is too late for it; '': it is not."""
    if not promised.at_once and now > promised.start:
        return 'its start has passed'
    if 'finish' in promised.body and asked.finish > promised.finish:
        return 'it would end after its window'
    return ''
