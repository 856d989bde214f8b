# SPDX-License-Identifier: Apache-2.0
"""Tables of events: of each thing the newest ones are kept."""

from sqlalchemy import ColumnElement, Connection, Table, delete, select


def keep_newest(connection: Connection, table: Table, mine: ColumnElement[bool], most: int) -> None:
    """Delete all but the newest `most` of the events that `mine` selects; `id` grows with time."""
    newest = select(table.c.id).where(mine).order_by(table.c.id.desc()).offset(most).limit(1)
    last = connection.execute(newest).scalar()
    if last is not None:
        connection.execute(delete(table).where(mine, table.c.id <= last))
