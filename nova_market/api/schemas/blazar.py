# SPDX-License-Identifier: Apache-2.0
"""Schemas of what Blazar's filter sends: the entries that are read; it sends more."""

from collections.abc import Mapping
from typing import Any

from nova_market.api.schemas.shape import PROJECT_ID
from nova_market.core.json_schema import Schema, described, nullable

TEXT: Schema = {'type': 'string', 'maxLength': 255}
WHEN: Schema = described({'type': 'string', 'maxLength': 40}, 'ISO 8601, UTC when it names no zone')
NUMBER: Schema = nullable(
    {
        'anyOf': [
            {'type': 'number', 'minimum': 0, 'maximum': 2**32},
            {'type': 'string', 'pattern': '^[0-9]{1,9}$'},
        ]
    }
)


def _open(properties: Mapping[str, Any], *required: str) -> Schema:
    """An object of at least the required entries, and others that are not read."""
    return {'type': 'object', 'properties': dict(properties), 'required': list(required)}


HOST: Schema = _open({'vcpus': NUMBER, 'memory_mb': NUMBER, 'local_gb': NUMBER})
RESERVATION: Schema = _open(
    {
        'id': nullable(TEXT),
        'resource_type': described(
            TEXT, 'hosts and servers have a price; other resources are free'
        ),
        'max': described(NUMBER, 'of hosts'),
        'allocations': described({'type': 'array', 'items': HOST, 'maxItems': 10_000}, 'hosts'),
        'amount': described(NUMBER, 'of servers'),
        'vcpus': NUMBER,
        'memory_mb': NUMBER,
        'disk_gb': NUMBER,
        'flavor_id': nullable(TEXT),
    },
    'resource_type',
)
LEASE: Schema = _open(
    {
        'id': nullable({'type': 'string', 'pattern': '^[A-Za-z0-9_-]{1,64}$'}),
        'name': nullable(TEXT),
        'start_date': WHEN,
        'end_date': WHEN,
        'reservations': {'type': 'array', 'items': RESERVATION, 'maxItems': 1000},
    },
    'start_date',
    'end_date',
)
CONTEXT: Schema = _open(
    {'project_id': PROJECT_ID, 'user_id': nullable(TEXT), 'region_name': nullable(TEXT)},
    'project_id',
)
CALL: Schema = _open({'context': CONTEXT, 'lease': LEASE}, 'context', 'lease')
UPDATE: Schema = _open(
    {'context': CONTEXT, 'current_lease': LEASE, 'lease': LEASE},
    'context', 'current_lease', 'lease',
)  # fmt: skip
