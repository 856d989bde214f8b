# SPDX-License-Identifier: Apache-2.0
"""What waits for being sent, in the database.

Implements rules N3 and N4 of doc/source/specs/notices.rst. Before a message is sent it gets its id, and the
time at which it is tried again: killed at any point, it is sent again then with the same id.
"""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, select, update

from nova_market.core.notice.delivery import MOST_AT_ONCE, QUEUED_BOUNDS, Queued, Recipient
from nova_market.core.notice.preference import Channel
from nova_market.core.row_check import checked
from nova_market.db.database import Database
from nova_market.db.ledger import slices
from nova_market.db.notice_queue import WAITING
from nova_market.db.notice_tables import notice_outbox
from nova_market.db.sound_rows import boundary_of, sound_page, sound_rows, unknown_word
from nova_market.errors import BadRow

SENT = 'sent'
GIVEN_UP = 'given_up'
NOTHING = b'{}'
BATCH = 1000

TABLE = notice_outbox.c


class DatabaseOutbox:
    """Implements ports.NoticeOutbox."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recipients(self, now: float, limit: int) -> Sequence[Recipient]:
        """Those for whom something is due, longest waiting first: `limit` by mail, and then by webhook."""
        return self._database.read(_recipients, now, limit)

    def waiting(self, recipient: Recipient) -> Sequence[Queued]:
        """What waits for one, by number: a message's worth."""
        return self._database.read(_waiting, recipient)

    def recent(self, recipient: Recipient, since: float) -> Sequence[float]:
        """When messages were sent to one after this time, oldest first."""
        return self._database.read(_recent, recipient, since)

    def claim(self, batch: Sequence[Queued], message: str, now: float, again_at: float) -> bool:
        """Note that these are sent now as this message; False: another service does, or they are gone."""
        return self._database.write(_claim, tuple(batch), message, now, again_at)

    def done(self, batch: Sequence[Queued], now: float, *, sent: bool) -> None:
        """They were sent, or given up."""
        self._database.write(_done, tuple(batch), now, SENT if sent else GIVEN_UP)

    def postpone(self, recipient: Recipient, until: float) -> None:
        """Nothing of this one is looked at before."""
        self._database.write(_postpone, recipient, until)

    def purge(self, before: float) -> int:
        """Remove what was sent or given up before; how many."""
        return self._database.write(_purge, before)

    def counts(self, since: float) -> dict[str, int]:
        """How many wait, and how many were sent and given up since then, by state."""
        return self._database.read(_counts, since)

    def oldest(self) -> float:
        """When the event was that waits longest of those due; 0: nothing waits."""
        return self._database.read(_oldest)


def _of(recipient: Recipient) -> ColumnElement[bool]:
    return and_(
        TABLE.project_id == recipient.project_id,
        TABLE.user_id == recipient.user_id,
        TABLE.channel == str(recipient.channel),
    )


def _recipients(connection: Connection, now: float, limit: int) -> list[Recipient]:
    columns = TABLE.project_id, TABLE.user_id, TABLE.channel
    query = select(*columns).where(TABLE.state == WAITING, TABLE.due_at <= now).group_by(*columns)
    boundary = boundary_of(connection)
    most = limit + boundary.count('recipient') + boundary.count('notice')
    rows: list[Row[Any]] = []
    for own in (TABLE.channel != str(Channel.WEBHOOK), TABLE.channel == str(Channel.WEBHOOK)):
        oldest = query.where(own).order_by(func.min(TABLE.due_at), *columns)
        rows += connection.execute(oldest.limit(most))
    # nobody sends one whose state is not known
    lost = select(notice_outbox).where(unknown_word(TABLE.state, (WAITING, SENT, GIVEN_UP)))
    sound_rows(connection, 'notice', connection.execute(lost.limit(limit)), _of_no_state, _number)
    return sound_rows(connection, 'recipient', rows, _recipient, _name)


