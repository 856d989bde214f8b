# SPDX-License-Identifier: Apache-2.0
"""Connections are kept between transactions, and only what a transaction needs is sent to the database.

oslo.db opens a SQLite file anew for each transaction, which takes longer than most transactions do. On
servers it asks before each one whether the connection still stands, and rolls back after each one that has
ended. Neither is needed by db.database: it ends each transaction, and tries again where a connection is lost.
SQLAlchemy takes the pool's arguments from a plug-in that the URL names.
"""

from typing import Any

from sqlalchemy import URL, CreateEnginePlugin
from sqlalchemy.dialects import plugins
from sqlalchemy.pool import QueuePool

PLUGIN = 'nova_market'
PARAMETER = f'plugin={PLUGIN}'
"""Of the URL."""


class KeptConnections(CreateEnginePlugin):
    """Changes what oslo.db gives to SQLAlchemy."""

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        kwargs |= {'pool_pre_ping': False, 'pool_reset_on_return': None}
        if url.get_backend_name() == 'sqlite' and url.database not in (None, '', ':memory:'):
            # as many as there are threads: a writer may wait for its turn as long as SQLite lets it
            kwargs |= {'poolclass': QueuePool, 'max_overflow': -1}

    def update_url(self, url: URL) -> URL:
        """As it is; SQLAlchemy wants an answer."""
        return url


plugins.register(PLUGIN, __name__, KeptConnections.__name__)
