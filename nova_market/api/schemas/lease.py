# SPDX-License-Identifier: Apache-2.0
"""Schemas of leases: requests, what is shown, refusals, the calendar, replans."""

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
from nova_market.core.json_schema import WHEN, Schema, described, nullable, printable, record
from nova_market.core.lease.near_option import Change
from nova_market.core.lease.record import LeaseState
from nova_market.core.timestamp import FORM

HOST: Schema = printable(255, 1)
NAME: Schema = printable(255)
PURPOSE: Schema = printable(1000)
PLUGIN: Schema = {'type': 'string', 'pattern': '^[a-z][a-z0-9_-]{0,63}$'}
STATE: Schema = {'type': 'string', 'enum': [str(one) for one in LeaseState]}
COUNT: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 10_000}


def _amount(text: str) -> Schema:
    return described({'type': 'number', 'minimum': 0, 'maximum': 2**32}, text)


LEASE_NEW: Schema = record(
    {
        'name': NAME,
        'purpose': PURPOSE,
        'hosts': described(
            {'type': 'array', 'items': HOST, 'minItems': 1, 'maxItems': 1000},
            'names: a node on each of them; without it hosts are chosen',
        ),
        'nodes': described(COUNT, 'on different hosts, at the same time', default=1),
        'whole': described(FLAG, 'each node is a whole host', default=False),
        'cores': _amount('of each node, as Placement counts VCPU'),
        'memory_mib': _amount('of each node'),
        'disk_gib': _amount('of each node'),
        'utilisation': described(
            {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1},
            'part of its cores that a node is expected to keep busy',
            default=1,
        ),
        'duration': described(
            {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 3.2e8}, 'seconds'
        ),
        'earliest': described(WHEN, f'start, or begin of the window: {FORM}; default: now'),
        'finish': described(WHEN, 'end of the window; without it the start is fixed'),
        'flexible': described(FLAG, 'it may be moved until it begins soon', default=False),
    },
    optional=(
        'name', 'purpose', 'hosts', 'nodes', 'whole', 'cores', 'memory_mib', 'disk_gib', 'utilisation',
        'earliest', 'finish', 'flexible',
    ),
)  # fmt: skip
LEASE_CHANGED: Schema = {
    **record(
        {'name': NAME, 'purpose': PURPOSE, 'flexible': FLAG},
        optional=('name', 'purpose', 'flexible'),
    ),
    'minProperties': 1,
}
LEASE_GIVEN: Schema = record({'project_id': PROJECT_ID})
REPLAN: Schema = record(
    {
        'algorithm': described(PLUGIN, 'of nova_market.placement; default: the one in force now'),
        'objective': described(PLUGIN, 'of nova_market.objective; default: the one in force now'),
        'dry_run': described(FLAG, 'show what would change, and change nothing', default=False),
    },
    optional=('algorithm', 'objective', 'dry_run'),
)

NODE = record({'host': TEXT, 'cores': NUMBER, 'memory_mib': NUMBER, 'disk_gib': NUMBER})
LEASE_SHOWN = record(
    {
        'id': SERVER_ID,
        'number': described({'type': 'integer'}, 'grows with each lease'),
        'project_id': PROJECT_ID,
        'payer_id': described(PROJECT_ID, 'the project that has booked it, and pays'),
        'user_id': TEXT,
        'name': TEXT,
        'purpose': TEXT,
        'state': STATE,
        'start': TIME,
        'end': TIME,
        'ended_at': nullable(TIME),
        'nodes': {'type': 'array', 'items': NODE},
        'whole': FLAG,
        'utilisation': NUMBER,
        'duration': NUMBER,
        'earliest': TIME,
        'finish': TIME,
        'hosts': described({'type': 'array', 'items': TEXT}, 'that were asked for'),
        'flexible': FLAG,
        'cost': described(BALANCE, 'micro-credits, held when it was booked'),
        'charged': described(BALANCE, 'micro-credits of that'),
        'refunded': described(BALANCE, 'micro-credits of that'),
        'algorithm': nullable(TEXT),
        'objective': nullable(TEXT),
        'created_at': TIME,
        'revision': {'type': 'integer'},
    }
)
LEASE = wrapped('lease', LEASE_SHOWN)
LEASES = listed('leases', LEASE_SHOWN)

EVENT = record(
    {
        'number': {'type': 'integer'},
        'at': TIME,
        'action': TEXT,
        'reason': TEXT,
        'numbers': {'type': 'object', 'additionalProperties': NUMBER},
    }
)
EVENTS = listed('events', EVENT)

FAULT = record(
    {
        'requirement': TEXT,
        'host': nullable(TEXT),
        'start': TIME,
        'end': TIME,
        'wanted': NUMBER,
        'free': NUMBER,
        'sentence': TEXT,
    }
)
OPTION = record(
    {
        'change': {'type': 'string', 'enum': [str(one) for one in Change]},
        'start': TIME,
        'end': TIME,
        'hosts': {'type': 'array', 'items': TEXT},
        'cost': BALANCE,
    }
)

BOOKED = record(
    {
        'start': TIME,
        'end': TIME,
        'cores': NUMBER,
        'memory_mib': NUMBER,
        'disk_gib': NUMBER,
        'state': STATE,
        'lease_id': described(nullable(SERVER_ID), 'of a lease that the caller may see'),
        'name': nullable(TEXT),
    }
)
FREE = record({'start': TIME, 'cores': NUMBER, 'memory_mib': NUMBER, 'disk_gib': NUMBER})
CALENDAR_HOST = record(
    {
        'host': TEXT,
        'usable': described(FLAG, 'it is enabled and answers'),
        'cores': NUMBER,
        'memory_mib': NUMBER,
        'disk_gib': NUMBER,
        'leases': {'type': 'array', 'items': BOOKED},
        'free': described(
            {'type': 'array', 'items': FREE}, 'each from its start until the next one begins'
        ),
    }
)
CALENDAR = record(
    {
        'since': TIME,
        'until': TIME,
        'read_at': described(TIME, 'when the hosts were read'),
        'hosts': {'type': 'array', 'items': CALENDAR_HOST},
    }
)

PLACE = record({'start': TIME, 'hosts': {'type': 'array', 'items': TEXT}})
MEASURE = record({'hosts': {'type': 'integer'}, 'joules': NUMBER, 'cost': NUMBER})
REPLANNED = wrapped(
    'replan',
    record(
        {
            'algorithm': TEXT,
            'objective': TEXT,
            'unit': described(TEXT, 'of cost'),
            'leases': described({'type': 'integer'}, 'that may move'),
            'written': FLAG,
            'before': MEASURE,
            'after': MEASURE,
            'moves': {
                'type': 'array',
                'items': record({'lease_id': SERVER_ID, 'name': TEXT, 'old': PLACE, 'new': PLACE}),
            },
        }
    ),
)
