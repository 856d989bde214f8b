# SPDX-License-Identifier: Apache-2.0
"""Schemas of jobs: requests, what is shown, output, attempts and events."""

from nova_market.api.schemas.shape import (
    BALANCE,
    MAX_CORES,
    MAX_MIB,
    NUMBER,
    PROJECT_ID,
    SERVER_ID,
    TEXT,
    TIME,
    listed,
    wrapped,
)
from nova_market.core.job.queue import MAX_ARRAY, MAX_ARRAY_INDEX, MAX_SERVERS, MAX_TIME_LIMIT
from nova_market.core.job.record import (
    DEFAULT_PRIORITY,
    AfterCondition,
    AttemptState,
    JobKind,
    JobState,
    JobWish,
    PreemptAction,
)
from nova_market.core.json_schema import NAME, WHEN, Schema, described, nullable, printable, record
from nova_market.core.ledger.money import MAX_AMOUNT

MAX_JOBS = 1000
"""Jobs of one request, the elements of arrays counted."""

MAX_AFTER = 100
MAX_RETRIES = 100
MAX_PRIORITY = 1_000_000
MAX_TEXT = 16 * 2**20
"""Characters: a longer script is refused here; core.job.request has the limit that counts, in bytes."""

SECONDS: Schema = {'type': 'integer', 'minimum': 0, 'maximum': MAX_TIME_LIMIT}
JOB_POLICY: Schema = {
    'type': 'string',
    'pattern': '^[a-z][a-z0-9_-]{0,31}$',
    'description': 'name of an installed policy, such as flexible',
}
PARAMETERS: Schema = {
    'type': 'object',
    'maxProperties': 16,
    'propertyNames': {'pattern': '^[a-z][a-z0-9_]{0,31}$'},
    'additionalProperties': {'type': 'number'},
    'description': 'of the policy, by name',
}
ROLE: Schema = printable(64, 1)

KIND: Schema = {'type': 'string', 'enum': [str(one) for one in JobKind]}
STATE: Schema = {'type': 'string', 'enum': [str(one) for one in JobState]}
JOB_NAME: Schema = {
    'type': 'string',
    'pattern': '^[A-Za-z0-9][A-Za-z0-9_.+:@-]{0,63}$',
    'description': 'up to 64 letters, digits, "_", ".", "+", ":", "@" or "-"; a letter or digit first',
}
QUEUE_REF: Schema = {
    'type': 'string',
    'pattern': '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$',
    'description': "id of a queue, or the name by which the token's project knows it",
}
RESOURCES: Schema = record(
    {
        'cores': {'type': 'number', 'minimum': 0, 'maximum': MAX_CORES},
        'memory_mib': {'type': 'number', 'minimum': 0, 'maximum': MAX_MIB},
        'disk_gib': {'type': 'number', 'minimum': 0, 'maximum': MAX_MIB},
    },
    optional=('memory_mib', 'disk_gib'),
)
SCRIPT: Schema = {'type': 'string', 'minLength': 1, 'maxLength': MAX_TEXT}

ARRAY_SIZE: Schema = described(
    {'type': 'integer', 'minimum': 1, 'maximum': MAX_ARRAY}, 'indices from 0 on'
)
ARRAY_INDICES: Schema = {
    'type': 'array',
    'items': {'type': 'integer', 'minimum': 0, 'maximum': MAX_ARRAY_INDEX},
    'minItems': 1,
    'maxItems': MAX_ARRAY,
    'uniqueItems': True,
}

