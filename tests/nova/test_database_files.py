# SPDX-License-Identifier: Apache-2.0
"""The databases of tests inside Nova are open from the start of a test to its end."""

import os

from nova.db.api import api as api_db
from nova.db.main import api as main_db

from tests.nova.bed import MarketBed


class TestDatabaseFiles(MarketBed):
    """One compute, which has been at the databases by now."""

    hosts = 1

    def test_no_index_of_a_log_has_to_be_made_anew(self):
        """SQLite removes it with the last connection, and Nova keeps none between its transactions."""
        for engine in (main_db.get_engine(), api_db.get_engine()):
            path = engine.url.database
            assert engine.pool.status() == 'NullPool'
            assert os.path.exists(f'{path}-shm'), path
