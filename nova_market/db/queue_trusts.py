# SPDX-License-Identifier: Apache-2.0
"""Trusts that queues had before their present ones, until they are ended."""

from sqlalchemy import Connection, delete, select

from nova_market.db.job_tables import job_queue_trusts


def replaced_trusts(connection: Connection) -> dict[str, list[str]]:
    """By queue."""
    found: dict[str, list[str]] = {}
    table = job_queue_trusts
    for row in connection.execute(select(table).order_by(table.c.queue_id, table.c.trust_id)):
        found.setdefault(row.queue_id, []).append(row.trust_id)
    return found


def trust_ended(connection: Connection, trust_id: str) -> None:
    """Forget one."""
    table = job_queue_trusts
    connection.execute(delete(table).where(table.c.trust_id == trust_id))
