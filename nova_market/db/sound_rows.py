# SPDX-License-Identifier: Apache-2.0
"""Rows made values, each by itself: one that cannot be is set aside, and the others are there.

Implements rule R1 of doc/source/specs/passes.rst. The boundary is the database's, and comes with each
connection that it opens. Where a single row is asked for, its fault is an error.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, and_, or_

from nova_market.errors import BadRow
from nova_market.row_boundary import READ, RowBoundary, reason_of

Value = TypeVar('Value')

OPTION = 'row_boundary'
"""Of a connection."""


def id_of(row: Any) -> str:
    """Of a row that has one."""
    return str(row.id)


def unknown_word(column: ColumnElement[str], words: Iterable[str]) -> ColumnElement[bool]:
    """None of these words: by ranges, which an index serves, as it does not serve `not in` alone.

    So a row whose state is not known is read, and set aside, instead of being nobody's.
    """
    known = sorted(map(str, words))
    between = (and_(column > low, column < high) for low, high in pairwise(known))
    ranges = or_(column < known[0], *between, column > known[-1])
    # a database may have another order of letters
    return and_(ranges, column.not_in(known))


def boundary_of(connection: Connection) -> RowBoundary:
    """The boundary of the database that has opened this connection."""
    found = connection.get_execution_options().get(OPTION)
    return found if isinstance(found, RowBoundary) else RowBoundary()


def sound_rows(
    connection: Connection,
    kind: str,
    rows: Iterable[Any],
    value_of: Callable[[Any], Value],
    name_of: Callable[[Any], str] = id_of,
    stage: str = READ,
) -> list[Value]:
    """The values of these rows, in their order, without those that are set aside. kind: as SetAside.kind"""
    boundary = boundary_of(connection)
    found = []
    for row in rows:
        with boundary.row(kind, name_of(row), stage):
            found.append(value_of(row))
    return found


def filled(
    connection: Connection,
    query: Select[Any],
    limit: int,
    values_of: Callable[[Sequence[Any]], list[Value]],
) -> list[Value]:
    """The first values of a query: a row that is set aside takes nobody's place on a page.

    query: ordered; values_of: without those that are set aside, as sound_rows
    """
    found: list[Value] = []
    seen = 0
    while len(found) < limit:
        wanted = limit - len(found)
        rows = list(connection.execute(query.limit(wanted).offset(seen)))
        found += values_of(rows)
        seen += len(rows)
        if len(rows) < wanted:
            break
    return found


def sound_page(
    connection: Connection,
    kind: str,
    query: Select[Any],
    limit: int,
    value_of: Callable[[Any], Value],
    name_of: Callable[[Any], str] = id_of,
    stage: str = READ,
) -> list[Value]:
    """As `filled`, of rows that are each a value."""

    def values_of(rows: Sequence[Any]) -> list[Value]:
        return sound_rows(connection, kind, rows, value_of, name_of, stage)

    return filled(connection, query, limit, values_of)


def sound_row(
    connection: Connection,
    kind: str,
    row: Any,
    value_of: Callable[[Any], Value],
    name_of: Callable[[Any], str] = id_of,
    stage: str = READ,
) -> Value:
    """The value of a row.

    :raises BadRow: it is damaged; it is set aside too.
    """
    name = name_of(row)
    try:
        found = value_of(row)
    except Exception as error:
        boundary_of(connection).failed(kind, name, stage, error)
        raise BadRow(f'{kind} {name} cannot be read: {reason_of(error)}') from error
    boundary_of(connection).works(kind, name, stage)
    return found
