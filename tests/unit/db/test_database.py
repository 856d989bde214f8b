# SPDX-License-Identifier: Apache-2.0
"""One database object: how long it tries, what it logs, and who waits for whom on SQLite."""

import logging
import threading
import time

import pytest
from oslo_db.exception import DBConnectionError, DBDeadlock, DBDuplicateEntry, RetryRequest
from sqlalchemy import text
from sqlalchemy.exc import ResourceClosedError

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, account
from nova_market.db import database as module
from nova_market.db import schema
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.database import Database
from nova_market.errors import ConfigurationError, DatabaseUnavailable


@pytest.fixture
def database(tmp_path):
    """SQLite with the tables."""
    made = Database({'connection': f'sqlite:///{tmp_path}/market.sqlite'}, patience=5.0)
    schema.sync(made)
    yield made
    made.close()


@pytest.fixture
def away():
    """A database that does not answer, with oslo.db's defaults for trying."""
    made = Database(
        {
            'connection': 'mysql+pymysql://root@127.0.0.1:1/x',
            'max_retries': 10,
            'retry_interval': 10,
        },
        patience=0.5,
    )
    yield made
    made.close()


@pytest.mark.clock
def test_a_database_that_is_away_is_reported_in_time_and_once(away, caplog):
    """oslo.db's own tries do not multiply ours, and nothing is logged beside the error that is raised."""
    caplog.set_level(logging.WARNING)
    begun = time.monotonic()
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable, match='does not answer'):
            away.read(lambda connection: connection.execute(text('SELECT 1')))
    assert 1.0 <= time.monotonic() - begun < 8.0
    assert [record.name for record in caplog.records] == []


@pytest.mark.parametrize(
    ('url', 'why'),
    [
        ('mysql+cymysql://root@127.0.0.1:1/x', "No module named 'cymysql': install"),
        (
            'postgres://root@127.0.0.1:1/x',
            "Can't load plugin: sqlalchemy.dialects:postgres: give a",
        ),
        ('/var/lib/x.sqlite', 'Could not parse SQLAlchemy URL from given URL string: give a'),
        ('mysql+pymysql://root:SECRET', 'its port is no number: give a'),
    ],
)
def test_a_url_that_names_no_database_is_refused_at_once(url, why):
    """In one line without the password; also a driver that is missing, as none comes with the package."""
    with pytest.raises(ConfigurationError, match=f'^.database.connection: {why}') as refused:
        Database({'connection': url})
    assert 'SECRET' not in str(refused.value)


class Passing:
    """Time that passes when somebody waits."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


AWAY, ANSWER = 1.0, 4.0


@pytest.mark.parametrize(
    'tries', [[0.0] * 99, [4.0], [0.9, 4.0], [0.3] * 9, [*[0.0] * 5, *[4.0] * 2]]
)
def test_no_try_begins_when_the_time_is_over(tmp_path, monkeypatch, tries):
    """So nobody waits longer than that time and one answer, however the database is away."""
    clock = Passing()
    monkeypatch.setattr(module, 'time', clock)
    monkeypatch.setattr(module.random, 'uniform', lambda _, longest: longest)
    database = Database(
        {'connection': f'sqlite:///{tmp_path}/x'}, patience=40.0, away=AWAY, answer=ANSWER
    )
    waited = iter(tries)

    def work(connection):
        clock.now += next(waited)
        raise DBConnectionError(ConnectionError('away'))

    with pytest.raises(DatabaseUnavailable):
        database.read(work)
    database.close()
    assert AWAY <= clock.now <= AWAY + ANSWER


@pytest.mark.parametrize(
    'error',
    [
        DBDeadlock(),
        RetryRequest(DBDuplicateEntry()),
        ResourceClosedError('This Connection is closed'),
    ],
)
def test_work_is_tried_again_until_it_works(database, error):
    """After a deadlock, when it asks for it, and when SQLAlchemy's first look lost its connection."""
    errors = [error]

    def work(connection):
        if errors:
            raise errors.pop()
        return 7

    assert database.write(work) == 7


def test_work_that_asks_again_in_vain_fails_with_its_reason(tmp_path):
    """The error behind the request is raised, not the request."""
    database = Database({'connection': f'sqlite:///{tmp_path}/x'}, patience=0.0)

    def work(connection):
        raise RetryRequest(DBDuplicateEntry())

    with pytest.raises(DBDuplicateEntry):
        database.read(work)
    database.close()


def test_a_connection_that_is_lost_at_once_is_a_database_that_is_away(tmp_path):
    """SQLAlchemy has no error of databases for it."""
    database = Database({'connection': f'sqlite:///{tmp_path}/x'}, patience=0.0)

    def work(connection):
        raise ResourceClosedError('This Connection is closed')

    with pytest.raises(DatabaseUnavailable, match='does not answer: This Connection is closed'):
        database.read(work)
    database.close()


@pytest.mark.clock
def test_a_read_does_not_wait_for_a_writer(database):
    """WAL: while one writes, another reads what was there before."""
    accounts = DatabaseAccounts(database)
    writing, end, found = threading.Event(), threading.Event(), []

    def write(connection):
        connection.execute(text("UPDATE accounts SET name = 'x' WHERE id = 'bank'"))
        writing.set()
        assert end.wait(15)

    def read():
        found.append(accounts.account(BANK))

    threads = [
        threading.Thread(target=database.write, args=(write,)),
        threading.Thread(target=read),
    ]
    threads[0].start()
    assert writing.wait(5)
    threads[1].start()
    threads[1].join(3)
    waited = threads[1].is_alive()
    end.set()
    for thread in threads:
        thread.join(10)
    assert not waited and found == [Account(id=BANK)]
    assert accounts.account(BANK).name == 'x' and accounts.account(account('project', 'a')) is None


def test_writers_that_read_first_wait_for_each_other(database):
    """Each takes the write lock as it begins: none reads what another is about to change, none is refused."""
    together, attempts = threading.Barrier(2), []

    def add_one(connection):
        attempts.append(1)
        found = connection.execute(text("SELECT name FROM accounts WHERE id = 'bank'")).scalar()
        count = int(found) if found and found.isdigit() else 0
        connection.execute(
            text("UPDATE accounts SET name = :name WHERE id = 'bank'"), {'name': str(count + 1)}
        )

    def many():
        together.wait()
        for _ in range(50):
            database.write(add_one)

    threads = [threading.Thread(target=many) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert DatabaseAccounts(database).account(BANK).name == '100'
    assert len(attempts) == 100
