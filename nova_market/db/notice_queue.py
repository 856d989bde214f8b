# SPDX-License-Identifier: Apache-2.0
"""Puts notices into the outbox of those who want them, within the transaction that makes them.

For rule N3 of doc/source/specs/notices.rst: what has happened and what is sent of it are stored together.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select

from nova_market.core.notice.notice import Notice
from nova_market.core.notice.preference import PREFERENCE_BOUNDS, Channel, Preference
from nova_market.core.row_check import checked
from nova_market.db.apps import packed
from nova_market.db.notice_tables import EVENT_LENGTH, KEY_LENGTH, notice_outbox, notice_preferences
from nova_market.db.sound_rows import sound_rows

WAITING = 'waiting'
PLAIN = tuple(one.name for one in fields(Preference) if one.name != 'events')


def queue_notices(connection: Connection, notices: Sequence[Notice]) -> int:
    """A row for each channel of each user who wants one of these; how many rows."""
    if not notices:
        return 0
    projects = sorted({one.project_id for one in notices})
    table = notice_preferences.c
    query = select(notice_preferences).where(
        or_(table.project_id.in_(projects), table.all_projects.is_(True))
    )
    rows = connection.execute(query.order_by(table.number))
    wanted = sound_rows(connection, 'preference', rows, stored_preference, user_of)
    made = [
        outbox_row(one, channel, target, notice, notice.at + one.digest)
        for one in wanted
        for channel, target in one.targets()
        for notice in notices
        if one.wants(notice)
    ]
    if made:
        connection.execute(insert(notice_outbox), made)
    return len(made)


def user_of(row: Row[Any]) -> str:
    """As what a user wants is named among what is set aside."""
    return f'{row.project_id}/{row.user_id}'


def outbox_row(
    preference: Preference, channel: Channel, target: str, notice: Notice, due_at: float
) -> dict[str, Any]:
    """The columns of a row."""
    return {
        'project_id': preference.project_id,
        'user_id': preference.user_id,
        'channel': str(channel),
        'target': target,
        'event': notice.event[:EVENT_LENGTH],
        'key': notice.key[:KEY_LENGTH],
        'of_project': notice.project_id,
        'at': notice.at,
        'payload': packed(notice.payload),
        'state': WAITING,
        'message': '',
        'tries': 0,
        'due_at': due_at,
        'tried_at': 0.0,
        'done_at': 0.0,
    }


def stored_preference(row: Row[Any]) -> Preference:
    """A row as a value."""
    found = row._mapping
    events = tuple(json.loads(found['events'])['events'])
    made = Preference(**{name: found[name] for name in PLAIN}, events=events)
    return checked(made, PREFERENCE_BOUNDS)


def preference_values(preference: Preference) -> dict[str, Any]:
    """The columns of its row."""
    values = {name: getattr(preference, name) for name in PLAIN}
    return {**values, 'events': packed({'events': list(preference.events)})}
