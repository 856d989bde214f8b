# SPDX-License-Identifier: Apache-2.0
"""Schemas of bags of tasks: requests, what is shown, tasks and events."""

from nova_market.api.schemas.job import JOB_NAME, JOB_NEW, QUEUE_REF
from nova_market.api.schemas.offer import UTILITY
from nova_market.api.schemas.shape import (
    BALANCE,
    FLAG,
    NUMBER,
    PROJECT_ID,
    SERVER_ID,
    TEXT,
    TIME,
    listed,
    wrapped,
)
from nova_market.core.json_schema import NAME, WHEN, Schema, described, nullable, record
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.tender.bag import (
    LONGEST_POLL,
    MAX_IMPORTANCE,
    POLL_SECONDS,
    SHORTEST_POLL,
    BagState,
    TaskState,
)
from nova_market.core.tender.negotiation import Order
from nova_market.core.timestamp import FORM

MAX_QUEUES = 20
MAX_FLAVORS = 20
MAX_IN_REQUEST = 100_000
LONGEST_WITHIN = 315_360_000.0
"""Ten years."""

JOB = JOB_NEW['properties']
TASK_ENTRIES = {
    **{
        name: JOB[name]
        for name in (
            'script', 'environment', 'retries', 'notice', 'checkpoint', 'preempt_action', 'output_url',
        )
    },
    'time_limit': described(
        JOB['time_limit'], 'its size: seconds that it takes at most on any of its flavors'
    ),
    'flavors': described(
        {'type': 'array', 'items': NAME, 'maxItems': MAX_FLAVORS, 'uniqueItems': True},
        'that would do; default: all of the queues',
    ),
    'deadline': described(WHEN, f'by which it is to be done: {FORM}'),
    'within': described(
        {'type': 'number', 'exclusiveMinimum': 0, 'maximum': LONGEST_WITHIN},
        'seconds from now by which it is to be done, instead of a deadline',
    ),
    'importance': described(
        {'type': 'number', 'minimum': 0, 'maximum': MAX_IMPORTANCE},
        'more is more important',
        default=1,
    ),
}  # fmt: skip
DEFAULTS: Schema = record(TASK_ENTRIES, optional=tuple(TASK_ENTRIES))
TASK_NEW: Schema = record({'name': JOB_NAME, **TASK_ENTRIES}, optional=('name', *TASK_ENTRIES))
TASKS: Schema = {'type': 'array', 'items': TASK_NEW, 'minItems': 1, 'maxItems': MAX_IN_REQUEST}
MORE = described(FLAG, 'more tasks are to come; nothing is negotiated before', default=False)
WEIGHT = described(
    {'type': 'number', 'minimum': 0, 'maximum': 1},
    'of time, for utility "weighted": 0 as cheapest, 1 as fastest',
    default=0.5,
)
SETTINGS = {
    'name': JOB_NAME,
    'utility': UTILITY,
    'weight': WEIGHT,
    'order': described(
        {'type': 'string', 'enum': [str(one) for one in Order]},
        'which waiting task is tried first: the most important one, or by size / time left x importance',
        default='risk',
    ),
    'retry': described(
        FLAG, 'a task without a suitable offer waits; false: it has failed', default=True
    ),
    'alternatives': described(
        FLAG, 'other suitable offers are tried when the best one is gone', default=True
    ),
    'poll': described(
        {'type': 'number', 'minimum': SHORTEST_POLL, 'maximum': LONGEST_POLL},
        'seconds between two tries where no task ends',
        default=POLL_SECONDS,
    ),
    'budget': described(
        nullable({'type': 'integer', 'minimum': 0, 'maximum': MAX_AMOUNT}),
        'micro-credits that all tasks may cost together; null: what the project has',
        default=None,
    ),
}
QUEUES = {
    'type': 'array', 'items': QUEUE_REF, 'minItems': 1, 'maxItems': MAX_QUEUES, 'uniqueItems': True,
}  # fmt: skip
BAG_NEW: Schema = record(
    {
        'queues': described(QUEUES, 'names or ids of the queues that are asked for offers'),
        **SETTINGS,
        'defaults': described(DEFAULTS, 'entries that tasks have which give none'),
        'tasks': TASKS,
        'more': MORE,
    },
    optional=(*SETTINGS, 'defaults', 'more'),
)
BAG_TASKS: Schema = record(
    {
        'first': described(
            {'type': 'integer', 'minimum': 0, 'maximum': MAX_IN_REQUEST},
            'how many tasks the bag has: tasks that are sent twice are stored once',
        ),
        'tasks': TASKS,
        'more': MORE,
    },
    optional=('more',),
)
CHANGES = {name: {k: v for k, v in one.items() if k != 'default'} for name, one in SETTINGS.items()}
BAG_CHANGE: Schema = {
    **record(
        {
            **CHANGES,
            'deadline': described(nullable(WHEN), 'of all tasks that wait; null: they have none'),
            'within': TASK_ENTRIES['within'],
        },
        optional=(*CHANGES, 'deadline', 'within'),
    ),
    'minProperties': 1,
}

