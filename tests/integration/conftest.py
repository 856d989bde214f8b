# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the integration tests: servers that several modules share."""

from tests.support.servers.databases import (
    database,
    database_server,
    empty,
    empty_tables,
    servers,
    url,
)
from tests.support.servers.memcached import memcached
from tests.support.servers.rabbitmq import rabbitmq, shared_rabbitmq
from tests.support.servers.redis import redis

__all__ = [
    'database',
    'database_server',
    'empty',
    'empty_tables',
    'memcached',
    'rabbitmq',
    'redis',
    'servers',
    'shared_rabbitmq',
    'url',
]
