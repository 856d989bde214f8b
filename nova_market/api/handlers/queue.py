# SPDX-License-Identifier: Apache-2.0
"""Queues: made, shown, changed, deleted; what they did each minute (rules J1 and J6).

A queue is seen by its project and by the projects that it takes jobs of. HTTP becomes a request of an owner
(services.job.queue_requests) and back; the service of jobs acts on what is stored.
"""

from collections.abc import Sequence
from typing import Any

from nova_market.api import microversion
from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.job_view import (
    clearing_shown,
    minute,
    queue_in_force_shown,
    queue_shown,
    tender_shown,
)
from nova_market.api.handlers.price import newest_prices
from nova_market.api.schemas import queue as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, TIME, marker
from nova_market.core.job.queue import TENDER, QueueName, StoredQueue
from nova_market.core.job.queue_access import key_of
from nova_market.core.job.queue_request import ALL, OPERATORS
from nova_market.core.json_schema import WHEN, described
from nova_market.core.timestamp import seconds
from nova_market.services.job.queue_requests import (
    QueueRequests,
    QueueRequestSettings,
    QueueRequestStores,
)
from nova_market.services.owner import Owner
from nova_market.services.tender.tender_pass import read_prices

MINUTE = 60
TRUSTING = 'projects_trust_each_other'


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    limit=LIMIT,
    marker=marker(schemas.QUEUE_KEY),
)
@gives(200, schemas.QUEUES)
def index(call: Call) -> Any:
    """Queues of a project, and those that take jobs of it, by name and project."""
    project = call.whose('queues:list')
    found = call.stores.queues.queues(project, call.query.get('marker', ''), call.limit + 1)
    lines = _lines(call, found)
    return call.page('queues', lines, found, lambda one: one.key)


@takes_body(schemas.QUEUE_NEW)
@gives(201, schemas.QUEUE)
def create(call: Call) -> Any:
    """Make a queue in the project of the token.

    The caller's roles in the project are handed on by a trust of Keystone: its workers are made with them.
    """
    project = call.body.get('project_id', call.project_id)
    call.authorize('queues:create', project)
    _check_operator(call)
    _check_version(call)
    body = {name: value for name, value in call.body.items() if name != 'project_id'}
    return Answer(body=_one(call, _requests(call).create(body, project)), status=201)


@gives(200, schemas.QUEUE)
def show(call: Call) -> Any:
    """One queue, by its id or the name that the token's project knows it by."""
    return _one(call, visible(call, call.path['queue_id']))


@takes_body(schemas.QUEUE_CHANGE)
@gives(200, schemas.QUEUE)
def update(call: Call) -> Any:
    """Change a queue; what is not given stays."""
    queue = visible(call, call.path['queue_id'])
    if OPERATORS.isdisjoint(call.body) or not call.body.keys() <= {*OPERATORS, 'generation'}:
        call.authorize('queues:update', queue.project_id)
    _check_operator(call)
    _check_version(call)
    body = {name: value for name, value in call.body.items() if name != 'generation'}
    return _one(call, _requests(call).update(queue, body, call.body.get('generation')))


@gives(202, schemas.QUEUE)
def delete(call: Call) -> Any:
    """Delete a queue without jobs: it takes none any more, and goes with its workers and its trust."""
    queue = visible(call, call.path['queue_id'])
    call.authorize('queues:delete', queue.project_id)
    found = call.stores.queues.delete(queue.id)
    if found is None:
        raise not_found('queue', call.path['queue_id'])
    return Answer(body=_one(call, found), status=202)


@takes_body(schemas.ACCEPTANCE)
@gives(200, schemas.QUEUE)
def accept(call: Call) -> Any:
    """Use a name in the caller's project for a queue of another one that takes its jobs (J9)."""
    queue = _of_others(call)
    name = QueueName(
        project_id=call.project_id, name=call.body.get('name', queue.name), user_id=call.user_id
    )
    settings = call.settings
    call.stores.queues.accept(queue.id, name, settings.max_queues, settings.queue_name_rest)
    return _one(call, queue)


@gives(204)
def reject(call: Call) -> Any:
    """Give the caller's project no name for it any more; its id goes on to be taken."""
    call.stores.queues.reject(_of_others(call).id, call.project_id)
    return Answer(status=204)


@takes_query(
    since=described(WHEN, 'of the first minute; default: an hour ago'),
    until=described(WHEN, 'of the last minute; default: now'),
    limit=LIMIT,
    marker=marker(TIME | {'pattern': WHEN['pattern']}),
)
@gives(200, schemas.STATS)
def stats(call: Call) -> Any:
    """What a queue used and did in each minute, newest first; "all" instead of a queue: all together.

    Before version 1.17 oldest first.
    """
    name, now = call.path['queue_id'], call.stores.wall()
    if name == ALL:
        call.authorize('queues:show_cloud')
        queue_id = ''
    else:
        queue_id = visible(call, name).id
    last = _minute(call.query.get('until'), now)
    first = _minute(call.query.get('since'), now - 3600)
    newest_first = call.version >= microversion.NEWEST_FIRST
    if 'marker' in call.query and newest_first:
        last = min(last, _minute(call.query['marker'], now) - 1)
    elif 'marker' in call.query:
        first = _minute(call.query['marker'], now) + 1
    given = first, last, call.limit + 1
    found = call.stores.queues.minutes(queue_id, *given, newest_first=newest_first)
    lines = [minute(one) for one in found]
    return call.page('minutes', lines, lines, lambda one: one['at'])


