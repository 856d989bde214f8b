# SPDX-License-Identifier: Apache-2.0
"""Offers: asked for, listed, shown, accepted, held, released (rules O1 to O5).

An offer is seen and used by the project that asked for it. HTTP becomes a request (services.tender.offers)
and back.
"""

from collections.abc import Mapping
from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers import lease_offer
from nova_market.api.handlers.job import HEADER, NUMBER, submissions_of, submitter
from nova_market.api.handlers.job_view import price_vector, short
from nova_market.api.handlers.queue import visible
from nova_market.api.microversion import LEASE_OFFERS, REGIONS, TENDER
from nova_market.api.schemas import offer as schemas
from nova_market.api.schemas.account import IDEMPOTENCY_KEY
from nova_market.api.schemas.job import QUEUE_REF
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, SERVER_ID, marker
from nova_market.core.job.queue_access import Submitter
from nova_market.core.json_schema import described
from nova_market.core.tender.region_answer import RegionOffer, document_of
from nova_market.core.tender.stored_offer import OfferFilter, OfferKind, OfferState, StoredOffer
from nova_market.core.timestamp import stamp
from nova_market.services.tender.offers import Gone, Made, OfferRequests, OfferStores
from nova_market.services.tender.regions import Asking, RegionOffers

OF_JOB = ('queue', 'time_limit', 'flavor', 'resources', 'servers', 'deadline')
"""Entries of a request for a job; it needs the first two."""

OF_OTHERS = (str(OfferKind.LEASE), str(OfferKind.SERVER))
"""Each kind has one."""


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    queue=described(QUEUE_REF, 'for jobs in this queue'),
    request_id=described(SERVER_ID, 'of this request'),
    state=schemas.STATE,
    kind=described(schemas.KIND, 'for these; from version 1.12 on'),
    limit=LIMIT,
    marker=marker(NUMBER),
)
@gives(200, schemas.OFFERS)
def index(call: Call) -> Any:
    """Offers, newest first."""
    state = call.query.get('state')
    if 'kind' in call.query:
        call.needs(LEASE_OFFERS, 'kind')
    chosen = OfferFilter(
        now=call.stores.wall(),
        project_id=call.whose('offers:list'),
        queue_id=visible(call, call.query['queue']).id if 'queue' in call.query else None,
        request_id=call.query.get('request_id'),
        states=(OfferState(state),) if state else (),
        kinds=_kinds(call),
    )
    found = call.stores.offers.offers(chosen, call.query.get('marker', 0), call.limit + 1)
    names = call.stores.queues.names([one.queue_id for one in found])
    lines = [shown(call, one, names) for one in found]
    return call.page('offers', lines, found, lambda one: one.number)


@takes_body(schemas.OFFER_NEW)
@gives(201, schemas.OFFERS_MADE)
def create(call: Call) -> Any:
    """Ask what a job, a lease or servers would cost, and when. None of the offers is a booking.

    A job needs `queue` and `time_limit`. From version 1.9 on regions below this one are asked too, for jobs;
    each offer names the region that makes it. Leases and servers are there from version 1.12 on.
    """
    kind = OfferKind(call.body.get('kind', OfferKind.JOB))
    _check_entries(call, kind)
    if kind is not OfferKind.JOB:
        return lease_offer.create(call, kind)
    given = call.body.get('on_behalf')
    if given is None:
        call.authorize('offers:create', call.project_id)
        by, asking = submitter(call), None
    else:
        call.needs(REGIONS, 'on_behalf')
        call.authorize('offers:create_for_others')
        by, asking = _asking(given)
    if call.version < REGIONS:
        return Answer(body=_made(call, _requests(call, by).create(call.body)), status=201)
    stores = call.stores
    regions = RegionOffers(
        _requests(call, by), by, _stores(call), call.settings.offers, stores.regions
    )
    found = regions.create(call.body, asking)
    body = {
        'request_id': found.request_id,
        'offers': [
            document_of(one) if isinstance(one, RegionOffer) else shown(call, one, found.queues)
            for one in found.offers
        ],
        'why': list(found.why),
    }
    return Answer(body=body, status=201)


@gives(200, schemas.OFFER)
def show(call: Call) -> Any:
    """One offer."""
    return _one(call, _seen(call))


@takes_header(HEADER, IDEMPOTENCY_KEY)
@takes_body(schemas.OFFER_ACCEPT)
@gives(200, schemas.OFFER_ACCEPTED)
@gives(201, schemas.OFFER_ACCEPTED)
def accept(call: Call) -> Any:
    """Submit the job of an offer, or book its lease, for no more than it costs.

    For a job give `job`. The offer is computed again: if it can be had for no more and no later, it is
    honoured, and the better of both terms counts. Otherwise the error is market.offer.gone, and it has
    alternatives. 200: it was accepted before with the same Idempotency-Key.
    """
    offer = _changed(call)
    if offer.kind is not OfferKind.JOB:
        return lease_offer.accept(call, offer)
    if 'job' not in call.body:
        raise ApiError(
            400,
            'market.offer.invalid',
            'job: it is missing: give what the job runs: a script, or --wrap with a command',
        )
    try:
        found, job_id, new = _requests(call).accept(offer, call.body['job'], call.key)
    except Gone as error:
        raise _gone(call, error) from error
    job = call.stores.jobs.job(job_id)
    if job is None:
        raise not_found('job', job_id)
    body = {**_one(call, found), 'job': short(job)}
    return Answer(body=body, status=201 if new else 200)


