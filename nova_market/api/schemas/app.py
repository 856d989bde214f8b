# SPDX-License-Identifier: Apache-2.0
"""Schemas of applications: their template, what is shown of them, events and reports.

The template's own schema is core.app.template_schema.
"""

from nova_market.api.schemas.shape import (
    BALANCE,
    BUDGET_ID,
    FLAG,
    NUMBER,
    PERIOD,
    PROJECT_ID,
    SERVER_ID,
    TEXT,
    TIME,
    listed,
    wrapped,
)
from nova_market.core.app import members
from nova_market.core.app.record import (
    MAX_HOOK_TEXT,
    AppState,
    DesiredServerState,
    DesiredState,
)
from nova_market.core.app.template import MAX_VALUE
from nova_market.core.app.template_schema import (
    BUDGET,
    COMPONENT,
    PARAMETERS,
    RENEWAL,
    REST,
    SLO,
)
from nova_market.core.json_schema import Schema, described, nullable, record

CREDENTIAL_HEADER = 'X-App-Credential'
CREDENTIAL: Schema = {
    'type': 'string',
    'pattern': '^[A-Za-z0-9_-]{1,128}$',
    'description': 'What `create` showed once; a token of Keystone is not needed here.',
}

GENERATION: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 2**53}

CHANGEABLE = ('slo', 'budget', 'parameters', 'when_suspended', 'new_credential', 'new_trust')
APP_CHANGE: Schema = {
    **record(
        {
            'slo': SLO,
            'budget': described(BUDGET, 'what is not given stays'),
            'parameters': PARAMETERS,
            'when_suspended': REST,
            'new_credential': described({'const': True}, 'the one there was is worth nothing then'),
            'new_trust': described(
                {'const': True},
                'the caller hands his roles on instead of whoever did, whose trust the controller ends',
            ),
            'generation': described(GENERATION, 'of the application that was read; default: any'),
        },
        optional=(*CHANGEABLE, 'generation'),
    ),
    'anyOf': [{'required': [name]} for name in CHANGEABLE],
}

SUMMARY = {
    'id': TEXT,
    'name': TEXT,
    'project_id': PROJECT_ID,
    'policy': TEXT,
    'state': {'type': 'string', 'enum': [str(state) for state in AppState]},
    'wish': described(
        {'type': 'string', 'enum': [str(wish) for wish in DesiredState]}, "its owner's"
    ),
    'created_at': TIME,
    'changed_at': described(TIME, 'when its state changed last'),
    'generation': {'type': 'integer'},
    'spent': described(nullable(BALANCE), 'micro-credits so far'),
    'lateness': described(
        nullable(NUMBER), 'remaining time / time to the deadline: above 1 is too late'
    ),
}
APPS = listed('apps', record(SUMMARY))

