# SPDX-License-Identifier: Apache-2.0
"""Schemas of queues: what their owner and the operator set, what is shown, statistics per minute."""

from nova_market.api.schemas.job import (
    JOB_POLICY,
    MAX_RETRIES,
    PARAMETERS,
    ROLE,
    SECONDS,
)
from nova_market.api.schemas.shape import (
    FLAG,
    MAX_CORES,
    NUMBER,
    PROJECT_ID,
    PROJECT_PATTERN,
    TEXT,
    TIME,
    listed,
    wrapped,
)
from nova_market.core.job.queue import (
    IDLE_SECONDS,
    MAX_ARRAY,
    MAX_SERVERS,
    MAX_TIME_LIMIT,
    SHORT_BELOW,
    QueueState,
)
from nova_market.core.job.tender_terms import RULES
from nova_market.core.json_schema import NAME, Schema, described, nullable, printable, record
from nova_market.core.ledger.money import MAX_AMOUNT

MAX_COUNT = 1_000_000
MAX_FLAVORS = 16
MAX_NETWORKS = 16
MAX_SUBMITTERS = 100

QUEUE_NAME: Schema = {
    'type': 'string',
    'pattern': '^[A-Za-z][A-Za-z0-9_.-]{0,63}$',
    'description': 'a letter, then up to 63 letters, digits, "_", "." or "-"',
}
QUEUE_KEY: Schema = {
    'type': 'string',
    'pattern': f'{PROJECT_PATTERN[:-1]}:[A-Za-z][A-Za-z0-9_.-]{{0,63}}$',
    'description': 'of the last queue: PROJECT:NAME',
}
OF_JOBS = ('max_notice', 'max_least_run_time', 'max_retries')
"""Limits that queues have from version 1.15 on."""

COUNT: Schema = {'type': 'integer', 'minimum': 0, 'maximum': MAX_COUNT}