JOB_NEW: Schema = record(
    {
        'queue': QUEUE_REF,
        'name': JOB_NAME,
        'script': described(SCRIPT, 'what it runs: a text that begins with #!'),
        'time_limit': described(
            {'type': 'integer', 'minimum': 1, 'maximum': MAX_TIME_LIMIT},
            'seconds after which it is ended',
        ),
        'flavor': described(NAME, 'of each server, one of the queue; default: the first that fits'),
        'resources': described(RESOURCES, 'least of each server, instead of a flavor'),
        'servers': described(
            {'type': 'integer', 'minimum': 1, 'maximum': MAX_SERVERS},
            'that start together or not at all',
            default=1,
        ),
        'kind': described(KIND, 'best_effort: outside the shares', default='production'),
        'priority': described(
            {'type': 'integer', 'minimum': 0, 'maximum': MAX_PRIORITY},
            "within the queue, a lower one goes first; below the default for the queue's project only",
            default=DEFAULT_PRIORITY,
        ),
        'environment': {
            'type': 'object',
            'propertyNames': {'pattern': '^[A-Za-z_][A-Za-z0-9_]{0,127}$'},
            'additionalProperties': {'type': 'string'},
            'description': 'variables of the script; MARKET_* are set by the worker',
        },
        'array': described(
            {'oneOf': [ARRAY_SIZE, ARRAY_INDICES]},
            'several jobs, which differ in MARKET_ARRAY_INDEX: their number, or the indices themselves',
        ),
        'after': described(
            {
                'type': 'array',
                'items': {'type': 'string', 'minLength': 1, 'maxLength': 64},
                'maxItems': MAX_AFTER,
                'uniqueItems': True,
            },
            'it starts when these have ended: ids of jobs or arrays, or names of jobs of this request',
        ),
        'after_condition': described(
            {'type': 'string', 'enum': [str(one) for one in AfterCondition]},
            'success: all of them must finish',
            default='success',
        ),
        'begin': described(WHEN, 'it is not started before'),
        'value': described(
            {'type': 'integer', 'minimum': 0, 'maximum': MAX_AMOUNT},
            'micro-credits that the whole job is worth; policy "value" orders by it',
            default=0,
        ),
        'retries': described(
            {'type': 'integer', 'minimum': 0, 'maximum': MAX_RETRIES},
            'more attempts when a worker is lost',
            default=1,
        ),
        'least_run_time': described(SECONDS, 'before it may be preempted', default=0),
        'notice': described(SECONDS, 'from SIGTERM to the end; at most 10 s beyond the limit', default=30),
        'checkpoint': described(SCRIPT, 'script that is run during the notice'),
        'preempt_action': described(
            {'type': 'string', 'enum': [str(one) for one in PreemptAction]},
            'what becomes of it when it is preempted',
            default='requeue',
        ),
        'output_url': described(
            {'type': 'string', 'maxLength': 2000, 'pattern': '^https?://[!-~]+$'},
            'where the worker PUTs the whole output, such as a temporary URL of an object store',
        ),
    },
    optional=(
        'name', 'begin', 'value', 'flavor', 'resources', 'servers', 'kind', 'priority', 'environment',
        'array', 'after', 'after_condition', 'retries', 'least_run_time', 'notice', 'checkpoint',
        'preempt_action', 'output_url',
    ),
)  # fmt: skip
JOBS_NEW: Schema = record(
    {'jobs': {'type': 'array', 'items': JOB_NEW, 'minItems': 1, 'maxItems': MAX_JOBS}}
)

SHORT = {
    'id': SERVER_ID,
    'number': described({'type': 'integer'}, 'grows with submission'),
    'name': TEXT,
    'queue_id': SERVER_ID,
    'array_id': nullable(described(SERVER_ID, 'null: it is of no array')),
    'array_index': nullable({'type': 'integer'}),
    'state': STATE,
}
SUBMITTED = record({'jobs': {'type': 'array', 'items': record(SHORT)}})

