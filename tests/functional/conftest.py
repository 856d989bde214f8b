# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of services in one process: a running market service, and SQLite only.

The stores are tested on MariaDB and PostgreSQL in tests/contract, the ledger in tests/integration.
"""

import pytest

from tests.support.market.api_server import market_service
from tests.support.market.shell import clouds, connect, run
from tests.support.servers.databases import database, empty_tables, url

__all__ = ['clouds', 'connect', 'database', 'empty_tables', 'market_service', 'run', 'url']


@pytest.fixture
def database_server() -> None:
    """No server behind `database`: it is SQLite."""
