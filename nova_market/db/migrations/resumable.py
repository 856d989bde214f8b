# SPDX-License-Identifier: Apache-2.0
"""What every migration may use: tables and indexes that are made unless they are there, and types.

MariaDB commits each table by itself, so an interrupted run is completed by running again. What is here must
keep its meaning: migrations of years ago use it.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import MEDIUMBLOB

COUNTER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
CONTENT = sa.LargeBinary().with_variant(MEDIUMBLOB(), 'mysql', 'mariadb')
TABLE: dict[str, Any] = {
    f'{dialect}_{option}': value
    for dialect in ('mysql', 'mariadb')
    for option, value in (('engine', 'InnoDB'), ('charset', 'utf8mb4'), ('collate', 'utf8mb4_bin'))
}


def create(name: str, *columns: sa.schema.SchemaItem, **options: bool) -> None:
    """A table, unless it is there."""
    if not sa.inspect(op.get_bind()).has_table(name):
        op.create_table(name, *columns, **TABLE, **options)


def add(table: str, column: sa.Column[Any]) -> None:
    """A column, unless it is there."""
    if column.name not in {there['name'] for there in sa.inspect(op.get_bind()).get_columns(table)}:
        op.add_column(table, column)


def index(name: str, table: str, columns: list[str]) -> None:
    """An index, unless it is there."""
    if name not in {i['name'] for i in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns)
