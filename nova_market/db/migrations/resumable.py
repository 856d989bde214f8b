# SPDX-License-Identifier: Apache-2.0
"""What every migration may use: what is made unless it is there (tables, columns, indexes, rows), and types.

MariaDB commits each table by itself, so an interrupted run is completed by running again. What is here must
keep its meaning: migrations of years ago use it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMBLOB

from nova_market.errors import ConfigurationError

COUNTER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
CONTENT = sa.LargeBinary().with_variant(MEDIUMBLOB(), 'mysql', 'mariadb')
TABLE: dict[str, Any] = {
    f'{dialect}_{option}': value
    for dialect in ('mysql', 'mariadb')
    for option, value in (('engine', 'InnoDB'), ('charset', 'utf8mb4'), ('collate', 'utf8mb4_bin'))
}


def create(name: str, *columns: sa.schema.SchemaItem, **options: bool) -> None:
    """A table, unless it is there.

    :raises ConfigurationError: there is one of this name that is another.
    """
    if not sa.inspect(op.get_bind()).has_table(name):
        op.create_table(name, *columns, **TABLE, **options)
        return
    needed = {column.name for column in columns if isinstance(column, sa.Column)}
    if lacking := needed - _columns(name):
        raise ConfigurationError(
            f'table {name} is there without {", ".join(sorted(lacking)):.200}: it is of another program, or '
            'of the interrupted first sync of an earlier version; rename or drop it, or use another database'
        )


def add(table: str, column: sa.Column[Any]) -> None:
    """A column, unless it is there."""
    if column.name not in _columns(table):
        op.add_column(table, column)


def allow_nothing(
    table: str,
    columns: Mapping[str, sa.types.TypeEngine[Any]],
    checks: Sequence[sa.CheckConstraint] = (),
) -> None:
    """Columns that may be empty from now on, by name with their type.

    checks: all that the table has: SQLite, which cannot change a column, makes it anew and forgets them
    """
    with op.batch_alter_table(table, table_args=tuple(checks)) as batch:
        for name, kind in columns.items():
            batch.alter_column(name, existing_type=kind, nullable=True)


def _columns(table: str) -> set[str]:
    return {column['name'] for column in sa.inspect(op.get_bind()).get_columns(table)}


def index(name: str, table: str, columns: list[str]) -> None:
    """An index, unless it is there."""
    if name not in {i['name'] for i in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns)


def row(table: str, key: str, **values: object) -> None:
    """A row, unless there is one with this key, which is the name of a column."""
    made = sa.table(table, *map(sa.column, values))
    there = sa.select(made.c[key]).where(made.c[key] == values[key])
    if op.get_bind().execute(there).first() is None:
        op.get_bind().execute(made.insert().values(values))
