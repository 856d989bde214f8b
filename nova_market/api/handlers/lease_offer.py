# SPDX-License-Identifier: Apache-2.0
"""Offers for leases and servers: made, accepted, shown (rules O1 and O2), for the handlers of offers."""

import math
from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.errors import ApiError
from nova_market.api.handlers.lease_view import shown as lease_shown
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.tender.stored_offer import OfferKind, OfferState, StoredOffer
from nova_market.core.timestamp import stamp
from nova_market.services.lease.asking import Booker
from nova_market.services.tender.lease_offers import LeaseGone, LeaseOfferRequests, MarketCost


def create(call: Call, kind: OfferKind) -> Answer:
    """What a lease or servers would cost, and when they could be had. None of the offers is a booking."""
    if 'on_behalf' in call.body:
        raise _invalid('on_behalf: leases are offered by the region that is asked: leave it out')
    call.authorize('offers:create', call.project_id)
    call.authorize('leases:create', call.project_id)
    made = _requests(call).create(kind, call.body)
    why = list(made.why)
    if call.stores.regions.names:
        why.append(
            'other regions were not asked: leases are offered by one region, ask each by itself'
        )
    body = {
        'request_id': made.request_id,
        'offers': [shown(call, one) for one in made.offers],
        'why': why,
    }
    return Answer(body=body, status=201)


def accept(call: Call, offer: StoredOffer) -> Answer:
    """Book the lease of an offer."""
    if 'job' in call.body:
        raise _invalid(
            f'job: offer {offer.id} is for a {offer.kind}, which runs no job: leave it out'
        )
    call.authorize('leases:create', offer.project_id)
    try:
        found, lease, new = _requests(call).accept(offer, call.key)
    except LeaseGone as error:
        raise ApiError(
            409,
            'market.offer.gone',
            str(error),
            alternatives=[shown(call, one) for one in error.instead],
        ) from error
    body = {'offer': shown(call, found), 'lease': lease_shown(lease)}
    return Answer(body=body, status=201 if new else 200)


def refuse_hold(offer: StoredOffer) -> None:
    """:raises ApiError: 400: a lease that is booked is held by nobody else."""
    raise _invalid(
        f'offer {offer.id} is for a {offer.kind}, and cannot be held: accept it, and delete the lease '
        'if you do not want it'
    )


def shown(call: Call, offer: StoredOffer) -> dict[str, Any]:
    """As it is sent, with the times it was made or accepted with. Hosts are for operators"""
    now, lease = call.stores.wall(), offer.lease
    assert lease is not None, 'it is no offer for a job'
    start = offer.created_at if lease.at_once else lease.start
    if offer.state is OfferState.ACCEPTED:
        start = offer.due_at - lease.duration
    hosts = {'hosts': list(lease.hosts)} if call.may('offers:list_all', offer.project_id) else {}
    of_servers = {'servers': offer.servers, 'flavor': offer.flavor} if lease.servers else {}
    cores, memory_mib, disk_gib = lease.taken
    return {
        'region': call.settings.offers.region,
        'id': offer.id,
        'kind': offer.kind,
        'number': offer.number,
        'request_id': offer.request_id,
        'project_id': offer.project_id,
        'user_id': offer.user_id,
        'state': offer.state_at(now),
        'how': offer.how,
        'change': lease.change or None,
        'nodes': lease.nodes,
        'whole': lease.whole,
        **of_servers,
        **hosts,
        'cores': cores,
        'memory_mib': memory_mib,
        'disk_gib': disk_gib,
        'duration': lease.duration,
        'at_once': lease.at_once,
        'cost': offer.cost,
        'market_cost': lease.market,
        'seconds': offer.seconds,
        'start': stamp(start),
        'finish': stamp(start + lease.duration),
        'utility': offer.utility,
        'weight': offer.weight,
        'created_at': stamp(offer.created_at),
        'valid_until': stamp(offer.valid_until),
        'accepted_at': stamp(offer.accepted_at) if offer.accepted_at else None,
        'lease_id': offer.lease_id or None,
    }


def _requests(call: Call) -> LeaseOfferRequests:
    stores, settings = call.stores, call.settings
    return LeaseOfferRequests(
        stores.offers,
        stores.of_leases,
        stores.flavors,
        Booker(project_id=call.project_id, user_id=call.user_id),
        settings.offers,
        settings.leases,
        _market(call),
    )


def _market(call: Call) -> MarketCost:
    """What cores and memory cost for so long at the prices of the newest round (rule P3), read once."""
    seen: dict[str, float] = {}

    def cost(cores: float, memory_mib: float, seconds: float) -> int | None:
        if not seen:
            newest = call.stores.history.rounds(limit=1)
            period = newest[0].period if newest else -1
            prices = call.stores.history.prices(period, period)
            seen.update({'cpu': -1.0, **{one.resource: float(one.price) for one in prices}})
        if seen['cpu'] < 0:
            return None
        each = seen['cpu'] * cores + seen.get('memory', 0.0) * memory_mib
        return min(math.ceil(each * seconds / call.settings.period), MAX_AMOUNT)

    return cost


def _invalid(text: str) -> ApiError:
    return ApiError(400, 'market.offer.invalid', text)
