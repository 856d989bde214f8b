# SPDX-License-Identifier: Apache-2.0
"""How many requests were refused for their number, by all processes of the API, in the database."""

from collections.abc import Mapping
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, insert, select, update

from nova_market.db.api_tables import refused_requests
from nova_market.db.database import Database
from nova_market.db.sound_rows import sound_rows

COLUMNS = refused_requests.c


class DatabaseRefusals:
    """Implements ports.RefusalStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, counted: Mapping[tuple[str, str], int]) -> None:
        """Add to what is there, by (kind, project)."""
        self._database.write(_add, dict(counted))

    def totals(self) -> Mapping[tuple[str, str], int]:
        """All that was added, by (kind, project)."""
        return self._database.read(_totals)


def _add(connection: Connection, counted: Mapping[tuple[str, str], int]) -> None:
    # in one order everywhere: two processes that write the same rows do not wait for each other
    for (kind, project_id), count in sorted(counted.items()):
        own = (COLUMNS.kind == kind, COLUMNS.project_id == project_id)
        more = update(refused_requests).where(*own).values(total=COLUMNS.total + count)
        if connection.execute(more).rowcount:
            continue
        first = {'kind': kind, 'project_id': project_id, 'total': count}
        try:
            connection.execute(insert(refused_requests), first)
        except DBDuplicateEntry as error:
            raise RetryRequest(error) from error


def _totals(connection: Connection) -> dict[tuple[str, str], int]:
    rows = connection.execute(select(refused_requests))
    return dict(sound_rows(connection, 'refused requests', rows, _total, _name))


def _total(row: Row[Any]) -> tuple[tuple[str, str], int]:
    return (row.kind, row.project_id), int(row.total)


def _name(row: Row[Any]) -> str:
    return f'{row.kind} {row.project_id}'
