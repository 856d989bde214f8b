# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the contracts: the servers that the real adapters talk to."""

from tests.support.market.api_server import market_service
from tests.support.servers.databases import (
    database,
    database_server,
    empty,
    empty_tables,
    servers,
    url,
)
from tests.support.servers.rabbitmq import rabbitmq, shared_rabbitmq
from tests.support.servers.redis import redis

__all__ = [
    'database',
    'database_server',
    'empty',
    'empty_tables',
    'market_service',
    'rabbitmq',
    'redis',
    'servers',
    'shared_rabbitmq',
    'url',
]
