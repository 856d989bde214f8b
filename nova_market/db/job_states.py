# SPDX-License-Identifier: Apache-2.0
"""What the service of jobs carries from one pass to the next, and across restarts: documents by name.

For SVMSched, section 5.2.1 (the order in which queues are served), and rule F5 of doc/source/specs/jobs.rst.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, insert, select, update

from nova_market.core.notice.notice import Notice
from nova_market.db.apps import packed
from nova_market.db.database import Database
from nova_market.db.job_tables import job_states
from nova_market.db.notice_queue import queue_notices
from nova_market.db.sound_rows import boundary_of
from nova_market.row_boundary import READ

PARSE = 'parse'
"""Stage of whoever has read a document, and makes of it what it needs."""


class DatabaseJobStates:
    """Implements ports.JobStateStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Mapping[str, Any]:
        """What was written last under this name; {}: nothing yet, or what cannot be read."""
        return self._database.read(_read, name)

    def newer(self, name: str, known: int) -> tuple[int, Mapping[str, Any] | None]:
        """(version of what was written last, and what it is; None: it has the version that is known).

        {}: nothing yet, or what cannot be read
        """
        return self._database.read(_newer, name, known)

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Keep it in place of what is there."""
        self._database.write(_write, name, packed(document))

    def exchange(
        self,
        name: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        notices: Sequence[Notice] = (),
    ) -> bool:
        """Keep `after` if `before` is there still; whether it was.

        notices: queued in the same transaction for those who want them by mail or to a webhook
        """
        given = packed(before), packed(after), tuple(notices)
        return self._database.write(_exchange, name, *given)


def _read(connection: Connection, name: str) -> dict[str, Any]:
    query = select(job_states.c.document).where(job_states.c.name == name)
    found = connection.execute(query).scalar()
    return _parsed(connection, name, found) if found else {}


def _parsed(connection: Connection, name: str, document: bytes) -> dict[str, Any]:
    """{}: it cannot be read, and is set aside."""
    with boundary_of(connection).row('document', name, READ):
        return dict(json.loads(document))
    return {}


def _newer(connection: Connection, name: str, known: int) -> tuple[int, dict[str, Any] | None]:
    own = job_states.c.name == name
    if known and connection.execute(select(job_states.c.version).where(own)).scalar() == known:
        return known, None
    row = connection.execute(select(job_states.c.version, job_states.c.document).where(own)).first()
    return (int(row.version), _parsed(connection, name, row.document)) if row else (0, {})


def _write(connection: Connection, name: str, document: bytes) -> None:
    _put(connection, name, document, there=_locked(connection, name) is not None)


def _exchange(
    connection: Connection, name: str, before: bytes, after: bytes, notices: Sequence[Notice]
) -> bool:
    there = _locked(connection, name)
    if (packed({}) if there is None else there) != before:
        return False
    _put(connection, name, after, there=there is not None)
    queue_notices(connection, notices)
    return True


def _locked(connection: Connection, name: str) -> bytes | None:
    query = select(job_states.c.document).where(job_states.c.name == name).with_for_update()
    found = connection.execute(query).scalar()
    return None if found is None else bytes(found)


def _put(connection: Connection, name: str, document: bytes, *, there: bool) -> None:
    boundary_of(connection).works('document', name, READ, PARSE)
    if there:
        own = job_states.c.name == name
        changed = {'document': document, 'version': job_states.c.version + 1}
        connection.execute(update(job_states).where(own).values(**changed))
        return
    try:
        connection.execute(insert(job_states).values(name=name, document=document, version=1))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
