# SPDX-License-Identifier: Apache-2.0
"""A service of leases that powers hosts down."""

import pytest

from nova_market.db.database import Database
from tests.support.power_bed import PowerBed


@pytest.fixture
def fast(url, database):
    """The database, which does not wait for the disk: nobody pulls the plug here."""
    found = Database({'connection': url, 'sqlite_synchronous': False})
    yield found
    found.close()


@pytest.fixture
def bed(fast):
    """Three empty hosts of four cores."""
    return PowerBed(fast)