LIMITS: Schema = record(
    {
        'max_waiting': described(nullable(COUNT), 'jobs that wait; null: no limit'),
        'max_running': described(nullable(COUNT), 'jobs that run at once; null: no limit'),
        'max_time_limit': described(
            {'type': 'integer', 'minimum': 1, 'maximum': MAX_TIME_LIMIT},
            'seconds',
            default=MAX_TIME_LIMIT,
        ),
        'max_servers': described(
            {'type': 'integer', 'minimum': 1, 'maximum': MAX_SERVERS},
            'of one job',
            default=MAX_SERVERS,
        ),
        'max_array': described(
            {'type': 'integer', 'minimum': 1, 'maximum': MAX_ARRAY},
            'jobs of one array',
            default=MAX_ARRAY,
        ),
        'max_notice': described(nullable(SECONDS), 'of a job; null: as the operator allows'),
        'max_least_run_time': described(
            nullable(SECONDS), 'of a best-effort job; null: as the operator allows'
        ),
        'max_retries': described(
            nullable({'type': 'integer', 'minimum': 0, 'maximum': MAX_RETRIES}),
            'of a job; null: as the operator allows',
        ),
    },
    optional=(
        'max_waiting', 'max_running', 'max_time_limit', 'max_servers', 'max_array', *OF_JOBS,
    ),
)  # fmt: skip
SUBMITTERS: Schema = record(
    {
        'projects': described(
            {'type': 'array', 'items': PROJECT_ID, 'maxItems': MAX_SUBMITTERS, 'uniqueItems': True},
            "besides the queue's own",
        ),
        'roles': described(
            {'type': 'array', 'items': ROLE, 'maxItems': MAX_SUBMITTERS, 'uniqueItems': True},
            'one of which a submitter must have; none: every member',
        ),
    },
    optional=('projects', 'roles'),
)
OPERATORS = {
    'share': described(
        {'type': 'number', 'minimum': 0, 'maximum': 1},
        'of the cloud, or of the aggregate; the operator sets it',
    ),
    'aggregate': described(
        printable(255),
        'host aggregate that the share is of; "": the whole cloud',
    ),
}
OWNERS = {
    'name': QUEUE_NAME,
    'description': printable(255),
    'policy': JOB_POLICY,
    'parameters': PARAMETERS,
    'short_below': described(
        SECONDS, 'a job with a time limit up to this is short', default=SHORT_BELOW
    ),
    'flavors': described(
        {'type': 'array', 'items': NAME, 'minItems': 1, 'maxItems': MAX_FLAVORS},
        'of its workers: names or ids, the preferred ones first',
    ),
    'image': described(NAME, 'of its workers: name or id'),
    'networks': described(
        {'type': 'array', 'items': NAME, 'maxItems': MAX_NETWORKS},
        'of its workers: names or ids; none: what Nova chooses',
    ),
    'reuse': described(
        FLAG, 'a worker runs the next job of the same project in the queue', default=True
    ),
    'projects_trust_each_other': described(
        FLAG,
        'a worker runs jobs of different projects, one after the other: a job that gets the better of its '
        'guest reads and changes those of the others; from 1.13 on',
        default=False,
    ),
    'idle_seconds': described(SECONDS, 'that a worker without a job is kept', default=IDLE_SECONDS),
    'limits': LIMITS,
    'submitters': SUBMITTERS,
    'weights': described(
        {
            'type': 'object',
            'maxProperties': MAX_SUBMITTERS,
            'propertyNames': PROJECT_ID,
            'additionalProperties': {
                'type': 'number',
                'exclusiveMinimum': 0,
                'maximum': 1_000_000,
            },
        },
        'of customers within the queue, by project; 1 for the others',
    ),
    'price_core_hour': described(
        {'type': 'integer', 'minimum': 0, 'maximum': MAX_AMOUNT},
        "micro-credits that a job is charged for a core and an hour, to the queue's project",
    ),
    'price_rule': described(
        {'type': 'string', 'enum': list(RULES)},
        'by which a tender queue adapts its prices; from 1.6 on',
        default=RULES[0],
    ),
    'state': described(
        {'type': 'string', 'enum': [str(QueueState.OPEN), str(QueueState.CLOSED)]},
        'closed: no new jobs are taken',
    ),
}
QUEUE_NEW: Schema = record(
    {**OWNERS, **OPERATORS, 'project_id': PROJECT_ID},
    optional=[name for name in (*OWNERS, *OPERATORS) if name not in {'name', 'flavors', 'image'}]
    + ['project_id'],
)
GENERATION: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 2**53}
QUEUE_CHANGE: Schema = {
    **record(
        {
            **OWNERS,
            **OPERATORS,
            'new_trust': described(
                {'const': True}, 'its workers are made with the roles of the caller from now on'
            ),
            'generation': described(GENERATION, 'of the queue that was read; default: any'),
        },
        optional=(*OWNERS, *OPERATORS, 'new_trust', 'generation'),
    ),
    'minProperties': 1,
}
ACCEPTANCE: Schema = record(
    {'name': described(QUEUE_NAME, "in the token's project; default: the queue's own name")},
    optional=('name',),
)
SHOWN_LIMITS = record(
    {
        'max_waiting': nullable(COUNT),
        'max_running': nullable(COUNT),
        'max_time_limit': {'type': 'integer'},
        'max_servers': {'type': 'integer'},
        'max_array': {'type': 'integer'},
        **{name: described(nullable({'type': 'integer'}), 'from 1.15 on') for name in OF_JOBS},
    },
    optional=OF_JOBS,
)
IN_FORCE = record(
    {
        'policy': described(
            FLAG, 'whether the operator allows its policy; no jobs start otherwise'
        ),
        'short_below': {'type': 'integer'},
        **{name: {'type': 'integer'} for name in OF_JOBS},
    }
)
COUNTS = record(
    {
        'waiting': described(COUNT, 'jobs'),
        'held': described(COUNT, 'jobs that come after others'),
        'active': described(COUNT, 'jobs that start, run, or are being preempted or suspended'),
    }
)
VECTOR = {
    'core_hour': described(NUMBER, 'micro-credits of a core for an hour'),
    'mib_hour': described(NUMBER, 'of a MiB for an hour'),
    'gib_hour': described(NUMBER, 'of a GiB of disk for an hour'),
}
CLEARING = record(
    {
        'at': described(nullable(TIME), 'of the round'),
        'core_hour': described(
            nullable(NUMBER), 'micro-credits of the share of a core for an hour'
        ),
        'mib_hour': described(nullable(NUMBER), 'of the share of a MiB for an hour'),
        'reason': described(nullable(TEXT), 'why there is no price'),
    }
)
TENDER = record(
    {
        'at': described(TIME, 'of the last step of the prices'),
        'prices': record(VECTOR),
        'load': described(
            record({'cores': NUMBER, 'memory_mib': NUMBER, 'disk_gib': NUMBER}),
            'demand over capacity of the queue then',
        ),
        'history': described(
            {'type': 'array', 'items': record({'at': TIME, **VECTOR, 'load': NUMBER})},
            'of the last steps, oldest first; load: of cores; empty in a list of queues',
        ),
        'clearing': described(
            nullable(CLEARING),
            'prices of the newest round of the market; from 1.10 on; null in a list of queues',
        ),
    },
    optional=('clearing',),
)
SHOWN = record(
    {
        'id': TEXT,
        'project_id': PROJECT_ID,
        'user_id': described(TEXT, 'whose roles its workers are made with'),
        **{name: schema for name, schema in OWNERS.items() if name not in {'limits', 'state'}},
        **OPERATORS,
        'limits': SHOWN_LIMITS,
        'known_as': described(
            nullable(QUEUE_NAME),
            "the name by which the token's project can give it; null: by its id alone; from 1.13 on",
        ),
        'state': {'type': 'string', 'enum': [str(one) for one in QueueState]},
        'generation': GENERATION,
        'created_at': TIME,
        'changed_at': TIME,
        'jobs': described(COUNTS, 'how many are where'),
        'in_force': described(
            IN_FORCE, "the lower ones of its limits and the operator's; from 1.15 on"
        ),
        'tender': described(
            nullable(TENDER), 'from 1.6 on; null: of another policy, or before its first pass'
        ),
    },
    optional=('price_rule', 'projects_trust_each_other', 'known_as', 'tender', 'in_force'),
)
QUEUE = wrapped('queue', SHOWN)
QUEUES = listed('queues', SHOWN)

MINUTE = record(
    {
        'at': described(TIME, 'when the minute began'),
        'cores': described({'type': 'number', 'maximum': MAX_CORES}, 'in use, mean'),
        'share': described(NUMBER, 'the same as a part of the cloud or of the aggregate'),
        'waiting': COUNT,
        'running': COUNT,
        'started': COUNT,
        'finished': COUNT,
        'failed': COUNT,
        'preempted': COUNT,
    }
)
STATS = listed('minutes', MINUTE)
