# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the benchmarks: a running market service, and databases."""

from tests.support.market.api_server import market_service
from tests.support.market.deployed_api import file
from tests.support.servers.databases import database, database_server, empty_tables, servers, url

__all__ = [
    'database',
    'database_server',
    'empty_tables',
    'file',
    'market_service',
    'servers',
    'url',
]
