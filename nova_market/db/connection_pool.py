# SPDX-License-Identifier: Apache-2.0
"""Connections are kept between transactions, and only what a transaction needs is sent to the database.

oslo.db opens a SQLite file anew for each transaction, which takes longer than most transactions do. On
servers it asks before each one whether the connection still stands, and rolls back after each one that has
ended. Neither is needed by db.database: it ends each transaction, and tries again where a connection is lost.
SQLAlchemy takes the pool's arguments from a plug-in that the URL names.

Drivers wait without end for a server that has stopped, or behind a network that drops packets. Where somebody
waits for the answer, ANSWER in the URL bounds that.
"""

import math
from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, CreateEnginePlugin
from sqlalchemy.dialects import plugins
from sqlalchemy.pool import QueuePool

PLUGIN = 'nova_market'
PARAMETER = f'plugin={PLUGIN}'
"""Of the URL."""


ANSWER = 'nova_market_answer'
"""Parameter of the URL: seconds in which the server has to answer."""


class KeptConnections(CreateEnginePlugin):
    """Changes what oslo.db gives to SQLAlchemy."""

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        kwargs |= {'pool_pre_ping': False, 'pool_reset_on_return': None}
        answer = url.query.get(ANSWER)
        if answer is not None:
            given = kwargs.setdefault('connect_args', {})
            bounds = _bounds(url, float(str(answer)))
            own = {name: value for name, value in bounds.items() if name not in url.query}
            kwargs['connect_args'] = {**own, **given}
        if url.get_backend_name() == 'sqlite' and url.database not in (None, '', ':memory:'):
            # as many as there are threads: a writer may wait for its turn as long as SQLite lets it
            kwargs |= {'poolclass': QueuePool, 'max_overflow': -1}

    def update_url(self, url: URL) -> URL:
        """Without what is for this plug-in only."""
        return url.difference_update_query([ANSWER])


def _bounds(url: URL, seconds: float) -> Mapping[str, object]:
    """Arguments of the driver: the most that it waits for a connection, and for each answer."""
    whole, connect = max(math.ceil(seconds), 1), max(int(seconds / 2), 2)
    if url.get_driver_name() in ('pymysql', 'mysqldb'):
        return {'connect_timeout': connect, 'read_timeout': whole, 'write_timeout': whole}
    if url.get_driver_name() == 'psycopg2':
        return {
            'connect_timeout': connect,
            'options': f'-c statement_timeout={int(1000 * seconds)}',
            'tcp_user_timeout': int(1000 * seconds),
            'keepalives_idle': 1,
            'keepalives_interval': 1,
            'keepalives_count': whole,
        }
    return {}


plugins.register(PLUGIN, __name__, KeptConnections.__name__)
