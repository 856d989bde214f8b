# SPDX-License-Identifier: Apache-2.0
"""nova-market-manage db: what it prints and how it exits."""

import argparse

import pytest
from oslo_config import cfg
from sqlalchemy import update

from nova_market.cmd import manage_db
from nova_market.conf import database as database_options
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.ledger_tables import accounts
from nova_market.errors import ConfigurationError, DatabaseUnavailable, SchemaBehind


@pytest.fixture
def run(tmp_path):
    """Runs `db ARGUMENTS` on a database of its own; the exit status."""

    def call(*arguments, connection=f'sqlite:///{tmp_path}/market.sqlite'):
        conf = cfg.ConfigOpts()
        database_options.register_opts(conf)
        parser = argparse.ArgumentParser()
        manage_db.add_commands(parser.add_subparsers())
        conf([], project='nova_market', default_config_files=[])
        conf.set_override('connection', connection, 'database')
        call.database = Database({'connection': connection})
        command = parser.parse_args(['db', *arguments])
        return command.run(argparse.Namespace(database=conf.database, command=command))

    yield call
    call.database.close()


def test_sync_makes_the_tables_and_version_tells(run, capsys):
    """Before: status 2 and "none"; after: the newest revision and status 0."""
    assert run('version') == manage_db.EXIT_BEHIND
    assert capsys.readouterr().out == 'none\n'
    assert run('sync') == 0
    assert schema.newest() in capsys.readouterr().out
    assert run('version') == 0


def test_sync_to_a_revision_that_is_not_there(run):
    """The message names it."""
    with pytest.raises(ConfigurationError, match='nonsense'):
        run('sync', '--version', 'nonsense')


def test_verify_tells_a_forged_balance(run, capsys):
    """Status 0 and a sentence when all adds up; status 1 and the account when not."""
    run('sync')
    assert run('verify') == 0
    with run.database.engine.begin() as connection:
        connection.execute(update(accounts).where(accounts.c.id == 'bank').values(balance=5))
    capsys.readouterr()
    assert run('verify') == manage_db.EXIT_DISCREPANCY
    assert 'bank has 5 micro-credits' in capsys.readouterr().out


def test_purge_says_what_went(run, capsys):
    """One line for each table; it needs the tables, and at least a day."""
    with pytest.raises(SchemaBehind):
        run('purge', '--older-than', '30')
    run('sync')
    capsys.readouterr()
    assert run('purge', '--older-than', '30') == 0
    assert 'postings' in capsys.readouterr().out
    for days in ('0.5', '-1', 'nan', 'x'):
        with pytest.raises(
            ConfigurationError, match=f'{days}: give a number of days, 1 day or more'
        ):
            run('purge', '--older-than', days)


def test_a_database_that_cannot_be_opened(run, tmp_path):
    """One line that says so."""
    with pytest.raises(DatabaseUnavailable, match='unable to open'):
        run('version', connection=f'sqlite:///{tmp_path}/no/such/directory/x')
