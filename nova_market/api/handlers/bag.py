# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks: created, filled, listed, shown, changed, cancelled; their tasks and events (rule T5).

A bag is seen and changed by the project that created it. HTTP becomes a request
(services.tender.bag_requests) and back; the service of jobs negotiates.
"""

from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.handlers.job import HEADER, NUMBER, submitter
from nova_market.api.schemas import bag as schemas
from nova_market.api.schemas.account import IDEMPOTENCY_KEY
from nova_market.api.schemas.job import JOB_NAME
from nova_market.api.schemas.shape import ALL_PROJECTS, FLAG, LIMIT, OF_PROJECT, marker
from nova_market.core.json_schema import described
from nova_market.core.tender.bag import (
    BagEvent,
    BagFilter,
    BagProgress,
    BagState,
    StoredBag,
    StoredTask,
    TaskState,
)
from nova_market.core.timestamp import stamp
from nova_market.services.tender.bag_requests import BagRequests, BagRequestStores

ROW = {'type': 'integer', 'minimum': 0, 'maximum': schemas.MAX_IN_REQUEST}


@takes_query(
    project_id=OF_PROJECT,
    all_projects=ALL_PROJECTS,
    state=schemas.STATE,
    name=JOB_NAME,
    limit=LIMIT,
    marker=marker(NUMBER),
)
@gives(200, schemas.BAGS)
def index(call: Call) -> Any:
    """Bags, newest first."""
    state = call.query.get('state')
    chosen = BagFilter(
        project_id=call.whose('bags:list'),
        states=(BagState(state),) if state else (),
        name=call.query.get('name'),
    )
    found = call.stores.bags.bags(chosen, call.query.get('marker', 0), call.limit + 1)
    return call.page('bags', _shown(call, found), found, lambda one: one.number)


@takes_header(HEADER, IDEMPOTENCY_KEY)
@takes_body(schemas.BAG_NEW)
@gives(200, schemas.BAG)
@gives(201, schemas.BAG)
def create(call: Call) -> Any:
    """Create a bag of tasks, which asks for offers and accepts them with the rights of the caller.

    200: the same request with the same Idempotency-Key was made before; this is its bag. A bag that is too
    large for one request is sent in parts: `more` is true in all but the last one.
    """
    call.authorize('bags:create', call.project_id)
    bag, new = _requests(call).create(call.body, call.key)
    return Answer(body=_one(call, bag), status=201 if new else 200)


@takes_body(schemas.BAG_TASKS)
@gives(200, schemas.BAG)
def add(call: Call) -> Any:
    """More tasks of a bag whose tasks are sent in parts, in their order."""
    bag = _own(call, 'bags:create')
    return _one(call, _requests(call).add(bag, call.body))


@gives(200, schemas.BAG)
def show(call: Call) -> Any:
    """One bag, and how far it is."""
    return _one(call, _seen(call))


@takes_body(schemas.BAG_CHANGE)
@gives(200, schemas.BAG)
def update(call: Call) -> Any:
    """Change how a bag negotiates, while it does; what is not given stays. All that wait are tried again."""
    bag = _own(call, 'bags:change')
    return _one(call, _requests(call).change(bag, call.body))


@takes_query(jobs=described(FLAG, 'cancel its jobs too', default=False))
@gives(202, schemas.BAG)
def delete(call: Call) -> Any:
    """Cancel a bag: what waits is dropped, and its jobs go on, or are cancelled too."""
    bag = _own(call, 'bags:change')
    found = _requests(call).cancel(bag, jobs=bool(call.query.get('jobs')))
    return Answer(body=_one(call, found), status=202)


@takes_query(
    state=schemas.TASK_STATE,
    limit=LIMIT,
    marker=marker(ROW),
)
@gives(200, schemas.TASKS_SHOWN)
def tasks(call: Call) -> Any:
    """The tasks of a bag, in the order of the request."""
    bag, state = _seen(call), call.query.get('state')
    after = call.query.get('marker', -1)
    chosen = TaskState(state) if state else None
    found = call.stores.bags.tasks(bag.id, chosen, after, call.limit + 1)
    return call.page('tasks', [task_shown(one) for one in found], found, lambda one: one.row)


@takes_query(
    task=described(JOB_NAME, 'of this task, with those of the bag'),
    limit=LIMIT,
    marker=marker(NUMBER),
)
@gives(200, schemas.EVENTS)
def events(call: Call) -> Any:
    """What was tried, refused, taken, dropped, and why, newest first."""
    bag = _seen(call)
    before = call.query.get('marker')
    found = call.stores.bags.events(bag.id, call.query.get('task'), before, call.limit + 1)
    return call.page('events', [_event(one) for one in found], found, lambda one: one.number)


def bag_shown(bag: StoredBag, progress: BagProgress, names: Any) -> dict[str, Any]:
    """A bag as it is sent. names: of queues, by id."""
    counts = {state: progress.counts.get(state, 0) for state in TaskState}
    return {
        'id': bag.id,
        'number': bag.number,
        'name': bag.name,
        'project_id': bag.project_id,
        'user_id': bag.user_id,
        'queues': [names.get(one, one) for one in bag.queues],
        'utility': bag.utility,
        'weight': bag.weight,
        'order': bag.order,
        'retry': bag.retry,
        'alternatives': bag.alternatives,
        'poll': bag.poll,
        'budget': bag.budget,
        'state': bag.state,
        'reason': bag.reason or None,
        'tasks': {
            'all': progress.tasks,
            'waiting': counts[TaskState.WAITING],
            'queued': progress.queued,
            'running': max(counts[TaskState.PLACED] - progress.queued, 0),
            'done': counts[TaskState.DONE],
            'failed': counts[TaskState.FAILED],
            'dropped': counts[TaskState.DROPPED],
            'cancelled': counts[TaskState.CANCELLED],
        },
        'why': dict(progress.why),
        'committed': progress.committed,
        'spent': progress.spent,
        'succeeded': progress.succeeded,
        'failed': progress.failed,
        'next_try': stamp(bag.next_at) if bag.next_at and bag.state is BagState.OPEN else None,
        'created_at': stamp(bag.created_at),
        'changed_at': stamp(bag.changed_at),
        'ended_at': _time(bag.ended_at),
    }


def task_shown(task: StoredTask) -> dict[str, Any]:
    """A task as it is sent."""
    return {
        'row': task.row,
        'name': task.name,
        'state': task.state,
        'time_limit': task.time_limit,
        'flavors': list(task.flavors),
        'deadline': _time(task.deadline),
        'importance': task.importance,
        'why': task.why or None,
        'reason': task.reason or None,
        'tries': task.tries,
        'tried_at': _time(task.tried_at),
        'queue_id': task.queue_id or None,
        'job_id': task.job_id or None,
        'cost': task.cost,
        'spent': task.spent,
        'due_at': _time(task.due_at),
        'ended_at': _time(task.ended_at),
    }


def _event(one: BagEvent) -> dict[str, Any]:
    return {
        'number': one.number,
        'at': stamp(one.at),
        'task': one.task or None,
        'action': one.action,
        'reason': one.reason,
        'numbers': dict(one.numbers),
    }


def _shown(call: Call, found: Any) -> list[dict[str, Any]]:
    progress = call.stores.bags.progress([one.id for one in found])
    names = call.stores.queues.names(sorted({name for one in found for name in one.queues}))
    return [bag_shown(one, progress[one.id], names) for one in found]


def _one(call: Call, bag: StoredBag) -> dict[str, Any]:
    return {'bag': _shown(call, [bag])[0]}


def _seen(call: Call) -> StoredBag:
    """:raises ApiError: 404, in the same words when there is none."""
    name = call.path['bag_id']
    return call.seen('bags:show', 'bag', name, call.stores.bags.bag(name))


def _own(call: Call, rule: str) -> StoredBag:
    """A bag of which the caller may do this."""
    bag = _seen(call)
    call.authorize(rule, bag.project_id)
    if rule == 'bags:create' and (bag.project_id, bag.user_id) != (call.project_id, call.user_id):
        raise ApiError(
            403,
            'market.policy.forbidden',
            f'bag {bag.id} is of another user, with whose rights its tasks run: only that one can add tasks',
        )
    return bag


def _requests(call: Call) -> BagRequests:
    stores = call.stores
    return BagRequests(
        BagRequestStores(bags=stores.bags, queues=stores.queues, wall=stores.wall),
        submitter(call),
        call.settings.bags,
        call.settings.offers.utilities,
    )


def _time(at: float) -> str | None:
    return stamp(at) if at else None
