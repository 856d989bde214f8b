# SPDX-License-Identifier: Apache-2.0
"""One database: transactions that are tried again, on SQLite, MariaDB, MySQL and PostgreSQL.

Work is a function of a connection. It runs in one transaction, which commits when it returns and rolls back
when it raises; after a deadlock, a lock that was not had in time, or a lost connection, it runs again from
the start. A commit whose answer got lost may have happened, so work must change nothing when it
finds itself done: postings by their key, states by comparing before they set (rule M2).

Trying again is ours alone, for a bounded time: oslo.db's own test of a new engine ([database]max_retries,
retry_interval) would multiply it and hold every thread that waits for the engine, and its decorator logs a
traceback for each call that fails. Whoever catches the error of ours reports it, once.
"""

import logging
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, TypeVar

from oslo_db import exception as oslo_error
from oslo_db.sqlalchemy import enginefacade
from sqlalchemy import Connection, Engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, ResourceClosedError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from nova_market.db.connection_pool import ANSWER, PARAMETER
from nova_market.db.sound_rows import OPTION
from nova_market.errors import ConfigurationError, DatabaseUnavailable, SchemaBehind
from nova_market.row_boundary import RowBoundary

Result = TypeVar('Result')
Work = Callable[Concatenate[Connection, ...], Result]

SQLITE_BUSY_MS = 30_000
PATIENCE = 40.0
"""Seconds for which work is tried again: a restart of the database is waited for, a dead one is reported."""

POOL_SECONDS = 30.0
"""For which a connection of the pool is waited for; SQLAlchemy's default."""

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0

BUSY = re.compile(
    r'database (table )?is locked'  # SQLite: another process writes
    r'|Record has changed since last read'  # MariaDB 11, innodb_snapshot_isolation
    r'|could not serialize access|deadlock detected'  # PostgreSQL
    r'|Lock wait timeout exceeded',
    re.IGNORECASE,
)
"""Others work on the same rows."""

AWAY = re.compile(
    r'the database system is (starting up|shutting down|in recovery mode|not yet accepting)'
    r'|terminating connection|server closed the connection|connection .*closed'
    r"|Connection refused|Can't connect|Lost connection|gone away|No such file or directory"
    r'|connection to server .* failed|timeout expired'  # libpq
    r'|Server shutdown in progress|canceling statement due to statement timeout',
    re.IGNORECASE,
)
"""It does not answer."""

REFUSED = re.compile(
    r'\b(1044|1045|1698)\b.*denied'  # MariaDB and MySQL
    r'|authentication failed|no password supplied|no pg_hba\.conf entry|role ".*" does not exist',
    re.IGNORECASE,
)
"""It answers, and does not let the account in."""

NAMED = oslo_error.DBError | DBAPIError | ResourceClosedError
"""SQLAlchemy says that a connection is closed when it loses one with its first look at a database."""

NO_TABLE = re.compile(
    r'no such (table|column)|\b1146\b|\b1054\b|does not exist|Unknown column', re.I
)


class Database:
    """The configured database. Connects at first use; one object serves all threads of a process."""

    def __init__(
        self,
        options: Mapping[str, object],
        patience: float = PATIENCE,
        away: float | None = None,
        answer: float | None = None,
    ) -> None:
        """options: as group [database] of oslo.db has them; at least `connection`.

        patience: seconds for which work is tried again; away: the same while the database does not answer
        answer:   seconds in which it has to answer; None: what the driver waits, which may be without end

        :raises ConfigurationError: the URL is none, or its driver is not installed.
        """
        _check_url(str(options['connection']))
        # a warning with a traceback for each error that oslo.db cannot name, which is raised as well
        logging.getLogger('oslo_db.sqlalchemy.exc_filters').setLevel(logging.ERROR)
        self._manager = enginefacade.transaction_context()
        given = {name: value for name, value in options.items() if name in ENGINE_OPTIONS}
        parameters = [str(given.get('connection_parameters') or ''), PARAMETER]
        if answer is not None:
            parameters.append(f'{ANSWER}={answer:g}')
            given['pool_timeout'] = min(
                float(str(given.get('pool_timeout') or POOL_SECONDS)), answer
            )
        ours = {
            'connection_parameters': '&'.join(filter(None, parameters)),
            'sqlite_fk': True,
            'max_retries': 0,
            'thread_checkin': False,  # yields to other threads of eventlet, which we have none of
        }
        self._manager.configure(**given | ours)
        self._manager.append_on_engine_create(_prepare)
        self._patience = patience
        self._away = patience if away is None else away
        self.boundary = RowBoundary()
        """Of all rows that are read of it; services have their own steps in it too."""

    @property
    def engine(self) -> Engine:
        """For migrations and tests.

        :raises DatabaseUnavailable: no connection.
        """
        with translated():
            engine: Engine = self._manager.writer.get_engine()
            return engine

    def read(self, work: Work[Result], *arguments: Any) -> Result:
        """Run `work(connection, *arguments)` and return its result.

        :raises DatabaseUnavailable: it does not answer, also after several tries.
        :raises SchemaBehind: a table is missing.
        """
        return self._run(self._manager.reader, work, arguments, writes=False)

    def write(self, work: Work[Result], *arguments: Any) -> Result:
        """The same in a transaction that may write; errors as in read."""
        return self._run(self._manager.writer, work, arguments, writes=True)

    def close(self) -> None:
        """Let go of all connections."""
        if self._manager.is_started:
            self._manager.dispose_pool()

    def _run(
        self, manager: Any, work: Work[Result], arguments: tuple[Any, ...], *, writes: bool
    ) -> Result:
        def once() -> Result:
            with _transaction(manager.get_engine(), writes=writes) as connection:
                connection.execution_options(**{OPTION: self.boundary})
                return work(connection, *arguments)

        with translated():
            now = time.monotonic()
            return _again(once, now + self._patience, now + self._away)