def _of_no_state(row: Row[Any]) -> None:
    raise BadRow(f'state is {row.state!r:.80}: it must be {WAITING}, {SENT} or {GIVEN_UP}')


def _recipient(row: Row[Any]) -> Recipient:
    return Recipient(project_id=row.project_id, user_id=row.user_id, channel=Channel(row.channel))


def _name(row: Row[Any]) -> str:
    return f'{row.project_id}/{row.user_id}/{row.channel}'


def _number(row: Row[Any]) -> str:
    return str(row.number)


def _waiting(connection: Connection, recipient: Recipient) -> list[Queued]:
    query = select(notice_outbox).where(_of(recipient), TABLE.state == WAITING)
    given = query.order_by(TABLE.number), MOST_AT_ONCE, lambda row: _queued(row, recipient), _number
    return sound_page(connection, 'notice', *given)


def _recent(connection: Connection, recipient: Recipient, since: float) -> list[float]:
    ended = func.max(TABLE.done_at)
    query = select(ended).where(_of(recipient), TABLE.state == SENT, TABLE.done_at > since)
    return sorted(connection.execute(query.group_by(TABLE.message)).scalars())


def _claim(
    connection: Connection, batch: Sequence[Queued], message: str, now: float, again_at: float
) -> bool:
    first = batch[0]
    same = and_(TABLE.state == WAITING, TABLE.message == first.message, TABLE.tries == first.tries)
    numbers = [one.number for one in batch]
    # locked in one order: of two services one waits, and then finds them changed
    found = select(TABLE.number).where(TABLE.number.in_(numbers), same).order_by(TABLE.number)
    if len(list(connection.execute(found.with_for_update()))) != len(batch):
        return False
    values = {
        'message': message, 'tries': first.tries + 1, 'due_at': again_at,
        'tried_at': first.tried_at or now,
    }  # fmt: skip
    connection.execute(update(notice_outbox).where(TABLE.number.in_(numbers)).values(**values))
    return True


def _done(connection: Connection, batch: Sequence[Queued], now: float, state: str) -> None:
    numbers = [one.number for one in batch]
    values = {'state': state, 'done_at': now, 'payload': NOTHING}
    connection.execute(update(notice_outbox).where(TABLE.number.in_(numbers)).values(**values))


def _postpone(connection: Connection, recipient: Recipient, until: float) -> None:
    early = and_(TABLE.state == WAITING, TABLE.due_at < until)
    changed = update(notice_outbox).where(_of(recipient), early)
    connection.execute(changed.values(due_at=until))


def _purge(connection: Connection, before: float) -> int:
    over = and_(TABLE.state.in_((SENT, GIVEN_UP)), TABLE.done_at < before)
    query = select(TABLE.number).where(over).order_by(TABLE.number).limit(BATCH)
    found = list(connection.execute(query.with_for_update()).scalars())
    for part in slices(found):
        connection.execute(delete(notice_outbox).where(TABLE.number.in_(part)))
    return len(found)


def _counts(connection: Connection, since: float) -> dict[str, int]:
    recent = (TABLE.state == WAITING) | (TABLE.done_at > since)
    query = select(TABLE.state, func.count()).where(recent).group_by(TABLE.state)
    found = {state: int(count) for state, count in connection.execute(query)}
    return {state: found.get(state, 0) for state in (WAITING, SENT, GIVEN_UP)}


def _oldest(connection: Connection) -> float:
    query = select(func.min(TABLE.at)).where(TABLE.state == WAITING)
    return float(connection.execute(query).scalar() or 0.0)


def _queued(row: Row[Any], recipient: Recipient) -> Queued:
    made = Queued(
        number=row.number,
        recipient=recipient,
        target=row.target,
        key=row.key,
        event=row.event,
        project_id=row.of_project,
        at=row.at,
        payload=json.loads(row.payload),
        due_at=row.due_at,
        message=row.message,
        tries=row.tries,
        tried_at=row.tried_at,
    )
    return checked(made, QUEUED_BOUNDS)
