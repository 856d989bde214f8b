# SPDX-License-Identifier: Apache-2.0
"""What processes of the API have refused adds up."""

import pytest

from nova_market.db.refusals import DatabaseRefusals
from tests.support.servers.databases import ALL

pytestmark = pytest.mark.parametrize('database_server', ALL, indirect=True)


def test_counts_of_all_processes_add_up(database):
    """By kind and project, beyond what fits 32 bits."""
    first, second = DatabaseRefusals(database), DatabaseRefusals(database)
    assert first.totals() == {}
    first.add({('project', 'a'): 2**40, ('worker', ''): 1})
    second.add({('project', 'a'): 3, ('project', 'b'): 1})
    assert first.totals() == {('project', 'a'): 2**40 + 3, ('project', 'b'): 1, ('worker', ''): 1}
