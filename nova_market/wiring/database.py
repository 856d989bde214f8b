# SPDX-License-Identifier: Apache-2.0
"""Opens the configured database."""

import logging
import time
from collections.abc import Callable, Sequence

from oslo_config import cfg

from nova_market.core.set_aside import SetAside
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.set_aside import DatabaseSetAside
from nova_market.errors import DatabaseUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock
from nova_market.services.set_aside import SetAsideReport

LOG = logging.getLogger(__name__)


def connect(conf: cfg.ConfigOpts) -> Database:
    """The configured database; nothing is opened before it is used."""
    return Database(dict(conf.database))


FIRST_PAUSE, LONGEST_PAUSE = 1.0, 15.0
"""Seconds between two looks for a database at start; each is twice as long as the one before."""

API_AWAY, API_ANSWER = 1.0, 4.0
"""Seconds: somebody waits for the API, and its threads are few. A try that begins at the last moment and
waits for its answer ends within five seconds, so a request whose database is away is answered by then (Q4
of doc/source/specs/market.rst)."""


def connect_api(conf: cfg.ConfigOpts) -> Database:
    """The same for the API."""
    return Database(dict(conf.database), away=API_AWAY, answer=API_ANSWER)


def ready(conf: cfg.ConfigOpts) -> Database:
    """The database, with the tables that this version needs.

    :raises SchemaBehind: it has others.
    """
    database = connect(conf)
    schema.check(database)
    return database


def awaited(conf: cfg.ConfigOpts, sleep: Callable[[float], None] = time.sleep) -> Database:
    """The same for a service: it waits for a database that does not answer yet, and reports it once.

    :raises SchemaBehind: the database has other tables.
    """
    outage = OutageLog(
        LOG,
        lost='the service waits to start',
        back='the database answers, the service starts',
    )
    database, pause = connect(conf), FIRST_PAUSE
    while True:
        try:
            schema.check(database)
        except DatabaseUnavailable as error:
            outage.failed(error)
            sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            outage.works()
            return database


def set_aside_of(service: str, database: Database) -> Sequence[SetAside]:
    """What a service has set aside of this database, as it was kept last."""
    return DatabaseSetAside(database, time.time).list(service=service)


def set_aside_report(service: str, database: Database, clock: Clock) -> SetAsideReport:
    """What a service has set aside of this database, kept in it."""
    return SetAsideReport(service, database.boundary, DatabaseSetAside(database, clock.wall))
