# SPDX-License-Identifier: Apache-2.0
"""Rows as no request can make them, as another version, a restored backup or a hand writes them."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import String, bindparam, cast, literal_column, select, text

from nova_market.core.set_aside import SetAside
from nova_market.db.database import Database
from nova_market.db.ledger_tables import Base
from nova_market.db.set_aside import DatabaseSetAside

NO_JSON = b'{"of": ['
UNKNOWN = 'frobbed'
"""A word that no version has had for a state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poison:
    """What becomes of one column of one row, and how its service names what it sets aside for that.

    kind: of the row that is set aside, which is a job where its attempts are what is poisoned
    stage: with which its stage begins
    name: of the row, where there are several to choose from
    heals: the pass writes over it; once: it is not due any more in the next pass, mended or not
    """

    table: str
    column: str
    value: Any
    kind: str
    stage: str = 'read'
    name: str = ''
    heals: bool = False
    once: bool = False

    def __str__(self) -> str:
        name = f'[{self.name}]' if self.name else ''
        return f'{self.table}{name}.{self.column}={self.value!r:.12}'


def poison(database: Database, one: Poison, where: str, **given: Any) -> Any:
    """Write it; what stood there. where: SQL for one row, with names of `given`."""
    column = Base.metadata.tables[one.table].c[one.column]

    def write(connection: Any) -> Any:
        name = connection.dialect.identifier_preparer.quote_identifier(one.column)
        query = select(literal_column(name)).select_from(text(one.table)).where(text(where))
        rows = connection.execute(query, given).scalars().all()
        assert len(rows) == 1, (one.table, where, given, rows)
        value = bindparam('poison', one.value, type_=cast(None, String).type)
        if isinstance(one.value, bytes):
            value = bindparam('poison', one.value, type_=column.type)
        change = text(f'UPDATE {one.table} SET {name} = :poison WHERE {where}')
        connection.execute(change.bindparams(value), given)
        return rows[0]

    return database.write(write)


def set_aside(database: Database, service: str) -> list[SetAside]:
    """What a service has set aside, as its owners and operators see it."""
    return list(DatabaseSetAside(database, lambda: 0.0).list(service=service))
