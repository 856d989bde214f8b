# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests below this folder."""

from tests.support.market.api_server import market_service
from tests.support.market.shell import connect, run
from tests.support.servers.databases import database, server, servers, url

__all__ = ['connect', 'database', 'market_service', 'run', 'server', 'servers', 'url']
