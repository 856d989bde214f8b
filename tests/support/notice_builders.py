# SPDX-License-Identifier: Apache-2.0
"""Notices, preferences and what waits, with as few words as possible."""

from typing import Any

from nova_market.core.notice.delivery import Queued, Recipient
from nova_market.core.notice.notice import Notice
from nova_market.core.notice.preference import Channel, Preference

NOW = 1_800_000_000.0
MAIL = Recipient(project_id='red', user_id='ann', channel=Channel.MAIL)


def notice(key: str, event: str = 'job.failed', at: float = NOW, **more: Any) -> Notice:
    payload = {'name': 'n', 'job_id': 'j1', 'reason': 'exit status 1', **more.pop('payload', {})}
    given = {'project_id': 'red', 'user_id': 'ann', **more}
    return Notice(event=f'market.{event}', key=key, at=at, payload=payload, **given)


def preference(**more: Any) -> Preference:
    given = {'project_id': 'red', 'user_id': 'ann', 'events': ('*',)}
    return Preference(**{**given, 'mail': 'ann@example.org', 'confirmed': True, **more})


def queued(number: int, event: str = 'job.failed', **more: Any) -> Queued:
    payload = {'name': 'n', 'job_id': 'j1', 'reason': 'exit status 1', **more.pop('payload', {})}
    given = {'recipient': MAIL, 'target': 'ann@example.org', 'key': f'job:{number}', 'at': NOW}
    given |= {'project_id': 'red', 'due_at': NOW, **more}
    return Queued(number=number, event=f'market.{event}', payload=payload, **given)
