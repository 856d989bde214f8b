# SPDX-License-Identifier: Apache-2.0
"""Schemas of the version documents and of errors."""

from nova_market.api.schemas.shape import TEXT, Schema, record, said, wrapped

LINKS: Schema = {'type': 'array', 'items': record({'rel': TEXT, 'href': TEXT})}
VERSION = record(
    {
        'id': TEXT,
        'status': TEXT,
        'version': said(TEXT, 'newest microversion'),
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
                    'detail': said(TEXT, 'names the value, the limit and what to do'),
                    'code': said(TEXT, 'stable, such as market.balance.too_low'),
                    'request_id': TEXT,
                    'min_version': TEXT,
                    'max_version': TEXT,
                },
                optional=('min_version', 'max_version'),
            ),
        },
        'message': said(TEXT, 'the detail once more'),
    }
)
