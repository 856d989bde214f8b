# SPDX-License-Identifier: Apache-2.0
"""Databases to test with: SQLite always, MariaDB and PostgreSQL where the test is `integration`.

A folder's conftest.py imports the fixtures. A server takes three to eight seconds to start, so one serves
the whole run, and its tables are emptied for each test; a SQLite database is the copy of one with the tables.
None of them waits for the disk: processes are killed here, but no machine loses its power.
"""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from nova_market.db import (
    api_tables,
    app_tables,
    bag_tables,
    lease_tables,
    notice_tables,
    offer_tables,
    power_tables,
    schema,
    set_aside_tables,
)
from nova_market.db.database import Database
from nova_market.db.job_tables import job_hosts
from nova_market.db.ledger_tables import Base, accounts, horizons
from nova_market.testbed.database_server import DatabaseServer, MariaDb, PostgreSql

SERVERS: dict[str, type[DatabaseServer]] = {'mariadb': MariaDb, 'postgresql': PostgreSql}
REAL = [
    pytest.param('mariadb', marks=pytest.mark.integration('mariadbd', 'setpriv')),
    pytest.param('postgresql', marks=pytest.mark.integration('pg_ctlcluster', 'setpriv')),
]
ALL = ['sqlite', *REAL]

NO_WAIT = {'sqlite_synchronous': False}
"""Options of a SQLite database that does not wait for the disk; others ignore them."""

assert {'bags', 'bids', 'leases', 'notice_outbox', 'offers', 'set_aside'} <= set(
    Base.metadata.tables
), (
    api_tables,
    app_tables,
    bag_tables,
    lease_tables,
    notice_tables,
    offer_tables,
    power_tables,
    set_aside_tables,
)

_running: dict[str, DatabaseServer] = {}


@pytest.fixture(scope='session')
def servers() -> Iterator[dict[str, DatabaseServer]]:
    """Servers that were started so far."""
    yield _running
    while _running:
        _running.popitem()[1].close()


@pytest.fixture(scope='session')
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the tables and nothing in them but the cloud's own accounts, to be copied."""
    path = tmp_path_factory.mktemp('tables') / 'empty.sqlite'
    made = Database({'connection': f'sqlite:///{path}', **NO_WAIT})
    schema.sync(made)
    made.close()
    return path


@pytest.fixture(params=ALL)
def database_server(
    request: pytest.FixtureRequest, servers: dict[str, DatabaseServer]
) -> DatabaseServer | None:
    """The server behind `database`; None for SQLite."""
    kind = request.param
    if kind == 'sqlite':
        return None
    if kind not in servers:
        servers[kind] = SERVERS[kind]().__enter__()
    return servers[kind]


@pytest.fixture
def url(database_server: DatabaseServer | None, tmp_path: Path) -> str:
    """[database]connection; what is in there is of no account."""
    return f'sqlite:///{tmp_path}/market.sqlite' if database_server is None else database_server.url


def drop_tables(database: Database) -> None:
    """All of ours, with all that is in them."""
    with database.engine.begin() as connection:
        Base.metadata.drop_all(connection)
        connection.execute(text('DROP TABLE IF EXISTS alembic_version'))


@pytest.fixture
def empty(url: str) -> Iterator[Database]:
    """A database without tables."""
    made = Database({'connection': url})
    drop_tables(made)
    yield made
    made.close()


@pytest.fixture
def database(url: str, empty_tables: Path) -> Iterator[Database]:
    """A database with the tables, and nothing in them but the cloud's own accounts."""
    made = Database({'connection': url, 'max_pool_size': 20, 'max_overflow': 200, **NO_WAIT})
    if url.startswith('sqlite'):
        shutil.copy(empty_tables, url.removeprefix('sqlite:///'))
    else:
        if schema.version(made) != newest():
            drop_tables(made)
            schema.sync(made)
        empty_all(made)
    yield made
    made.close()


@functools.cache
def newest() -> str:
    """The revision that the tables should be at; alembic reads all migrations for it."""
    return schema.newest()


def empty_all(database: Database) -> None:
    """Delete everything that is in the tables but the cloud's own accounts."""
    with database.engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
        connection.execute(accounts.insert(), [{'id': n} for n in ('bank', 'escrow', 'mint')])
        connection.execute(horizons.insert(), {'name': 'postings'})
        connection.execute(job_hosts.insert(), {'name': 'largest', 'sizes': b''})


class Wall:
    """A clock that a test sets."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
