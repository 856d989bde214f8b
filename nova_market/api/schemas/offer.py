# SPDX-License-Identifier: Apache-2.0
"""Schemas of offers: requests, what is shown, acceptance."""

from nova_market.api.schemas.job import JOB_NEW, QUEUE_REF, SHORT
from nova_market.api.schemas.lease import LEASE_NEW, LEASE_SHOWN
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
from nova_market.core.tender.region_answer import NAME
from nova_market.core.tender.stored_offer import HOW, OfferKind, OfferState
from nova_market.core.timestamp import FORM

JOB = JOB_NEW['properties']
UTILITY: Schema = {
    'type': 'string',
    'pattern': '^[a-z][a-z0-9_-]{0,31}$',
    'description': 'name of an installed utility, such as cost_time; the best offer is the first',
    'default': 'cost_time',
}
REGION: Schema = {'type': 'string', 'pattern': NAME}
ON_BEHALF: Schema = described(
    record(
        {
            'project_id': PROJECT_ID,
            'user_id': described(printable(64, 1), 'who accepts'),
            'roles': described(
                {'type': 'array', 'maxItems': 100, 'items': printable(255, 1)},
                'of the user in the project',
            ),
            'request_id': described(SERVER_ID, 'of the offers of all regions'),
            'path': described(
                {'type': 'array', 'minItems': 1, 'maxItems': 10, 'items': REGION},
                'regions that the request has passed, the first one first',
            ),
            'within': described(
                {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 60},
                'seconds for which the sender waits',
            ),
        }
    ),
    'for whom another region asks; needs the rule market:offers:create_for_others',
)
KIND: Schema = {'type': 'string', 'enum': [str(one) for one in OfferKind]}
LEASE_ENTRIES = LEASE_NEW['properties']
SERVER_NEW: Schema = record(
    {
        'flavor': described(printable(255, 1), 'a public flavor, by name or id'),
        'count': described(
            {'type': 'integer', 'minimum': 1, 'maximum': 1000},
            'servers, evenly on as many hosts as divide their number',
            default=1,
        ),
        **{
            name: LEASE_ENTRIES[name]
            for name in (
                'duration', 'earliest', 'finish', 'utilisation', 'name', 'purpose', 'flexible',
            )
        },
    },
    optional=('count', 'earliest', 'finish', 'utilisation', 'name', 'purpose', 'flexible'),
)  # fmt: skip
OFFER_NEW: Schema = record(
    {
        'kind': described(
            KIND, 'what is asked for; lease and server: from version 1.12 on', default='job'
        ),
        'lease': described(LEASE_NEW, 'for kind lease: as it would be booked'),
        'server': described(SERVER_NEW, 'for kind server: room for servers of a flavor'),
        'queue': QUEUE_REF,
        'time_limit': JOB['time_limit'],
        'flavor': JOB['flavor'],
        'resources': JOB['resources'],
        'servers': JOB['servers'],
        'deadline': described(WHEN, f'by which the job is to be done: {FORM}'),
        'utility': UTILITY,
        'on_behalf': ON_BEHALF,
        'weight': described(
            {'type': 'number', 'minimum': 0, 'maximum': 1},
            'of time, for utility "weighted": 0 as cheapest, 1 as fastest',
            default=0.5,
        ),
    },
    optional=(
        'kind',
        'lease',
        'server',
        'queue',
        'time_limit',
        'flavor',
        'resources',
        'servers',
        'deadline',
        'utility',
        'weight',
        'on_behalf',
    ),
)
ACCEPTED_JOB: Schema = record(
    {
        name: JOB[name]
        for name in (
            'name', 'script', 'environment', 'retries', 'notice', 'checkpoint', 'preempt_action',
            'output_url',
        )
    },
    optional=(
        'name', 'environment', 'retries', 'notice', 'checkpoint', 'preempt_action', 'output_url'
    ),
)  # fmt: skip
OFFER_ACCEPT: Schema = record(
    {'job': described(ACCEPTED_JOB, 'for an offer of a job')}, optional=('job',)
)
OFFER_HOLD: Schema = record(
    {
        'seconds': described(
            {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 86_400},
            'from now; the operator may allow fewer',
        )
    }
)