OF_COMPONENT = record(
    {
        'name': TEXT,
        'count': described({'type': 'integer'}, 'servers'),
        'wanted': {'type': 'integer'},
        'bid_cpu': described({'type': 'integer'}, 'of one server, micro-credits per period'),
        'bid_memory': {'type': 'integer'},
        'cpu': described(NUMBER, 'allocation of one server, cores'),
        'memory_mib': NUMBER,
    }
)
STATISTICS = record(
    {
        'period': described(PERIOD, 'of the last decision'),
        'performance': described(nullable(NUMBER), "in the band's unit: the larger, the worse"),
        'remaining': described(nullable(NUMBER), 'seconds of work with full allocations'),
        'lateness': nullable(NUMBER),
        'budget': described({'type': 'integer'}, 'what may be spent in the next period'),
        'spent': {'type': 'integer'},
        'reason': TEXT,
        'components': {'type': 'array', 'items': OF_COMPONENT},
    }
)
REPORTED = record(
    {
        'server_id': nullable(described(SERVER_ID, 'null: of the whole application')),
        'at': TIME,
        **{name: nullable(NUMBER) for name in ('metric', 'total', 'done', 'seconds_each')},
        **{name: nullable({'type': 'integer'}) for name in ('waiting', 'busy')},
    }
)
DRAIN = record(
    {
        'since': TIME,
        'until': described(TIME, 'when it is deleted at the latest'),
        'failed': described(nullable(TEXT), 'what its hook printed when it failed last'),
    }
)
SERVER = record(
    {
        'component': TEXT,
        'number': {'type': 'integer'},
        'server_id': nullable(described(TEXT, 'null: it is not made yet, or gone')),
        'intention': {'type': 'string', 'enum': [str(one) for one in DesiredServerState]},
        'attempts': described({'type': 'integer'}, 'to make or unshelve it that failed, in a row'),
        'address': nullable(described(TEXT, 'null: it does not run yet; from 1.3 on')),
        'drain': described(nullable(DRAIN), 'null: it was not given up; from 1.3 on'),
    },
    optional=('address', 'drain'),
)
SHOWN = record(
    {
        **SUMMARY,
        'user_id': described(
            TEXT, 'who made it, or gave it its newest trust; it spends as long as he may'
        ),
        'parameters': PARAMETERS,
        'slo': described({'type': 'object'}, 'empty: it has none'),
        'budget': record({'id': BUDGET_ID, **RENEWAL, 'balance': nullable(BALANCE)}),
        'start': {'type': 'object'},
        'components': {'type': 'array', 'items': record(COMPONENT, ('drain_timeout',))},
        'statistics': described(nullable(STATISTICS), 'null: nothing was decided yet'),
        'servers': {'type': 'array', 'items': SERVER},
        'reports': described({'type': 'array', 'items': REPORTED}, 'the latest ones'),
        'reporting': described(FLAG, 'reports are taken: there is a credential'),
        'when_suspended': described(nullable(REST), 'from 1.3 on; null: as the operator has it'),
        'credential': described(TEXT, 'to report with; shown this once'),
    },
    optional=('when_suspended', 'credential'),
)
APP = wrapped('app', SHOWN)
CHECKED = wrapped(
    'template',
    record(
        {
            'name': TEXT,
            'policy': TEXT,
            'parameters': PARAMETERS,
            'slo': described({'type': 'object'}, 'empty: it has none'),
            'budget': record(RENEWAL),
            'start': {'type': 'object'},
            'components': {'type': 'array', 'items': record(COMPONENT)},
            'when_suspended': described(nullable(REST), 'null: as the operator has it'),
        }
    ),
)
EVENTS = listed(
    'events',
    record(
        {
            'number': described({'type': 'integer'}, 'grows with time'),
            'at': TIME,
            'period': PERIOD,
            'action': TEXT,
            'reason': TEXT,
            'numbers': {'type': 'object', 'additionalProperties': nullable(NUMBER)},
        }
    ),
)

FROM_ZERO: Schema = {'type': 'number', 'minimum': 0, 'maximum': MAX_VALUE}
TASKS: Schema = {'type': 'integer', 'minimum': 0, 'maximum': 2**31 - 1}
DRAIN_ID: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 2**53}
VERSION: Schema = {'type': 'string', 'pattern': '^([0-9a-f]{16})?$', 'maxLength': 16}
HOOKS: Schema = record(
    {
        'members': described(VERSION, 'of the list that was acted on; "": of none yet'),
        'drain': record(
            {
                'id': DRAIN_ID,
                'drained': described(FLAG, 'its work has ended; false: its hook failed'),
                'text': described({'type': 'string', 'maxLength': MAX_HOOK_TEXT}, 'why it failed'),
            },
            optional=('text',),
        ),
    },
    optional=('members', 'drain'),
)
REPORT: Schema = {
    **record(
        {
            'server_id': described(SERVER_ID, 'a server of the application; default: all of it'),
            'metric': described(FROM_ZERO, 'in the unit of the SLO'),
            'progress': described(
                record(
                    {
                        'total': FROM_ZERO,
                        'done': FROM_ZERO,
                        'seconds_each': described(FROM_ZERO, 'for one of them, lately'),
                    },
                    optional=('seconds_each',),
                ),
                'iterations, or whatever is counted; 0 <= done <= total',
            ),
            'queue': described(record({'waiting': TASKS, 'busy': TASKS}), 'tasks'),
            'hooks': described(HOOKS, 'of an agent that runs hooks; from 1.3 on'),
        },
        optional=('server_id', 'metric', 'progress', 'queue', 'hooks'),
    ),
    'anyOf': [{'required': [name]} for name in ('metric', 'progress', 'queue', 'hooks')],
}
MEMBERS = record(
    {
        'version': VERSION,
        'servers': {
            'type': 'array',
            'items': record(
                {
                    'component': TEXT,
                    'number': {'type': 'integer'},
                    'server_id': SERVER_ID,
                    'address': TEXT,
                    'state': {'type': 'string', 'enum': [str(one) for one in members.SHOWN]},
                }
            ),
            'maxItems': members.MAX_MEMBERS,
        },
    }
)
ORDERS = wrapped(
    'hooks',
    record(
        {
            'drain': described(
                nullable(
                    record(
                        {
                            'id': DRAIN_ID,
                            'begin': described(FLAG, 'the others have had the time to take it out'),
                            'seconds': described(NUMBER, 'until it is deleted at the latest'),
                        }
                    )
                ),
                'null: it is not given up, or not any more',
            ),
            'members': described(
                nullable(MEMBERS), 'null: the version that was reported is the present one'
            ),
        }
    ),
)