@takes_body(schemas.OFFER_HOLD)
@gives(200, schemas.OFFER)
def hold(call: Call) -> Any:
    """Keep the room of an offer from other offers for some seconds, for a fee that is paid at once.

    Not for leases: accept their offers.
    """
    offer = _changed(call)
    if offer.kind is not OfferKind.JOB:
        lease_offer.refuse_hold(offer)
    try:
        return _one(call, _requests(call).hold(offer, call.body['seconds']))
    except Gone as error:
        raise _gone(call, error) from error


@gives(200, schemas.OFFER)
def release(call: Call) -> Any:
    """Give up an offer that is open or held."""
    offer = _changed(call)
    found = call.stores.offers.release(offer.id)
    if found is None:
        raise not_found('offer', offer.id)
    return _one(call, found)


def shown(call: Call, offer: StoredOffer, names: Any) -> dict[str, Any]:
    """An offer as it is sent, with the times it was made, held or accepted with. names: of queues, by id"""
    if offer.kind is not OfferKind.JOB:
        return lease_offer.shown(call, offer)
    now = call.stores.wall()
    finish = offer.due_at or offer.created_at + offer.seconds
    region = {'region': call.settings.offers.region} if call.version >= REGIONS else {}
    kind = {'kind': offer.kind} if call.version >= LEASE_OFFERS else {}
    return {
        **region,
        **kind,
        'id': offer.id,
        'number': offer.number,
        'request_id': offer.request_id,
        'project_id': offer.project_id,
        'user_id': offer.user_id,
        'queue_id': offer.queue_id,
        'queue': names.get(offer.queue_id, ''),
        'state': offer.state_at(now),
        'flavor': offer.flavor,
        'servers': offer.servers,
        'time_limit': offer.time_limit,
        'how': offer.how,
        'count': offer.count,
        'cost': offer.cost,
        'prices': _prices(call, offer),
        'seconds': offer.seconds,
        'start': stamp(finish - offer.time_limit),
        'finish': stamp(finish),
        'utility': offer.utility,
        'weight': offer.weight,
        'deadline': stamp(offer.deadline) if offer.deadline else None,
        'created_at': stamp(offer.created_at),
        'valid_until': stamp(offer.valid_until),
        'fees': offer.fees,
        'accepted_at': stamp(offer.accepted_at) if offer.accepted_at else None,
        'job_id': offer.job_id or None,
        'refunded': offer.refunded,
    }


def _kinds(call: Call) -> tuple[OfferKind, ...]:
    """That the caller wants to see, of those that the version has; (): all."""
    if call.version < LEASE_OFFERS:
        return (OfferKind.JOB,)
    return (OfferKind(call.query['kind']),) if 'kind' in call.query else ()


def _check_entries(call: Call, kind: OfferKind) -> None:
    """:raises ApiError: 400: an entry is missing, or is of another kind."""
    if 'kind' in call.body:
        call.needs(LEASE_OFFERS, 'kind')
    own = OF_JOB if kind is OfferKind.JOB else (str(kind),)
    for name in own[:2]:
        if name not in call.body:
            raise ApiError(
                400, 'market.request.invalid', f'{name}: it is missing: a {kind} needs it'
            )
    for name in (*OF_JOB, *OF_OTHERS):
        if name in call.body and name not in own:
            raise ApiError(
                400, 'market.request.invalid', f'{name}: not for kind {kind}: leave it out'
            )


def _prices(call: Call, offer: StoredOffer) -> dict[str, float]:
    if not offer.prices:
        return {'core_hour': offer.price_core_hour}
    if call.version < TENDER:
        return {'core_hour': offer.prices[0]}
    return price_vector(offer.prices)


def _asking(given: Mapping[str, Any]) -> tuple[Submitter, Asking]:
    """For whom another region asks, and how."""
    by = Submitter(
        user_id=given['user_id'], project_id=given['project_id'], roles=tuple(given['roles'])
    )
    asking = Asking(
        request_id=given['request_id'], path=tuple(given['path']), within=float(given['within'])
    )
    return by, asking


def _stores(call: Call) -> OfferStores:
    stores = call.stores
    return OfferStores(
        offers=stores.offers,
        queues=stores.queues,
        accounts=stores.accounts,
        flavors=stores.flavors,
        wall=stores.wall,
        outlooks=stores.outlooks,
    )


def _requests(call: Call, by: Submitter | None = None) -> OfferRequests:
    """by: who asks; None: the caller."""
    return OfferRequests(
        _stores(call),
        by or submitter(call),
        submissions_of(call, lambda queue: False),
        call.settings.offers,
    )


def _seen(call: Call) -> StoredOffer:
    """:raises ApiError: 404, in the same words when there is none."""
    name = call.path['offer_id']
    offer = call.stores.offers.offer(name)
    kinds = _kinds(call)
    hidden = offer is not None and kinds and offer.kind not in kinds
    return call.seen('offers:show', 'offer', name, None if hidden else offer)


def _changed(call: Call) -> StoredOffer:
    """An offer of the token's own project: what it costs is paid by that one."""
    offer = _seen(call)
    call.authorize('offers:change', offer.project_id)
    if offer.project_id != call.project_id:
        raise ApiError(
            403,
            'market.policy.forbidden',
            f'offer {offer.id} is of another project than your token: only that one can use it',
        )
    return offer


def _one(call: Call, offer: StoredOffer) -> dict[str, Any]:
    return {'offer': shown(call, offer, call.stores.queues.names([offer.queue_id]))}


def _made(call: Call, made: Made) -> dict[str, Any]:
    names = {made.queue.id: made.queue.name}
    return {
        'request_id': made.request_id,
        'offers': [shown(call, one, names) for one in made.offers],
        'why': list(made.why),
    }


def _gone(call: Call, error: Gone) -> ApiError:
    alternatives = _made(call, error.instead)['offers']
    return ApiError(409, 'market.offer.gone', str(error), alternatives=alternatives)