STATE: Schema = {'type': 'string', 'enum': [str(one) for one in OfferState]}
JOB_OFFER = record(
    {
        'kind': described({'const': 'job'}, 'from version 1.12 on'),
        'id': SERVER_ID,
        'number': described({'type': 'integer'}, 'grows with each offer'),
        'request_id': described(
            SERVER_ID, 'of all offers of one request; one of them can be accepted'
        ),
        'project_id': PROJECT_ID,
        'user_id': TEXT,
        'region': described(
            TEXT, 'that makes it, and where it is accepted; empty where the service has no regions'
        ),
        'queue_id': SERVER_ID,
        'queue': described(TEXT, 'its name'),
        'state': STATE,
        'flavor': TEXT,
        'servers': {'type': 'integer'},
        'time_limit': {'type': 'integer'},
        'how': described(
            {'type': 'string', 'enum': [str(one) for one in HOW.values()]},
            'busy_worker: in the room of what runs now',
        ),
        'count': described({'type': 'integer'}, 'so many equal places there are'),
        'cost': described(BALANCE, 'micro-credits, until the time limit'),
        'prices': described(
            record(
                {'core_hour': NUMBER, 'mib_hour': NUMBER, 'gib_hour': NUMBER},
                optional=('mib_hour', 'gib_hour'),
            ),
            'micro-credits: what the cost was computed from; memory and disk: tender queues, from 1.6 on',
        ),
        'seconds': described(NUMBER, 'from acceptance to the end of the job'),
        'start': described(TIME, 'as it was made or held; of an accepted one: as promised'),
        'finish': TIME,
        'utility': TEXT,
        'weight': NUMBER,
        'deadline': nullable(TIME),
        'created_at': TIME,
        'valid_until': described(TIME, 'of an open offer, or of its hold'),
        'fees': described(BALANCE, 'micro-credits that were paid for holding it'),
        'accepted_at': nullable(TIME),
        'job_id': nullable(SERVER_ID),
        'refunded': described(BALANCE, 'micro-credits that came back because the job was late'),
    },
    optional=('region', 'kind'),
)
LEASE_OFFER = record(
    {
        **{
            name: JOB_OFFER['properties'][name]
            for name in ('region', 'id', 'number', 'request_id', 'project_id', 'user_id', 'state')
        },
        'kind': {'type': 'string', 'enum': ['lease', 'server']},
        'how': {'const': 'reserved_hosts'},
        'change': described(
            nullable({'type': 'string', 'enum': [str(one) for one in Change]}),
            'in what it differs from what was asked for, which cannot be had',
        ),
        'nodes': described({'type': 'integer'}, 'hosts that would be reserved, or parts of them'),
        'whole': FLAG,
        'servers': described({'type': 'integer'}, 'of kind server: that have room there'),
        'flavor': described(TEXT, 'of kind server'),
        'hosts': described(
            {'type': 'array', 'items': TEXT}, 'where it would be; shown to operators only'
        ),
        'cores': described(NUMBER, 'of all nodes'),
        'memory_mib': NUMBER,
        'disk_gib': NUMBER,
        'duration': NUMBER,
        'at_once': described(FLAG, 'it starts when it is accepted'),
        'cost': described(BALANCE, 'micro-credits, for all of its time'),
        'market_cost': described(
            nullable(BALANCE),
            'for comparison: these cores and this memory in the market, at the prices of its last period',
        ),
        'seconds': described(NUMBER, 'from the making of the offer to the end of the lease'),
        'start': TIME,
        'finish': TIME,
        'utility': TEXT,
        'weight': NUMBER,
        'created_at': TIME,
        'valid_until': TIME,
        'accepted_at': nullable(TIME),
        'lease_id': nullable(SERVER_ID),
    },
    optional=('servers', 'flavor', 'hosts'),
)
OFFER_SHOWN: Schema = {'anyOf': [JOB_OFFER, LEASE_OFFER]}
OFFER = wrapped('offer', OFFER_SHOWN)
OFFERS = listed('offers', OFFER_SHOWN)
OFFERS_MADE = record(
    {
        'request_id': SERVER_ID,
        'offers': described({'type': 'array', 'items': OFFER_SHOWN}, 'the best one first'),
        'why': described(
            {'type': 'array', 'items': TEXT}, 'why there is none, or none for a flavor'
        ),
    }
)
OFFER_ACCEPTED = record(
    {
        'offer': OFFER_SHOWN,
        'job': described(record(SHORT), 'of an offer for a job'),
        'lease': described(LEASE_SHOWN, 'of an offer for a lease or servers'),
    },
    optional=('job', 'lease'),
)