REASON = record(
    {
        'code': described(TEXT, 'share, room, limit, dependency, exit, time_limit, ...'),
        'text': described(TEXT, 'a sentence with the numbers in it'),
        'numbers': {'type': 'object', 'additionalProperties': nullable(NUMBER)},
    }
)
SUMMARY = {
    **SHORT,
    'queue': described(TEXT, 'name of its queue'),
    'project_id': PROJECT_ID,
    'user_id': TEXT,
    'kind': KIND,
    'priority': {'type': 'integer'},
    'flavor': TEXT,
    'servers': {'type': 'integer'},
    'cores': described(NUMBER, 'of one server'),
    'memory_mib': NUMBER,
    'disk_gib': NUMBER,
    'time_limit': {'type': 'integer'},
    'wish': described(
        {'type': 'string', 'enum': [str(one) for one in JobWish]}, "its owner's, while it is active"
    ),
    'attempt': described({'type': 'integer'}, 'number of the newest; 0: none yet'),
    'begin': described(nullable(TIME), 'it is not started before; null: at any time'),
    'submitted_at': TIME,
    'changed_at': described(TIME, 'when its state changed last'),
    'started_at': nullable(TIME),
    'ended_at': nullable(TIME),
    'expected_start': described(nullable(TIME), 'null: not known, or it does not wait'),
    'reason': described(nullable(REASON), 'why it waits, or why it ended as it did'),
    'exit_code': nullable({'type': 'integer'}),
}
JOBS = listed('jobs', record(SUMMARY))

ATTEMPT = record(
    {
        'number': {'type': 'integer'},
        'rank': described({'type': 'integer'}, 'of the server within the gang'),
        'state': {'type': 'string', 'enum': [str(one) for one in AttemptState]},
        'worker_id': TEXT,
        'server_id': nullable(described(TEXT, 'null: not made yet, or gone')),
        'host': nullable(TEXT),
        'created_at': TIME,
        'started_at': nullable(TIME),
        'ended_at': nullable(TIME),
        'exit_code': nullable({'type': 'integer'}),
        'usage': described(
            {'type': 'object', 'additionalProperties': NUMBER},
            'cpu_seconds, user_seconds, system_seconds, max_rss_mib, wall_seconds, as measured there',
        ),
        'text': TEXT,
    }
)
SHOWN = record(
    {
        **SUMMARY,
        'value': described({'type': 'integer'}, 'micro-credits'),
        'weight': described(NUMBER, 'of its project within the queue'),
        'array_size': {'type': 'integer'},
        'after': {'type': 'array', 'items': TEXT},
        'after_condition': {'type': 'string', 'enum': [str(one) for one in AfterCondition]},
        'retries': {'type': 'integer'},
        'lost': described({'type': 'integer'}, 'attempts whose worker was lost'),
        'requeues': described(
            {'type': 'integer'},
            'how often it was preempted or requeued, or had to pay for another run',
        ),
        'least_run_time': {'type': 'integer'},
        'notice': {'type': 'integer'},
        'preempt_action': {'type': 'string', 'enum': [str(one) for one in PreemptAction]},
        'cost_limit': described(BALANCE, 'micro-credits that one run is charged at most'),
        'charged': described(BALANCE, 'for all of its runs'),
        'compensation': described(BALANCE, 'from those who displaced it'),
        'script': TEXT,
        'checkpoint': TEXT,
        'environment': {'type': 'object', 'additionalProperties': TEXT},
        'output_url': TEXT,
        'attempts': {'type': 'array', 'items': ATTEMPT},
        'in_force': described(
            record(
                {
                    'retries': {'type': 'integer'},
                    'least_run_time': {'type': 'integer'},
                    'notice': {'type': 'integer'},
                    'preempt_action': {
                        'type': 'string',
                        'enum': [str(one) for one in PreemptAction],
                    },
                }
            ),
            'what of these counts under the limits of the queue and the operator; from 1.15 on',
        ),
    },
    optional=('in_force',),
)
JOB = wrapped('job', SHOWN)
OUTPUT = wrapped(
    'output',
    record(
        {
            'job_id': SERVER_ID,
            'attempt': {'type': 'integer'},
            'rank': {'type': 'integer'},
            'text': described(
                TEXT, 'the last of what it wrote; bytes that are no UTF-8 are replaced'
            ),
            'bytes': described({'type': 'integer'}, 'that are kept'),
            'total_bytes': described({'type': 'integer'}, 'that it has written'),
        }
    ),
)
EVENTS = listed(
    'events',
    record(
        {
            'number': described({'type': 'integer'}, 'grows with time'),
            'at': TIME,
            'attempt': {'type': 'integer'},
            'action': TEXT,
            'reason': TEXT,
            'numbers': {'type': 'object', 'additionalProperties': nullable(NUMBER)},
        }
    ),
)
