# SPDX-License-Identifier: Apache-2.0
"""What people and programs read of a value."""

from types import SimpleNamespace

import pytest

from nova_market.osc.v1.columns import Amount, Reason, listed
from nova_market.osc.v1.job_columns import Given, ReasonText


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


def test_reasons_have_names_beside_ids_of_users():
    """A program gets the text of the API; who is not known keeps his id, no other word is asked for."""
    asked = []

    def lookup(name):
        asked.append(name)
        return {'d' * 32: 'emil'}.get(name)

    known, unknown = (Reason(f'submitted by {one * 32}', lookup) for one in 'de')
    assert known.human_readable() == f'submitted by emil ({"d" * 32})'
    assert known.machine_readable() == f'submitted by {"d" * 32}'
    assert unknown.human_readable() == f'submitted by {"e" * 32}'
    assert Reason('cancelled by its owner', lookup).human_readable() == 'cancelled by its owner'
    cancelled = ReasonText({'code': 'cancelled', 'text': f'cancelled by {"d" * 32}'}, lookup)
    assert cancelled.human_readable() == f'cancelled by emil ({"d" * 32})'
    assert asked[:2] == ['d' * 32, 'e' * 32]


@pytest.mark.parametrize(
    ('value', 'read'),
    [(None, ''), (0.25, '0.25'), (8192, '8192'), (999_999.6, '1000000'), (1_167_360.0, '1167360')],
)
def test_large_amounts_have_no_exponent(value, read):
    """A cloud has millions of MiB."""
    assert Amount(value).human_readable() == read
