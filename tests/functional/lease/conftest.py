# SPDX-License-Identifier: Apache-2.0
"""A service of leases with its cloud and database."""

import pytest

from nova_market.db.database import Database
from tests.support.lease_bed import LeaseBed


@pytest.fixture
def fast(url, database):
    """The database, which does not wait for the disk: nobody pulls the plug here."""
    found = Database({'connection': url, 'sqlite_synchronous': False})
    yield found
    found.close()


@pytest.fixture
def bed(fast):
    """Three hosts of four cores; the hosts are published."""
    found = LeaseBed(fast)
    found.run()
    return found
