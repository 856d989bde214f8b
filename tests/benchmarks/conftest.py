# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests below this folder."""

from tests.functional.api.test_service import file
from tests.support.market.api_server import market_service
from tests.support.servers.databases import database, server, servers, url

__all__ = ['database', 'file', 'market_service', 'server', 'servers', 'url']
