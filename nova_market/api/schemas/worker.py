# SPDX-License-Identifier: Apache-2.0
"""Schemas of what workers send and get: doc/source/specs/worker.rst."""

from nova_market.api.schemas.shape import SERVER_ID
from nova_market.core.job.queue import MAX_TIME_LIMIT
from nova_market.core.job.worker_message import (
    MAX_BYTES,
    MAX_CPU_SECONDS,
    MAX_MEMORY_MIB,
    MAX_SECONDS,
    MAX_SIGNAL,
    MAX_TAIL,
    MAX_TEXT,
    End,
)
from nova_market.core.json_schema import Schema, described, record

CREDENTIAL: Schema = described(
    {'type': 'string', 'maxLength': 200},
    'of this worker: its session, or before it has one its boot secret; in the body, as a command line shows '
    'headers',
)
SESSION: Schema = described(
    {'type': 'string', 'pattern': '^[A-Za-z0-9_-]{43,64}$'},
    'that the agent has drawn, and shows from now on: with the first request it takes the place of the boot '
    'secret',
)
WALL: Schema = {'type': 'number', 'minimum': 0, 'maximum': MAX_SECONDS}
CPU: Schema = {'type': 'number', 'minimum': 0, 'maximum': MAX_CPU_SECONDS}
CODE: Schema = {'type': 'integer', 'minimum': 0, 'maximum': 255}
ATTEMPT: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_BYTES}
BYTES: Schema = {'type': 'integer', 'minimum': 0, 'maximum': MAX_BYTES}
OUTPUT: Schema = described(
    {'type': 'string', 'contentEncoding': 'base64', 'maxLength': (MAX_TAIL + 2) // 3 * 4},
    f'the last {MAX_TAIL} bytes that the job has written, in base64',
)
OUTPUT_BYTES: Schema = described(BYTES, 'that it has written in all')

NEXT: Schema = record(
    {
        'credential': CREDENTIAL,
        'session': SESSION,
        'agent': described({'type': 'string', 'maxLength': 64}, 'program and version'),
        'clock': described(
            {'type': 'number'},
            "the guest's clock, in seconds since the epoch: it is shown, never used",
        ),
    },
    optional=('session', 'agent', 'clock'),
)
HEARTBEAT: Schema = record(
    {
        'credential': CREDENTIAL,
        'job_id': SERVER_ID,
        'attempt': ATTEMPT,
        'ran': described(WALL, 'seconds since its start; without it, it is about to be started'),
        'output': OUTPUT,
        'output_bytes': OUTPUT_BYTES,
    },
    optional=('ran', 'output', 'output_bytes'),
)
RESULT: Schema = record(
    {
        'credential': CREDENTIAL,
        'job_id': SERVER_ID,
        'attempt': ATTEMPT,
        'end': {'type': 'string', 'enum': [str(one) for one in End]},
        'exit_code': CODE,
        'signal': {'type': 'integer', 'minimum': 1, 'maximum': MAX_SIGNAL},
        'wall_seconds': WALL,
        'user_seconds': CPU,
        'system_seconds': CPU,
        'max_rss_mib': {'type': 'number', 'minimum': 0, 'maximum': MAX_MEMORY_MIB},
        'output': OUTPUT,
        'output_bytes': OUTPUT_BYTES,
        'checkpoint': described(CODE, 'exit code of the checkpoint script, where it was run'),
        'uploaded': described({'type': 'boolean'}, 'whether the whole output is at output_url'),
        'text': described(
            {'type': 'string', 'maxLength': MAX_TEXT}, 'why it could not be started'
        ),
    },
    optional=(
        'exit_code', 'signal', 'user_seconds', 'system_seconds', 'max_rss_mib', 'output', 'output_bytes',
        'checkpoint', 'uploaded', 'text',
    ),
)  # fmt: skip

SECONDS: Schema = {'type': 'number', 'minimum': 0, 'maximum': MAX_TIME_LIMIT}
JOB: Schema = record(
    {
        'id': SERVER_ID,
        'attempt': ATTEMPT,
        'script': {'type': 'string'},
        'checkpoint': described({'type': 'string'}, 'run when it is stopped; empty: none'),
        'environment': {'type': 'object', 'additionalProperties': {'type': 'string'}},
        'time_limit': SECONDS,
        'notice': SECONDS,
        'output_url': described({'type': 'string'}, 'for the whole output; empty: none'),
        'output_limit': described(BYTES, 'first bytes of the whole output that are stored there'),
    }
)
NEXT_ORDER: Schema = record(
    {
        'order': {'type': 'string', 'enum': ['run', 'wait', 'exit']},
        'seconds': described(SECONDS, 'run: between heartbeats; wait: until the next request'),
        'job': JOB,
    },
    optional=('job',),
)
ORDER: Schema = record(
    {
        'order': {'type': 'string', 'enum': ['go_on', 'stop', 'cancel']},
        'seconds': described(SECONDS, 'go_on: until the next heartbeat; otherwise until SIGKILL'),
    }
)
TAKEN: Schema = record({'order': {'type': 'string', 'enum': ['wait']}, 'seconds': SECONDS})
