# SPDX-License-Identifier: Apache-2.0
"""Rows of tables whose key begins with the period, page by page in either direction."""

from typing import Any

from sqlalchemy import ColumnElement, Select, Table, or_, select


def in_periods(
    table: Table,
    first: int,
    last: int,
    second: ColumnElement[str] | None = None,
    after: str = '',
    chosen: ColumnElement[bool] | None = None,
    *,
    newest_first: bool,
) -> Select[Any]:
    """Rows of the periods first to last, inclusive, by period and, within one, by the column `second`.

    after: of `second` in the last row of a page that ended within the period that is read first
    chosen: only where this holds
    """
    period = table.c.period
    query = select(table).where(period.between(first, last))
    if chosen is not None:
        query = query.where(chosen)
    order: list[ColumnElement[Any]] = [period.desc() if newest_first else period]
    if second is not None:
        order.append(second)
        if after:
            query = query.where(or_(period != (last if newest_first else first), second > after))
    return query.order_by(*order)
