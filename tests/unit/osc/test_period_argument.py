# SPDX-License-Identifier: Apache-2.0
"""How many periods a length of time is, in a cloud whose periods have 20 s."""

import argparse
from types import SimpleNamespace

import pytest
from osc_lib import exceptions

from nova_market.osc.v1.columns import PerPeriod
from nova_market.osc.v1.period_argument import periods, periods_argument

CLOUD = SimpleNamespace(period_length=lambda: 20.0)
NO_ROUND_YET = SimpleNamespace(period_length=lambda: None)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [('1', 1), ('1440', 1440), ('20s', 1), ('30s', 2), ('1h', 180), ('1d', 4320), ('0:30', 2)],
)
def test_periods_are_a_number_or_a_length_of_time(text, expected):
    """Whole periods that have all of it."""
    assert periods(CLOUD, periods_argument(text)) == expected


@pytest.mark.parametrize('text', ['', '0', '-1', '1.5', '0s', '1 hour', 'day'])
def test_what_is_neither_is_refused_with_what_can_be_given(text):
    """Before anything is asked."""
    with pytest.raises(argparse.ArgumentTypeError, match=r'1 or more|such as 1h'):
        periods_argument(text)


def test_before_the_first_round_periods_are_given_as_a_number():
    """Their length is not known then."""
    assert periods(NO_ROUND_YET, periods_argument('60')) == 60
    with pytest.raises(exceptions.CommandError, match=r'1h30m: .* give a number of periods'):
        periods(NO_ROUND_YET, periods_argument('90m'))


def test_an_amount_per_period_has_its_unit_in_tables_alone():
    """A script types an amount of a plain format again."""
    cell = PerPeriod(1_500_000)
    assert cell.human_readable() == '1.5 per period'
    assert cell.as_typed().machine_readable() == '1.5'
    assert (cell.machine_readable(), PerPeriod(None).human_readable()) == (1_500_000, '')
