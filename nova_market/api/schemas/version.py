# SPDX-License-Identifier: Apache-2.0
"""Schemas of the version documents and of errors."""

from nova_market.api.schemas.shape import TEXT, wrapped
from nova_market.core.json_schema import Schema, described, record

LINKS: Schema = {'type': 'array', 'items': record({'rel': TEXT, 'href': TEXT})}
VERSION = record(
    {
        'id': TEXT,
        'status': TEXT,
        'version': described(TEXT, 'newest microversion'),
        'min_version': TEXT,
        'max_version': TEXT,
        'updated': TEXT,
        'links': LINKS,
    }
)
VERSIONS = wrapped('versions', {'type': 'array', 'items': VERSION})
ONE = wrapped('version', VERSION)
DESCRIPTION: Schema = {'type': 'object', 'required': ['openapi', 'paths']}

ERROR: Schema = record(
    {
        'errors': {
            'type': 'array',
            'items': record(
                {
                    'status': {'type': 'integer'},
                    'title': TEXT,
                    'detail': described(TEXT, 'names the value, the limit and what to do'),
                    'code': described(TEXT, 'stable, such as market.balance.too_low'),
                    'request_id': TEXT,
                    'min_version': TEXT,
                    'max_version': TEXT,
                    'retry_after': described({'type': 'integer'}, 'seconds'),
                },
                optional=('min_version', 'max_version', 'retry_after'),
            ),
        },
        'message': described(TEXT, 'the detail once more'),
    }
)
