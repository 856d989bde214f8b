# SPDX-License-Identifier: Apache-2.0
"""What users want to get of events, in the database.

Implements rule N2 of doc/source/specs/notices.rst. What waits for an address that is not wanted any more is
removed with it; what was sent there stays and counts.
"""

from collections.abc import Callable, Sequence

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from nova_market.core.notice.notice import Notice
from nova_market.core.notice.preference import MAX_STOPPED, Channel, Preference, confirms
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE
from nova_market.db.notice_queue import (
    WAITING,
    outbox_row,
    preference_values,
    stored_preference,
    user_of,
)
from nova_market.db.notice_tables import notice_outbox, notice_preferences
from nova_market.db.sound_rows import sound_page, sound_row
from nova_market.errors import TooManyCodes

DAY = 86_400.0


class DatabaseNotices:
    """Implements ports.NoticeStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def preferences(
        self, project_id: str | None, user_id: str | None, after: tuple[str, str], limit: int
    ) -> Sequence[Preference]:
        """By project and user, those behind `after`; None: of all projects, of all users."""
        given = project_id, user_id, after, min(limit, MAX_PAGE)
        return self._database.read(_page, *given)

    def preference(self, project_id: str, user_id: str) -> Preference | None:
        """What a user wants to get of a project; None: nothing."""
        return self._database.read(_one, project_id, user_id)

    def set(self, preference: Preference, code: Notice | None, most: int) -> None:
        """Store it in place of what is there. code: what confirms its address is sent there.

        :raises TooManyCodes: the address has got, or the user has asked for, `most` codes within a day.
        """
        self._database.write(_set, preference, code, most, self._wall())

    def confirm(self, project_id: str, user_id: str, code: str) -> Preference | None:
        """Confirm an address by its code; what is stored then, None: the code is wrong or too old."""
        return self._database.write(_confirm, project_id, user_id, code, self._wall())

    def stop(self, project_id: str, user_id: str, why: str) -> bool:
        """Note why nothing is sent to this user, '': something is; whether that is news."""
        return self._database.write(_stop, project_id, user_id, why[:MAX_STOPPED])

    def unset(self, project_id: str, user_id: str) -> bool:
        """Send nothing more; whether there was something to send."""
        return self._database.write(_unset, project_id, user_id)


def _own(project_id: str, user_id: str) -> ColumnElement[bool]:
    table = notice_preferences.c
    return and_(table.project_id == project_id, table.user_id == user_id)


def _one(connection: Connection, project_id: str, user_id: str) -> Preference | None:
    query = select(notice_preferences).where(_own(project_id, user_id))
    row = connection.execute(query).first()
    return sound_row(connection, 'preference', row, stored_preference, user_of) if row else None


def _page(
    connection: Connection,
    project_id: str | None,
    user_id: str | None,
    after: tuple[str, str],
    limit: int,
) -> list[Preference]:
    table = notice_preferences.c
    query = select(notice_preferences)
    if project_id is not None:
        query = query.where(table.project_id == project_id)
    if user_id is not None:
        query = query.where(table.user_id == user_id)
    behind = and_(table.project_id == after[0], table.user_id > after[1])
    query = query.where(or_(table.project_id > after[0], behind))
    query = query.order_by(table.project_id, table.user_id)
    return sound_page(connection, 'preference', query, limit, stored_preference, user_of)


def _set(
    connection: Connection, preference: Preference, code: Notice | None, most: int, now: float
) -> None:
    own = _own(preference.project_id, preference.user_id)
    values = preference_values(preference)
    changed = update(notice_preferences).where(own).values(**values)
    if not connection.execute(changed).rowcount:
        try:
            connection.execute(insert(notice_preferences).values(**values))
        except DBDuplicateEntry as error:
            raise RetryRequest(error) from error
    targets = [target for _, target in preference.targets()]
    _forget(connection, preference.project_id, preference.user_id, targets)
    if code is None:
        return
    if _codes(connection, preference, now - DAY) >= most:
        raise TooManyCodes(
            f'mail: {most} codes were sent to this address, or for you, within a day: use the newest one, '
            'or try again tomorrow'
        )
    row = outbox_row(preference, Channel.CONFIRM, preference.mail, code, code.at)
    connection.execute(insert(notice_outbox).values(**row))


def _codes(connection: Connection, preference: Preference, since: float) -> int:
    """How many codes were made since then for this user or this address, whichever are more."""
    table = notice_outbox.c
    recent = and_(table.channel == str(Channel.CONFIRM), table.at > since)
    count = select(func.count()).select_from(notice_outbox)
    who = and_(recent, table.user_id == preference.user_id)
    where = and_(recent, func.lower(table.target) == preference.mail.lower())
    return max(int(connection.execute(count.where(one)).scalar() or 0) for one in (who, where))


def _confirm(
    connection: Connection, project_id: str, user_id: str, code: str, now: float
) -> Preference | None:
    found = _one(connection, project_id, user_id)
    if found is None or not confirms(found, code, now):
        return None
    values = {'confirmed': True, 'code_hash': '', 'code_until': 0.0}
    own = _own(project_id, user_id)
    connection.execute(update(notice_preferences).where(own).values(**values))
    return _one(connection, project_id, user_id)


def _stop(connection: Connection, project_id: str, user_id: str, why: str) -> bool:
    other = and_(_own(project_id, user_id), notice_preferences.c.stopped != why)
    changed = update(notice_preferences).where(other).values(stopped=why)
    return bool(connection.execute(changed).rowcount)


def _unset(connection: Connection, project_id: str, user_id: str) -> bool:
    _forget(connection, project_id, user_id, ())
    own = _own(project_id, user_id)
    return bool(connection.execute(delete(notice_preferences).where(own)).rowcount)


def _forget(connection: Connection, project_id: str, user_id: str, targets: Sequence[str]) -> None:
    """Remove what waits for other addresses than these. Codes are sent all the same: they count."""
    table = notice_outbox.c
    own = and_(table.project_id == project_id, table.user_id == user_id, table.state == WAITING)
    others = and_(table.channel != str(Channel.CONFIRM), table.target.not_in(targets))
    connection.execute(delete(notice_outbox).where(own, others))
