# SPDX-License-Identifier: Apache-2.0
"""Making and upgrading the tables, by the migrations that are part of the package."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from nova_market.db.database import Database, loose_references, translated
from nova_market.errors import ConfigurationError, SchemaBehind

MIGRATIONS = Path(__file__).parent / 'migrations'

EARLIER = """
    1c7f93ab4e26 1f6d92c47ab0 3b8d05f7c1e4 4e8b1f62d7a9 5a81c3f07e2d 5b7c30e9a1f4
    5be0c19d7a42 5d20e8b1f7c4 6e2f81b0d3a9 7d35a0e9c1f8 7f2c9e41a6d0 8b41f6c2d95e
    8e41c7d92b05 8f1b6ad40c93 9c41d7e05b2a a6c3e58f10d4 b20f7c6e94d1 b72d05e8c94f
    c17a5be84f02 c3a97e50d14b c41e7b9d30f6 c4e0917b5a2f c8e41b7f2d06 d5a07e3c914b
    d94a0e5c72b8 e83d15c07ab6
"""
"""Revisions before the first that the package has, which makes all tables from nothing."""


def sync(database: Database, target: str = 'head') -> str:
    """Upgrade to a revision, the newest by default; the revision reached.

    Runs again after an interruption. On SQLite and PostgreSQL it happens at once or not at all; MariaDB
    commits each table by itself: running it again makes what an interrupted sync has left out.

    :raises ConfigurationError: no such revision, or the database is newer than this version, or at a revision
        before the first one, or has tables of the same names that are others.
    """
    found = version(database)
    if found and found not in _revisions():
        raise ConfigurationError(f'the database is at revision {found}: {_remedy(found)}')
    try:
        _run(database, lambda config: command.upgrade(config, target))
    except CommandError as error:
        raise ConfigurationError(f'cannot go to {target!r:.80}: {error}') from error
    return version(database)


def version(database: Database) -> str:
    """The revision the tables are at; '' for a database without ours."""
    with translated(), database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() or ''


def newest() -> str:
    """The revision that this version of the package needs."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ''


def check(database: Database) -> None:
    """:raises SchemaBehind: the tables are not at the revision that this version needs."""
    found, needed = version(database), newest()
    if found != needed:
        raise SchemaBehind(
            f'the database is at revision {found or "none"}, this version needs {needed}: '
            f'{_remedy(found)}'
        )


def _remedy(found: str) -> str:
    """What to do with a database at this revision."""
    if not found or found in _revisions():
        return 'run "nova-market-manage db sync"'
    if found not in EARLIER.split():
        return 'it is of a newer version of the package, which is to be installed here, or of another program'
    return (
        f'this version upgrades from {_revisions()[-1]} on. Bring the database there with the sources of '
        'before, as the manual of nova-market-manage describes'
    )


def _revisions() -> list[str]:
    """Those that this version of the package has, the newest first."""
    return [one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions()]


def _config() -> Config:
    config = Config()
    # alembic reads a percent sign as the start of a reference
    config.set_main_option('script_location', os.fspath(MIGRATIONS).replace('%', '%%'))
    config.set_main_option('path_separator', 'os')
    return config


def _run(database: Database, run: Callable[[Config], Any]) -> None:
    """Alembic's commands open no connection of their own: they get ours."""
    config = _config()
    with (
        translated(),
        database.engine.connect() as connection,
        loose_references(connection),
        connection.begin(),
    ):
        config.attributes['connection'] = connection
        run(config)
