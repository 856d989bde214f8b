# SPDX-License-Identifier: Apache-2.0
"""Schemas of applications: their template, what is shown of them, events and reports.

core.app.template reads the template and says more about what is wrong; these schemas are what is published.
"""

from nova_market.api.schemas.shape import (
    AMOUNT,
    BALANCE,
    BUDGET_ID,
    EVERY,
    FLAG,
    NAME,
    NUMBER,
    PERIOD,
    PROJECT_ID,
    SERVER_ID,
    TEXT,
    TIME,
    WHEN,
    Schema,
    listed,
    nullable,
    record,
    said,
    wrapped,
)
from nova_market.core.app import template
from nova_market.core.app.record import AppState, DesiredServerState, DesiredState

CREDENTIAL_HEADER = 'X-App-Credential'
CREDENTIAL: Schema = {
    'type': 'string',
    'pattern': '^[A-Za-z0-9_-]{1,128}$',
    'description': 'What `create` showed once; a token of Keystone is not needed here.',
}

ABOVE_ZERO: Schema = {
    'type': 'number',
    'minimum': 1 / template.MAX_VALUE,
    'maximum': template.MAX_VALUE,
}
WORD: Schema = {'type': 'string', 'minLength': 1, 'maxLength': template.MAX_NAME}
COUNT: Schema = {'type': 'integer', 'minimum': 1, 'maximum': template.MAX_COUNT}
GENERATION: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 2**53}

BAND = {
    'low': said(ABOVE_ZERO, 'better than this and it gives something back'),
    'reference': said(ABOVE_ZERO, 'what bids are set for'),
    'high': said(ABOVE_ZERO, 'worse than this and it asks for more'),
}
SLO: Schema = {
    'oneOf': [
        said(
            record(
                {
                    'deadline': WHEN,
                    'work_core_seconds': said(
                        ABOVE_ZERO,
                        'of the whole application; its progress when nothing is reported',
                    ),
                    **BAND,
                },
                optional=('work_core_seconds', *BAND),
            ),
            'thresholds of remaining time / time to the deadline, 0.75, 0.9 and 1 by default',
        ),
        record({'metric': said(record(BAND), 'the larger, the worse, such as a response time')}),
        record(
            {'throughput': said(record(BAND), 'the larger, the better; low <= reference <= high')}
        ),
        record({'queue': said({'const': True}, 'as many servers as tasks wait and run')}),
    ],
    'description': 'service-level objective',
}
PARAMETERS: Schema = {
    'type': 'object',
    'propertyNames': {'pattern': '^[a-z][a-z0-9_]{0,63}$'},
    'additionalProperties': {
        'type': 'number',
        'minimum': -template.MAX_VALUE,
        'maximum': template.MAX_VALUE,
    },
    'maxProperties': template.MAX_PARAMETERS,
    'description': 'numbers that the policy takes',
}
RENEWAL = {
    'renew_amount': nullable(said(AMOUNT, 'micro-credits to fill the budget up to; null: by hand')),
    'renew_every': said(EVERY, 'periods'),
}
BUDGET = record(RENEWAL, optional=tuple(RENEWAL))
START = record(
    {
        'price_below': said(
            record({'cpu': ABOVE_ZERO, 'memory': ABOVE_ZERO}, optional=('cpu', 'memory')),
            'micro-credits per core or MiB and period',
        ),
        'before': said(WHEN, 'when it has not started by then it is cancelled'),
        'else': {'const': 'cancel'},
    },
    optional=('price_below', 'before', 'else'),
)
LEAST = record(
    {
        'cpu': {'type': 'number', 'minimum': 0, 'maximum': template.MAX_CORES},
        'memory_mib': {'type': 'number', 'minimum': 0, 'maximum': template.MAX_MIB},
    },
    optional=('cpu', 'memory_mib'),
)
COMPONENT = {
    'name': {'type': 'string', 'pattern': f'^{template.COMPONENT_NAME}$'},
    'flavor': said(WORD, 'name or id'),
    'image': said(WORD, 'name or id'),
    'networks': said(
        {'type': 'array', 'items': WORD, 'maxItems': template.MAX_NETWORKS},
        'names or ids; none: what Nova chooses',
    ),
    'least_count': COUNT,
    'most_count': COUNT,
    'least': said(LEAST, 'the least allocation of a server that makes sense'),
}
USER_DATA = said(
    {'type': 'string', 'maxLength': template.MAX_USER_DATA}, 'for cloud-init, as it is'
)
POLICY: Schema = {'type': 'string', 'pattern': '^[A-Za-z0-9_.-]{1,64}$'}
APP_NEW = record(
    {
        'name': NAME,
        'policy': said(POLICY, 'entry point of nova_market.scaling'),
        'parameters': PARAMETERS,
        'slo': SLO,
        'budget': BUDGET,
        'start': START,
        'components': {
            'type': 'array',
            'items': record(
                {**COMPONENT, 'user_data': USER_DATA},
                optional=('networks', 'least_count', 'most_count', 'least', 'user_data'),
            ),
            'minItems': 1,
            'maxItems': template.MAX_COMPONENTS,
        },
    },
    optional=('parameters', 'budget', 'start'),
)
APP_CHANGE: Schema = {
    **record(
        {
            'slo': SLO,
            'budget': said(BUDGET, 'what is not given stays'),
            'parameters': PARAMETERS,
            'new_credential': said({'const': True}, 'the one there was is worth nothing then'),
            'new_trust': said(
                {'const': True},
                'the caller hands his roles on instead of whoever did, whose trust the controller ends',
            ),
            'generation': said(GENERATION, 'of the application that was read; default: any'),
        },
        optional=('slo', 'budget', 'parameters', 'new_credential', 'new_trust', 'generation'),
    ),
    'anyOf': [
        {'required': [name]}
        for name in ('slo', 'budget', 'parameters', 'new_credential', 'new_trust')
    ],
}

