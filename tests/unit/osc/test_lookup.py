# SPDX-License-Identifier: Apache-2.0
"""What a name stands for, when several have it."""

from types import SimpleNamespace

import pytest
from osc_lib import exceptions

from nova_market.osc.v1.lookup import app_id_of, budget_id


@pytest.mark.parametrize('find', [app_id_of, budget_id])
@pytest.mark.parametrize(
    ('count', 'expected'),
    [(2, 'give the id of one: id0, id1'), (7, 'id0, id1, id2, id3, id4 and 2 more')],
)
def test_an_ambiguous_name_is_refused_with_the_ids(find, count, expected):
    """The reader picks one, and need not list them first."""
    several = [SimpleNamespace(id=f'id{n}', name='zephyr') for n in range(count)]
    market = SimpleNamespace(apps=lambda: several, budgets=lambda: several)
    with pytest.raises(exceptions.CommandError, match=f'{count} .* are named zephyr') as refused:
        find(SimpleNamespace(market=market), 'zephyr')
    assert str(refused.value).endswith(expected)
