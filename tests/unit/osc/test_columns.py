# SPDX-License-Identifier: Apache-2.0
"""What people and programs read of a value."""

from types import SimpleNamespace

import pytest

from nova_market.osc.v1.columns import listed
from nova_market.osc.v1.job_columns import Given


@pytest.mark.parametrize(
    ('value', 'read'),
    [
        ('2026-11-29T05:52:23.737747Z', '2026-11-29T05:52:23Z'),
        ('2026-11-29T05:52:20Z', '2026-11-29T05:52:20Z'),
    ],
)
@pytest.mark.parametrize('formatter', [None, Given])
def test_times_in_tables_have_whole_seconds(value, read, formatter):
    """A program gets the time as the API has it, and rows are sorted by it."""
    _, rows = listed([('At', 'at', formatter)], [SimpleNamespace(at=value)])
    ((cell,),) = rows
    assert (cell.human_readable(), cell.machine_readable()) == (read, value)


def test_what_is_no_time_stays_as_it_is():
    """A name may look like the beginning of one."""
    _, rows = listed([('Name', 'name', None)], [SimpleNamespace(name='2026-11-29T05:52')])
    assert rows == [('2026-11-29T05:52',)]
