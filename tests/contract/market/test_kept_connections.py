# SPDX-License-Identifier: Apache-2.0
"""Connections to a database are kept: what one transaction leaves there is nothing to the next one."""

import pytest
from oslo_db.exception import DBError
from sqlalchemy import event, text

from nova_market.core.ledger.posting import BANK
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.database import Database
from tests.support.servers.databases import REAL

RENAME = text("UPDATE accounts SET name = 'new' WHERE id = 'bank'")
LOSE = {
    'mysql': 'SELECT CONCAT("KILL ", id) FROM information_schema.processlist WHERE id <> CONNECTION_ID()',
    'postgresql': (
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() '
        'AND datname = current_database()'
    ),
}


def renamed(connection):
    connection.execute(RENAME)


def test_one_connection_serves_transaction_after_transaction(database):
    """Also of SQLite, where to open the file takes longer than to read from it."""
    opened = []
    event.listen(database.engine, 'connect', lambda *_: opened.append(1))
    accounts = DatabaseAccounts(database)
    accounts.account(BANK)
    already = len(opened)
    for _ in range(5):
        accounts.account(BANK)
        database.write(renamed)
    assert len(opened) == already <= 1


def test_what_failed_is_gone_from_the_connection(database):
    """The next transaction, on the same connection, finds nothing of it and writes its own."""

    def fails(connection):
        connection.execute(RENAME)
        raise ValueError('stop')

    accounts = DatabaseAccounts(database)
    with pytest.raises(ValueError, match='stop'):
        database.write(fails)
    assert accounts.account(BANK).name == ''
    database.write(renamed)
    assert accounts.account(BANK).name == 'new'


def test_a_commit_that_fails_leaves_nothing_to_the_next_writer(database, url, monkeypatch):
    """As of a cluster that is not ready: the connection lives on, and so would the transaction."""
    commit = type(database.engine.dialect).do_commit
    refused = []

    def refuse_once(dialect, connection):
        if not refused:
            refused.append(1)
            raise OSError('not ready')
        commit(dialect, connection)

    accounts, other = DatabaseAccounts(database), Database({'connection': url})
    accounts.account(BANK)
    monkeypatch.setattr(type(database.engine.dialect), 'do_commit', refuse_once)
    with pytest.raises(DBError, match='not ready'):
        database.write(renamed)
    database.write(
        lambda connection: connection.execute(text('UPDATE accounts SET id = id WHERE 1 = 0'))
    )
    assert accounts.account(BANK).name == ''
    other.write(renamed)
    assert accounts.account(BANK).name == 'new'
    other.close()


def test_what_a_read_writes_is_not_kept(database):
    """A read ends without a commit."""
    database.read(renamed)
    assert DatabaseAccounts(database).account(BANK).name == ''


def test_each_read_sees_what_others_have_written_before_it(database, url):
    """A connection that has read before keeps no old view."""
    accounts, other = DatabaseAccounts(database), Database({'connection': url})
    assert accounts.account(BANK).name == ''
    other.write(renamed)
    assert accounts.account(BANK).name == 'new'
    other.close()


@pytest.mark.parametrize('database_server', REAL, indirect=True)
def test_a_connection_that_is_lost_is_replaced(database, url):
    """The database was restarted, or has closed what was idle: the next work finds it and is tried again."""
    kind = database.engine.dialect.name
    accounts, other = DatabaseAccounts(database), Database({'connection': url})
    accounts.account(BANK)

    def lose(connection):
        for (command,) in connection.execute(text(LOSE[kind])).all():
            if kind == 'mysql':
                connection.execute(text(command))

    other.write(lose)
    assert accounts.account(BANK).name == ''
    other.write(lose)
    database.write(renamed)
    assert accounts.account(BANK).name == 'new'
    other.close()
