# SPDX-License-Identifier: Apache-2.0
"""What the service of jobs carries from one pass to the next, and across restarts: documents by name.

For SVMSched, section 5.2.1 (the order in which queues are served), and rule F5 of doc/source/specs/jobs.rst.
"""

import json
from collections.abc import Mapping
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, insert, select, update

from nova_market.db.apps import packed
from nova_market.db.database import Database
from nova_market.db.job_tables import job_states


class DatabaseJobStates:
    """Implements ports.JobStateStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Mapping[str, Any]:
        """What was written last under this name; {}: nothing yet."""
        return self._database.read(_read, name)

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Keep it in place of what is there."""
        self._database.write(_write, name, packed(document))


def _read(connection: Connection, name: str) -> dict[str, Any]:
    query = select(job_states.c.document).where(job_states.c.name == name)
    found = connection.execute(query).scalar()
    return dict(json.loads(found)) if found else {}


def _write(connection: Connection, name: str, document: bytes) -> None:
    own = job_states.c.name == name
    there = connection.execute(select(job_states.c.name).where(own).with_for_update()).first()
    if there:
        connection.execute(update(job_states).where(own).values(document=document))
        return
    try:
        connection.execute(insert(job_states).values(name=name, document=document))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
