# SPDX-License-Identifier: Apache-2.0
"""Leases: booked, listed, changed, given, deleted; their calendar; replanned (rules L1 to L6).

A lease is seen and used by the project that has it. HTTP becomes a request (services.lease) and back.
"""

from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.handlers.job import HEADER, NUMBER
from nova_market.api.handlers.lease_view import (
    calendar_shown,
    event_shown,
    fault_shown,
    option_shown,
    replan_shown,
    shown,
)
from nova_market.api.schemas import lease as schemas
from nova_market.api.schemas.account import IDEMPOTENCY_KEY
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, marker
from nova_market.core.json_schema import WHEN, described
from nova_market.core.lease.record import LeaseFilter, LeaseState, StoredLease
from nova_market.core.timestamp import LATEST, seconds
from nova_market.services.lease.asking import Booker
from nova_market.services.lease.booking import LeaseRequests, Refused
from nova_market.services.lease.replanning import replan as replanned

DAY = 86_400.0
LONGEST = 366 * DAY
"""Of a calendar that is shown."""


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    state=schemas.STATE,
    host=described(schemas.HOST, 'that have a node on this host'),
    since=described(WHEN, 'that end after this time'),
    until=described(WHEN, 'that begin before this time'),
    limit=LIMIT,
    marker=marker(NUMBER),
)
@gives(200, schemas.LEASES)
def index(call: Call) -> Any:
    """Leases, newest first."""
    state = call.query.get('state')
    since, until = (call.query.get(name) for name in ('since', 'until'))
    chosen = LeaseFilter(
        project_id=call.whose('leases:list'),
        states=(LeaseState(state),) if state else (),
        host=call.query.get('host'),
        since=seconds(since) if since else None,
        until=seconds(until) if until else None,
    )
    found = call.stores.leases.leases(chosen, call.query.get('marker', 0), call.limit + 1)
    lines = [shown(one) for one in found]
    return call.page('leases', lines, found, lambda one: one.number)


@takes_header(HEADER, IDEMPOTENCY_KEY)
@takes_body(schemas.LEASE_NEW)
@gives(200, schemas.LEASE)
@gives(201, schemas.LEASE)
def create(call: Call) -> Any:
    """Book a lease: what it costs is held in escrow.

    What cannot be had is refused with market.lease.refused: `faults` has each requirement that fails, and
    `options` what could be had instead. 200: it was booked before with the same Idempotency-Key.
    """
    call.authorize('leases:create', call.project_id)
    try:
        lease, new = _requests(call).book(call.body, call.key)
    except Refused as error:
        raise ApiError(
            409,
            'market.lease.refused',
            str(error),
            faults=[fault_shown(one) for one in error.faults],
            options=[option_shown(one) for one in error.options],
        ) from error
    return Answer(body={'lease': shown(lease)}, status=201 if new else 200)


@gives(200, schemas.LEASE)
def show(call: Call) -> Any:
    """One lease."""
    return {'lease': shown(_seen(call))}


@takes_body(schemas.LEASE_CHANGED)
@gives(200, schemas.LEASE)
def update(call: Call) -> Any:
    """Change name and purpose, and whether it may be moved."""
    lease = _changed(call, 'leases:change')
    return {'lease': shown(_requests(call).change(lease, call.body))}


@gives(200, schemas.LEASE)
def delete(call: Call) -> Any:
    """Give up a lease; a part of what is not used comes back to the project that has booked it."""
    lease = _seen(call)
    call.authorize('leases:end_blazar' if lease.of_blazar else 'leases:change', lease.project_id)
    return {'lease': shown(_requests(call).delete(lease))}


@takes_body(schemas.LEASE_GIVEN)
@gives(200, schemas.LEASE)
def give(call: Call) -> Any:
    """Give a lease to another project. Who has booked it goes on paying, and gets what comes back."""
    lease = _changed(call, 'leases:give')
    return {'lease': shown(_requests(call).give(lease, call.body['project_id']))}


@takes_query(limit=LIMIT, marker=marker(NUMBER))
@gives(200, schemas.EVENTS)
def events(call: Call) -> Any:
    """What happened to a lease and why, newest first."""
    lease = _seen(call)
    found = call.stores.leases.events(lease.id, call.query.get('marker'), call.limit + 1)
    return call.page('events', [event_shown(one) for one in found], found, lambda one: one.number)


@takes_query(
    since=described(WHEN, 'default: now'), until=described(WHEN, 'default: a day after since')
)
@gives(200, schemas.CALENDAR)
def calendar(call: Call) -> Any:
    """What the hosts have free when, and the leases on them."""
    call.authorize('leases:calendar')
    now = call.stores.wall()
    since = seconds(call.query['since']) if 'since' in call.query else now
    until = seconds(call.query['until']) if 'until' in call.query else since + DAY
    if not since < until <= min(since + LONGEST, LATEST):
        raise ApiError(
            400,
            'market.request.invalid',
            'until: give a time after since, at most 366 days later and in the year 9999',
        )
    stores, settings = call.stores, call.settings.leases
    view, live = stores.known_hosts.listed(stores.leases, stores.states, settings, now)
    return calendar_shown(
        view, live, since, until, lambda one: call.may('leases:show', one.project_id)
    )


@takes_body(schemas.REPLAN)
@gives(200, schemas.REPLANNED)
def replan(call: Call) -> Any:
    """Place future flexible leases anew, or show what that would change.

    market.conflict: somebody has booked or moved leases meanwhile, and nothing was changed.
    """
    call.authorize('leases:replan')
    done = replanned(
        call.stores.of_leases,
        call.settings.leases,
        call.user_id,
        algorithm=call.body.get('algorithm', ''),
        objective=call.body.get('objective', ''),
        dry_run=call.body.get('dry_run', False),
    )
    return {'replan': replan_shown(done)}


def _requests(call: Call) -> LeaseRequests:
    by = Booker(project_id=call.project_id, user_id=call.user_id)
    return LeaseRequests(call.stores.of_leases, by, call.settings.leases)


def _seen(call: Call) -> StoredLease:
    """:raises ApiError: 404, in the same words when there is none."""
    name = call.path['lease_id']
    return call.seen('leases:show', 'lease', name, call.stores.leases.lease(name))


def _changed(call: Call, rule: str) -> StoredLease:
    lease = _seen(call)
    call.authorize(rule, lease.project_id)
    if lease.of_blazar:
        raise ApiError(
            409, 'market.lease.blazar', f'lease {lease.id} is of Blazar: change it there'
        )
    return lease
