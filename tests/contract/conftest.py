# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests below this folder."""

from tests.support.market.api_server import market_service
from tests.support.servers.databases import database, empty, server, servers, url
from tests.support.servers.rabbitmq import rabbitmq
from tests.support.servers.redis import redis

__all__ = ['database', 'empty', 'market_service', 'rabbitmq', 'redis', 'server', 'servers', 'url']
