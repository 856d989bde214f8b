# SPDX-License-Identifier: Apache-2.0
"""Notices in words, for a mail, and as JSON, for a webhook.

Implements rule N5 of doc/source/specs/notices.rst. Amounts of credit are micro-credits, as in the API.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from nova_market.core.notice.delivery import Queued
from nova_market.core.notice.notice import PREFIX
from nova_market.core.text import one_line
from nova_market.core.timestamp import stamp

SHOWN = 100
"""Events that a mail has in full; a webhook has all."""

MAX_SUBJECT = 150
LEADING = ('name', 'reason')
"""Of a payload; shown first."""

MORE: Mapping[str, tuple[str, ...]] = {
    'job': ('openstack market job show {job_id}', 'openstack market job events {job_id}'),
    'lease': ('openstack market lease show {lease_id}', 'openstack market lease events {lease_id}'),
    'credit': ('openstack market account show', 'openstack market statement show'),
    'bid': ('openstack market account show', 'openstack market bid list'),
    'plan': ('openstack market plan show {plan_id}',),
}
"""What shows more, by the first word of the event."""

FOOTER = (
    'You get this message because a user of the project has asked for it. Change it with "openstack market '
    'notice set", end it with "openstack market notice unset".'
)


def mail_text(batch: Sequence[Queued], prefix: str) -> tuple[str, str]:
    """(subject, body) of a message with these events. prefix: what subjects begin with, or ''"""
    if len(batch) == 1:
        (one,) = batch
        about = str(one.payload.get('name') or one.payload.get('account') or '')
        subject = f'{_name(one)}: {about}' if about else _name(one)
    else:
        counts = Counter(_name(one) for one in batch)
        kinds = ', '.join(f'{count} {name}' for name, count in counts.most_common())
        subject = f'{len(batch)} events: {kinds}'
    blocks = [_block(one) for one in batch[:SHOWN]]
    if len(batch) > SHOWN:
        blocks.insert(0, f'{len(batch)} events; the first {SHOWN} of them:')
    elif len(batch) > 1:
        blocks.insert(0, f'{len(batch)} events:')
    return _line(f'{prefix} {subject}')[:MAX_SUBJECT], '\n\n'.join([*blocks, f'-- \n{FOOTER}', ''])


def confirmation_text(code: str, project_id: str, prefix: str) -> tuple[str, str]:
    """(subject, body) of the mail that confirms an address."""
    body = (
        'A user of a cloud asks for notices of its market at this address.\n\n'
        f'Project: {project_id}\nCode:    {code}\n\n'
        f'To get them, run within a day:\n\n    openstack market notice confirm {code}\n\n'
        'If you have not asked for this, do nothing: nothing more will be sent here.\n'
    )
    return _line(f'{prefix} confirm this address'), body


def webhook_body(batch: Sequence[Queued], message: str) -> bytes:
    """The document that is posted: the same for the same message, however often it is sent."""
    events = [
        {
            'id': one.key,
            'event': _name(one),
            'at': stamp(one.at),
            'project_id': one.project_id,
            'payload': one.payload,
        }
        for one in batch
    ]
    return json.dumps({'id': message, 'events': events}, sort_keys=True).encode()


def _name(one: Queued) -> str:
    return one.event.removeprefix(PREFIX)


def _block(one: Queued) -> str:
    payload = one.payload
    names = [name for name in LEADING if payload.get(name) not in (None, '')]
    names += sorted(name for name in payload if name not in LEADING and payload[name] is not None)
    values = {'event': _name(one), 'at': stamp(one.at), 'project': one.project_id or 'all'}
    values |= {name: _value(payload[name]) for name in names}
    wide = max(len(name) for name in values) + 2
    lines = [f'{name + ":":{wide}}{_line(value)}' for name, value in values.items()]
    return '\n'.join([*lines, *(f'{"more:":{wide}}{line}' for line in _more(one))])


def _more(one: Queued) -> list[str]:
    try:
        return [line.format(**one.payload) for line in MORE.get(_name(one).partition('.')[0], ())]
    except KeyError:
        return []


def _value(value: object) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)


def _line(text: str) -> str:
    """Text of users, on one line and without control characters."""
    return one_line(text).strip()
