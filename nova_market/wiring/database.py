# SPDX-License-Identifier: Apache-2.0
"""Opens the configured database."""

from oslo_config import cfg

from nova_market.db import schema
from nova_market.db.database import Database


def connect(conf: cfg.ConfigOpts) -> Database:
    """The configured database; nothing is opened before it is used."""
    return Database(dict(conf.database))


def ready(conf: cfg.ConfigOpts) -> Database:
    """The database, with the tables that this version needs.

    :raises SchemaBehind: it has others.
    """
    database = connect(conf)
    schema.check(database)
    return database
