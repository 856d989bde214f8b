# SPDX-License-Identifier: Apache-2.0
"""Schemas of notices."""

from nova_market.api.schemas.shape import FLAG, PROJECT_ID, TEXT, TIME, listed, wrapped
from nova_market.core.json_schema import Schema, described, nullable, record
from nova_market.core.notice.preference import MAX_ADDRESS, MAX_URL

MAX_DIGEST = 7 * 86_400
PATTERN: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 64}
EVENTS: Schema = {'type': 'array', 'items': PATTERN, 'minItems': 1, 'maxItems': 50}
MAIL: Schema = {'type': 'string', 'maxLength': MAX_ADDRESS}
WEBHOOK: Schema = {'type': 'string', 'maxLength': MAX_URL}
DIGEST: Schema = {'type': 'number', 'minimum': 0, 'maximum': MAX_DIGEST}
AT_MOST: Schema = {'type': 'integer', 'minimum': 1, 'maximum': 10_000}

ASKED = {
    'events': described(EVENTS, 'names or patterns, such as lease.* and job.failed'),
    'mail': described(MAIL, 'address; empty: none', default=''),
    'webhook': described(WEBHOOK, 'URL of https; empty: none', default=''),
    'mine': described(FLAG, "only events of the user's own jobs and leases", default=False),
    'all_projects': described(FLAG, 'of all projects, and of the cloud (admin)', default=False),
    'digest': described(
        DIGEST, 'seconds that an event waits for others, to be sent with them', default=0
    ),
    'at_most': described(AT_MOST, 'messages an hour, by mail and to the webhook each', default=20),
}
NOTICE_SET = record(ASKED, optional=[name for name in ASKED if name != 'events'])
CODE = record(
    {'code': described({'type': 'string', 'minLength': 1, 'maxLength': 64}, 'from the mail')}
)
SHOWN = record(
    {
        'project_id': PROJECT_ID,
        'user_id': TEXT,
        **{name: {k: v for k, v in one.items() if k != 'default'} for name, one in ASKED.items()},
        'confirmed': described(FLAG, 'the address was confirmed; nothing is sent to it before'),
        'changed_at': TIME,
        'secret': described(
            nullable(TEXT), 'that requests are signed with: shown once, when the URL is set'
        ),
        'stopped': described(
            TEXT,
            'why nothing is sent to this user now; empty: nothing hinders it; from version 1.16 on',
        ),
    },
    optional=('stopped',),
)
NOTICE = wrapped('notice', SHOWN)
NOTICES = listed('notices', SHOWN)
