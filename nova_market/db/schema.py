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


def sync(database: Database, target: str = 'head') -> str:
    """Upgrade to a revision, the newest by default; the revision reached.

    Runs again after an interruption. On SQLite and PostgreSQL it happens at once or not at all; MariaDB
    commits each table by itself: running it again makes what an interrupted sync has left out.

    :raises ConfigurationError: no such revision, or the database is newer than this version.
    """
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
            f'the database is at revision {found or "none"}, this version needs {needed}: run '
            '"nova-market-manage db sync"'
        )


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