STATE: Schema = {'type': 'string', 'enum': [str(one) for one in BagState]}
TASK_STATE: Schema = {'type': 'string', 'enum': [str(one) for one in TaskState]}
COUNT: Schema = {'type': 'integer', 'minimum': 0}
COUNTS = record(
    {
        'all': COUNT,
        'waiting': described(COUNT, 'without an offer'),
        'queued': described(COUNT, 'with a job that waits for what was offered'),
        'running': COUNT,
        'done': COUNT,
        'failed': described(COUNT, 'their jobs have failed'),
        'dropped': described(COUNT, 'they could not be in time any more, or were not tried again'),
        'cancelled': COUNT,
    }
)
BAG_SHOWN = record(
    {
        'id': SERVER_ID,
        'number': described({'type': 'integer'}, 'grows with each bag'),
        'name': TEXT,
        'project_id': PROJECT_ID,
        'user_id': TEXT,
        'queues': described({'type': 'array', 'items': TEXT}, 'their names'),
        'utility': TEXT,
        'weight': NUMBER,
        'order': TEXT,
        'retry': FLAG,
        'alternatives': FLAG,
        'poll': NUMBER,
        'budget': nullable(BALANCE),
        'state': described(STATE, 'filling: more tasks are to come'),
        'reason': nullable(described(TEXT, 'why nothing can be had now; null: nothing hinders it')),
        'tasks': COUNTS,
        'why': described(
            {'type': 'object', 'additionalProperties': COUNT},
            'tasks that wait or were dropped, by why: no_offer, budget, deadline, gone, overdue',
        ),
        'committed': described(BALANCE, 'micro-credits that tasks with a job may cost still'),
        'spent': described(BALANCE, 'micro-credits that ended tasks have cost'),
        'succeeded': described(NUMBER, 'importance of the tasks that are done'),
        'failed': described(NUMBER, 'importance of the tasks that have ended otherwise'),
        'next_try': nullable(described(TIME, 'null: no task waits, or nothing is negotiated')),
        'created_at': TIME,
        'changed_at': TIME,
        'ended_at': nullable(TIME),
    }
)
BAG = wrapped('bag', BAG_SHOWN)
BAGS = listed('bags', BAG_SHOWN)
TASK_SHOWN = record(
    {
        'row': described({'type': 'integer'}, 'from 0, in the order of the request'),
        'name': TEXT,
        'state': described(TASK_STATE, 'taking: an offer is being accepted'),
        'time_limit': {'type': 'integer'},
        'flavors': {'type': 'array', 'items': TEXT},
        'deadline': nullable(TIME),
        'importance': NUMBER,
        'why': nullable(
            described(TEXT, 'of its last try: no_offer, budget, deadline, gone, overdue')
        ),
        'reason': nullable(TEXT),
        'tries': described({'type': 'integer'}, 'offers that were taken for it'),
        'tried_at': nullable(TIME),
        'queue_id': nullable(SERVER_ID),
        'job_id': nullable(SERVER_ID),
        'cost': described(BALANCE, 'micro-credits, at most'),
        'spent': BALANCE,
        'due_at': nullable(described(TIME, 'when it is done, as was promised')),
        'ended_at': nullable(TIME),
    }
)
TASKS_SHOWN = listed('tasks', TASK_SHOWN)
EVENTS = listed(
    'events',
    record(
        {
            'number': described({'type': 'integer'}, 'grows with time'),
            'at': TIME,
            'task': nullable(described(TEXT, 'null: of the bag, or of several tasks')),
            'action': TEXT,
            'reason': TEXT,
            'numbers': {'type': 'object', 'additionalProperties': nullable(NUMBER)},
        }
    ),
)
