# SPDX-License-Identifier: Apache-2.0
"""The template of an application as a JSON Schema (2020-12), which the API checks and publishes.

Implements the description of an application of Merkat (INRIA RR-8648), section 2.3. core.app.template checks
what a schema can't express: days that exist, thresholds in their order, names that differ. Units are in the
descriptions. The command does not check: it is installed without the libraries that this takes.
"""

from nova_market.core.app.template import (
    COMPONENT_NAME,
    MAX_COMPONENTS,
    MAX_CORES,
    MAX_COUNT,
    MAX_DRAIN,
    MAX_EVERY,
    MAX_MIB,
    MAX_NETWORKS,
    MAX_PARAMETERS,
    MAX_USER_DATA,
    MAX_VALUE,
    Rest,
)
from nova_market.core.json_schema import NAME, WHEN, Schema, described, nullable, record
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.timestamp import FORM

AMOUNT: Schema = {'type': 'integer', 'minimum': 0, 'maximum': MAX_AMOUNT}
"""Whole micro-credits; a credit is 1,000,000 of them."""

EVERY: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_EVERY}
ABOVE_ZERO: Schema = {'type': 'number', 'minimum': 1 / MAX_VALUE, 'maximum': MAX_VALUE}
COUNT: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_COUNT}

BAND = {
    'low': described(ABOVE_ZERO, 'better than this and it gives something back'),
    'reference': described(ABOVE_ZERO, 'what bids are set for'),
    'high': described(ABOVE_ZERO, 'worse than this and it asks for more'),
}
SLO: Schema = {
    'oneOf': [
        described(
            record(
                {
                    'deadline': WHEN,
                    'work_core_seconds': described(
                        ABOVE_ZERO,
                        'of the whole application; its progress when nothing is reported',
                    ),
                    **BAND,
                },
                optional=('work_core_seconds', *BAND),
            ),
            'thresholds of remaining time / time to the deadline, 0.75, 0.9 and 1 by default',
        ),
        record(
            {
                'metric': described(
                    record(BAND),
                    'the larger, the worse, such as a response time',
                    examples=[{'low': 0.1, 'reference': 0.2, 'high': 0.4}],
                )
            }
        ),
        record(
            {
                'throughput': described(
                    record(BAND),
                    'the larger, the better; low <= reference <= high',
                    examples=[{'low': 80, 'reference': 100, 'high': 120}],
                )
            }
        ),
        record({'queue': described({'const': True}, 'as many servers as tasks wait and run')}),
    ],
    'description': 'service-level objective',
}
PARAMETERS: Schema = {
    'type': 'object',
    'propertyNames': {
        'pattern': '^[a-z][a-z0-9_]{0,63}$',
        'description': 'a lower-case name of at most 64 of a-z, 0-9 and _',
    },
    'additionalProperties': {'type': 'number', 'minimum': -MAX_VALUE, 'maximum': MAX_VALUE},
    'maxProperties': MAX_PARAMETERS,
    'description': 'numbers that the policy takes',
}
RENEWAL = {
    'renew_amount': nullable(
        described(AMOUNT, 'micro-credits to fill the budget up to; null: by hand')
    ),
    'renew_every': described(EVERY, 'periods'),
}
BUDGET = record(RENEWAL, optional=tuple(RENEWAL))
START = record(
    {
        'price_below': described(
            record({'cpu': ABOVE_ZERO, 'memory': ABOVE_ZERO}, optional=('cpu', 'memory')),
            'micro-credits per core or MiB and period',
        ),
        'before': described(WHEN, f'{FORM}; it is cancelled if it has not started by then'),
        'else': {'const': 'cancel'},
    },
    optional=('price_below', 'before', 'else'),
)
LEAST = record(
    {
        'cpu': {'type': 'number', 'minimum': 0, 'maximum': MAX_CORES},
        'memory_mib': {'type': 'number', 'minimum': 0, 'maximum': MAX_MIB},
    },
    optional=('cpu', 'memory_mib'),
)
COMPONENT = {
    'name': {
        'type': 'string',
        'pattern': f'^{COMPONENT_NAME}$',
        'description': '1 to 32 of a-z, 0-9 and -, as a host name has',
        'examples': ['web'],
    },
    **{
        name: described(
            NAME, 'name or id, a printable text of 1 to 255 characters', examples=[example]
        )
        for name, example in (('flavor', 'm1.small'), ('image', 'debian-13'))
    },
    'networks': described(
        {'type': 'array', 'items': NAME, 'maxItems': MAX_NETWORKS},
        'names or ids; none: what Nova chooses',
    ),
    'least_count': COUNT,
    'most_count': COUNT,
    'least': described(LEAST, 'the least allocation of a server that makes sense'),
    'drain_timeout': described(
        {'type': 'integer', 'minimum': 0, 'maximum': MAX_DRAIN},
        'seconds that a server has for its work when it is given up; 0: none',
    ),
}
OPTIONAL = ('networks', 'least_count', 'most_count', 'least', 'drain_timeout')
USER_DATA = described({'type': 'string', 'maxLength': MAX_USER_DATA}, 'for cloud-init, as it is')
POLICY: Schema = {
    'type': 'string',
    'pattern': '^[A-Za-z0-9_.-]{1,64}$',
    'description': 'the name of a scaling policy, an entry point of nova_market.scaling',
}
REST: Schema = {
    'enum': [str(rest) for rest in Rest],
    'description': 'suspend keeps the memory of its servers and their room on their hosts, shelve neither',
}
TEMPLATE = record(
    {
        'name': NAME,
        'policy': POLICY,
        'parameters': PARAMETERS,
        'slo': SLO,
        'budget': BUDGET,
        'start': START,
        'components': {
            'type': 'array',
            'items': record(
                {**COMPONENT, 'user_data': USER_DATA},
                optional=(*OPTIONAL, 'user_data'),
            ),
            'minItems': 1,
            'maxItems': MAX_COMPONENTS,
        },
        'when_suspended': REST,
    },
    optional=('parameters', 'slo', 'budget', 'start', 'when_suspended'),
)