def visible(call: Call, name: str) -> StoredQueue:
    """The queue, by id or name, for its project and for those that may submit to it.

    :raises ApiError: 404, in the same words when there is none.
    """
    found = call.stores.queues.queue(key_of(name, call.project_id))
    owner = found.project_id if found else ''
    invited = found is not None and call.project_id in found.projects
    allowed = call.may('queues:show', owner)
    if not allowed and invited:
        allowed = call.may('queues:show', call.project_id)
    if not allowed or found is None:
        raise not_found('queue', name)
    return found


def _of_others(call: Call) -> StoredQueue:
    """A queue of another project. :raises ApiError: 400, it is one of the caller's."""
    call.authorize('queues:accept', call.project_id)
    queue = visible(call, call.path['queue_id'])
    if queue.project_id == call.project_id:
        raise ApiError(
            400,
            'market.queue.own',
            f'queue {queue.name} is of your project, which knows it by its name',
        )
    return queue


def _check_operator(call: Call) -> None:
    """The share is the operator's; nobody needs a right to leave it at nothing."""
    given = OPERATORS & call.body.keys()
    if given and (call.path or any(call.body[name] for name in given)):
        call.authorize('queues:set_share')


def _check_version(call: Call) -> None:
    """:raises ApiError: older versions do not have all policies, limits and entries of queues."""
    if call.body.get('policy') == TENDER:
        call.needs(microversion.TENDER, f'policy {TENDER}')
    if 'price_rule' in call.body:
        call.needs(microversion.TENDER, 'price_rule')
    if TRUSTING in call.body:
        call.needs(microversion.OWN_WORKERS, TRUSTING)
    for name in schemas.OF_JOBS:
        if name in call.body.get('limits', {}):
            call.needs(microversion.LIMITS, f'limits.{name}')


def _minute(text: str | None, default: float) -> int:
    return int((default if text is None else seconds(text)) // MINUTE)


def _one(call: Call, queue: StoredQueue) -> dict[str, Any]:
    (line,) = _lines(call, [queue], single=True)
    return {'queue': line}


def _lines(
    call: Call, queues: Sequence[StoredQueue], *, single: bool = False
) -> list[dict[str, Any]]:
    """Queues as this version of the API knows them.

    single: with the last steps of their prices, and with what shares cost in the market
    """
    counts = call.stores.queues.counts([one.id for one in queues])
    limits = call.version >= microversion.LIMITS
    hidden = () if limits else schemas.OF_JOBS
    found = [queue_shown(one, counts[one.id], hidden) for one in queues]
    if not call.may('queues:list_all'):
        found = [
            _seen_by(call.project_id, one, line) for one, line in zip(queues, found, strict=True)
        ]
    if limits:
        found = [
            {**line, 'in_force': _in_force(call, one)}
            for one, line in zip(queues, found, strict=True)
        ]
    if call.version < microversion.TENDER:
        return found
    tenders = any(one.is_tender for one in queues)
    prices = read_prices(call.stores.states) if tenders else {}
    more: dict[str, Any] = {}
    if call.version >= microversion.CLEARING_PRICES:
        more['clearing'] = _clearing(call) if single and prices else None
    if call.version >= microversion.OWN_WORKERS:
        known = {one.id: one.name for one in queues if one.project_id == call.project_id}
        known |= call.stores.queues.accepted(call.project_id)
        found = [
            {**line, TRUSTING: one.projects_trust_each_other, 'known_as': known.get(one.id)}
            for one, line in zip(queues, found, strict=True)
        ]
    return [
        {
            **line,
            'price_rule': one.price_rule,
            'tender': {**tender_shown(prices[one.id], history=single), **more}
            if one.is_tender and one.id in prices
            else None,
        }
        for one, line in zip(queues, found, strict=True)
    ]


def _seen_by(project: str, queue: StoredQueue, line: dict[str, Any]) -> dict[str, Any]:
    """Who else a queue serves, and what they weigh, is for its owner: others see that of themselves (J1)."""
    if project == queue.project_id:
        return line
    shown = [one for one in queue.projects if one == project]
    submitters = {**line['submitters'], 'projects': shown}
    weights = {name: value for name, value in queue.weights.items() if name == project}
    return {**line, 'submitters': submitters, 'weights': weights}


def _in_force(call: Call, queue: StoredQueue) -> dict[str, Any]:
    settings = call.settings
    allowed = queue.policy in settings.job_policies
    return queue_in_force_shown(queue, settings.job_limits, policy=allowed)


def _clearing(call: Call) -> dict[str, Any]:
    """What the same resources cost in the last round of the market, for those who may see its prices."""
    seen = call.may('prices:show', call.project_id)
    return clearing_shown(newest_prices(call) if seen else None, call.settings.period)


def _requests(call: Call) -> QueueRequests:
    """The requests of the caller."""
    assert call.context is not None, 'a public route has no caller'
    stores, settings = call.stores, call.settings
    return QueueRequests(
        QueueRequestStores(
            queues=stores.queues,
            trusts=stores.trusts,
            flavors=stores.flavors,
            names=stores.names,
            wall=stores.wall,
        ),
        QueueRequestSettings(
            max_queues=settings.max_queues,
            name_rest=settings.queue_name_rest,
            trust_roles=settings.trust_roles,
            policies=settings.job_policies,
            limits=settings.job_limits,
        ),
        Owner(
            user_id=call.user_id,
            project_id=call.project_id,
            roles=call.context.roles,
            token=call.context.auth_token or '',
        ),
    )
