# SPDX-License-Identifier: Apache-2.0
"""Schemas of what services have set aside."""

from nova_market.api.schemas.shape import TEXT, TIME, listed
from nova_market.core.json_schema import Schema, described, record

SERVICE: Schema = described(
    {'type': 'string', 'pattern': '^[a-z]{1,40}$'}, 'those of this service, such as jobs or engine'
)
SHOWN = record(
    {
        'kind': described(TEXT, 'of what, such as job, lease, bid or server'),
        'id': described(TEXT, 'of what'),
        'stage': described(TEXT, 'what was to be done with it'),
        'reason': described(TEXT, 'why that cannot be done'),
        'service': described(TEXT, 'that tries it again in each of its passes'),
        'project_id': described(TEXT, 'whose it is; empty: of no project'),
        'since': TIME,
    }
)
SET_ASIDE = listed('set_aside', SHOWN)