@contextmanager
def _transaction(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    """Commits at its end, and rolls back after an exception; what only reads has nothing to commit.

    A writer takes SQLite's one write lock as it begins, and waits for it: a transaction that reads before it
    writes would be refused at once when another one wrote in between.
    """
    with engine.connect() as connection:
        immediate = writes and engine.dialect.name == 'sqlite'
        if immediate:
            # oslo.db begins transactions of SQLite itself, except where it finds this mark
            connection.info['in_transaction'] = True
        try:
            with connection.begin() as transaction:
                if immediate:
                    connection.exec_driver_sql('BEGIN IMMEDIATE')
                yield connection
                if not writes:
                    transaction.rollback()
        except BaseException:
            _leave_nothing(connection)
            raise


def _leave_nothing(connection: Connection) -> None:
    """For whoever gets the connection next: SQLAlchemy takes a COMMIT that has failed for an end."""
    if connection.invalidated:
        return
    connection.info.pop('in_transaction', None)
    try:
        connection.connection.rollback()
    except Exception:
        connection.invalidate()


def _again(once: Callable[[], Result], end: float, away: float) -> Result:
    """Call it until it works, fails for good, or fails after `end`. Pauses grow, each of random length.

    away: the same as `end` for a database that does not answer
    """
    longest = FIRST_PAUSE
    while True:
        limit = end
        try:
            return once()
        except oslo_error.RetryRequest as error:
            if time.monotonic() >= end:
                raise error.inner_exc from error
        except Exception as error:
            limit = away if is_away(error) else end
            if not passes(error) or time.monotonic() >= limit:
                raise
        # no try begins after its limit: each may take as long as an answer may
        left = max(limit - time.monotonic(), 0.0)
        time.sleep(min(random.uniform(0, longest), left))
        longest = min(2 * longest, LONGEST_PAUSE)


ENGINE_OPTIONS = frozenset(
    {
        'connection', 'slave_connection', 'sqlite_synchronous', 'mysql_sql_mode', 'connection_recycle_time',
        'max_pool_size', 'max_overflow', 'connection_debug', 'connection_trace', 'pool_timeout',
        'connection_parameters',
    }
)  # fmt: skip


def passes(error: Exception) -> bool:
    """Whether trying again may help, at once: an account that is refused stays so for longer than a call."""
    if is_refused(error):
        return False
    if isinstance(error, oslo_error.DBDeadlock) or is_away(error):
        return True
    return isinstance(error, NAMED) and bool(BUSY.search(str(error)))


def is_refused(error: Exception) -> bool:
    """Whether the database does not let the account of [database]connection in."""
    return isinstance(error, NAMED) and bool(REFUSED.search(str(error).partition('\n')[0]))


def is_away(error: Exception) -> bool:
    """Whether the database does not answer; else others work on the same rows."""
    if isinstance(error, PoolTimeout | oslo_error.DBConnectionError):
        return True
    return isinstance(error, NAMED) and bool(AWAY.search(str(error)))


def _check_url(url: str) -> None:
    """Loads the driver, and opens nothing. What is said of the URL has nothing that can be its password."""
    example = 'give a URL, for example mysql+pymysql://USER:PASSWORD@HOST/NAME'
    try:
        make_url(url).get_dialect().import_dbapi()
    except ArgumentError as error:
        raise ConfigurationError(f'[database]connection: {error}: {example}') from error
    except ValueError:
        raise ConfigurationError(
            f'[database]connection: its port is no number: {example}'
        ) from None
    except ImportError as error:
        raise ConfigurationError(
            f'[database]connection: {error}: install the driver that the URL names, for example PyMySQL'
        ) from error


def _prepare(engine: Engine) -> None:
    """Readers of SQLite do not wait for a writer (WAL), writers wait for each other."""
    if engine.dialect.name != 'sqlite':
        return

    @event.listens_for(engine, 'connect')
    def connected(connection: Any, _record: object) -> None:
        connection.execute(f'PRAGMA busy_timeout = {SQLITE_BUSY_MS}')
        connection.execute('PRAGMA journal_mode = WAL')


@contextmanager
def loose_references(connection: Connection) -> Iterator[None]:
    """No foreign key is enforced meanwhile on SQLite, which changes a table by making it anew.

    connection: without a transaction
    """
    if connection.dialect.name != 'sqlite':
        yield
        return
    driver = connection.connection.cursor()
    driver.execute('PRAGMA foreign_keys = OFF')
    try:
        yield
    finally:
        driver.execute('PRAGMA foreign_keys = ON')
        driver.close()


@contextmanager
def translated() -> Iterator[None]:
    """Errors of the database as errors of ours."""
    try:
        yield
    except (
        oslo_error.DBError, DBAPIError, PoolTimeout, ResourceClosedError, oslo_error.CantStartEngineError,
    ) as error:  # fmt: skip
        reason = str(error).splitlines()[0]
        gone = oslo_error.DBConnectionError | oslo_error.DBNonExistentDatabase | PoolTimeout
        if is_refused(error):
            raise DatabaseUnavailable(
                f'the database refuses the user and password of [database]connection: {reason}'
            ) from error
        if isinstance(error, gone) or passes(error):
            raise DatabaseUnavailable(f'the database does not answer: {reason}') from error
        if isinstance(error, oslo_error.DBNonExistentTable) or NO_TABLE.search(reason):
            raise SchemaBehind(f'{reason}: run "nova-market-manage db sync"') from error
        raise