SUMMARY = {
    'id': TEXT,
    'name': TEXT,
    'project_id': PROJECT_ID,
    'policy': TEXT,
    'state': {'type': 'string', 'enum': [str(state) for state in AppState]},
    'wish': said({'type': 'string', 'enum': [str(wish) for wish in DesiredState]}, "its owner's"),
    'created_at': TIME,
    'changed_at': said(TIME, 'when its state changed last'),
    'generation': {'type': 'integer'},
    'spent': said(nullable(BALANCE), 'micro-credits so far'),
    'lateness': said(
        nullable(NUMBER), 'remaining time / time to the deadline: above 1 is too late'
    ),
}
APPS = listed('apps', record(SUMMARY))

OF_COMPONENT = record(
    {
        'name': TEXT,
        'count': said({'type': 'integer'}, 'servers'),
        'wanted': {'type': 'integer'},
        'bid_cpu': said({'type': 'integer'}, 'of one server, micro-credits per period'),
        'bid_memory': {'type': 'integer'},
        'cpu': said(NUMBER, 'allocation of one server, cores'),
        'memory_mib': NUMBER,
    }
)
STATISTICS = record(
    {
        'period': said(PERIOD, 'of the last decision'),
        'performance': said(nullable(NUMBER), "in the band's unit: the larger, the worse"),
        'remaining': said(nullable(NUMBER), 'seconds of work with full allocations'),
        'lateness': nullable(NUMBER),
        'budget': said({'type': 'integer'}, 'what may be spent in the next period'),
        'spent': {'type': 'integer'},
        'reason': TEXT,
        'components': {'type': 'array', 'items': OF_COMPONENT},
    }
)
REPORTED = record(
    {
        'server_id': nullable(said(SERVER_ID, 'null: of the whole application')),
        'at': TIME,
        **{name: nullable(NUMBER) for name in ('metric', 'total', 'done', 'seconds_each')},
        **{name: nullable({'type': 'integer'}) for name in ('waiting', 'busy')},
    }
)
SERVER = record(
    {
        'component': TEXT,
        'number': {'type': 'integer'},
        'server_id': nullable(said(TEXT, 'null: it is not made yet, or gone')),
        'intention': {'type': 'string', 'enum': [str(one) for one in DesiredServerState]},
        'attempts': said({'type': 'integer'}, 'to make it that failed, in a row'),
    }
)
SHOWN = record(
    {
        **SUMMARY,
        'user_id': said(TEXT, 'who made it'),
        'parameters': PARAMETERS,
        'slo': {'type': 'object'},
        'budget': record({'id': BUDGET_ID, **RENEWAL, 'balance': nullable(BALANCE)}),
        'start': {'type': 'object'},
        'components': {'type': 'array', 'items': record(COMPONENT)},
        'statistics': said(nullable(STATISTICS), 'null: nothing was decided yet'),
        'servers': {'type': 'array', 'items': SERVER},
        'reports': said({'type': 'array', 'items': REPORTED}, 'the latest ones'),
        'reporting': said(FLAG, 'reports are taken: there is a credential'),
        'credential': said(TEXT, 'to report with; shown this once'),
    },
    optional=('credential',),
)
APP = wrapped('app', SHOWN)
EVENTS = listed(
    'events',
    record(
        {
            'number': said({'type': 'integer'}, 'grows with time'),
            'at': TIME,
            'period': PERIOD,
            'action': TEXT,
            'reason': TEXT,
            'numbers': {'type': 'object', 'additionalProperties': nullable(NUMBER)},
        }
    ),
)

FROM_ZERO: Schema = {'type': 'number', 'minimum': 0, 'maximum': template.MAX_VALUE}
TASKS: Schema = {'type': 'integer', 'minimum': 0, 'maximum': 2**31 - 1}
REPORT: Schema = {
    **record(
        {
            'server_id': said(SERVER_ID, 'a server of the application; default: all of it'),
            'metric': said(FROM_ZERO, 'in the unit of the SLO'),
            'progress': said(
                record(
                    {
                        'total': FROM_ZERO,
                        'done': FROM_ZERO,
                        'seconds_each': said(FROM_ZERO, 'for one of them, lately'),
                    },
                    optional=('seconds_each',),
                ),
                'iterations, or whatever is counted; 0 <= done <= total',
            ),
            'queue': said(record({'waiting': TASKS, 'busy': TASKS}), 'tasks'),
        },
        optional=('server_id', 'metric', 'progress', 'queue'),
    ),
    'anyOf': [{'required': [name]} for name in ('metric', 'progress', 'queue')],
}
