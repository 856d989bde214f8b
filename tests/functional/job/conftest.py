# SPDX-License-Identifier: Apache-2.0
"""A service of jobs with its cloud, guests, API and database."""

import pytest

from nova_market.db.database import Database
from tests.support.job_bed import JobBed, host


@pytest.fixture
def fast(url, database):
    """The database, which does not wait for the disk: nobody pulls the plug here."""
    found = Database({'connection': url, 'sqlite_synchronous': False})
    yield found
    found.close()


@pytest.fixture
def bed(fast):
    """Two hosts of four cores, one queue that has half of them."""
    found = JobBed(fast)
    found.add_queue('night', 'red')
    return found


@pytest.fixture
def small(fast):
    """One host of two cores, one queue that may use all of it."""
    found = JobBed(fast, hosts=[host('a', cores=2.0, mib=2048.0)])
    found.add_queue('night', 'red', share=1.0)
    return found
