# SPDX-License-Identifier: Apache-2.0
"""How times, memory, arrays and variables are typed."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.timestamp import length_text
from nova_market.osc.v1.job_argument import (
    ArrayArgument,
    NumberArgument,
    memory_argument,
    variable_argument,
)
from nova_market.osc.v1.time_argument import duration_argument


@pytest.mark.parametrize(
    ('text', 'seconds'),
    [
        ('90s', 90), ('15m', 900), ('2h', 7200), ('1d', 86400), ('1d12h', 129600),
        ('1h30m', 5400), ('0s', 0),
        # as sbatch --time: days-hours, days-hours:minutes, ..., minutes:seconds
        ('1-2', 93600), ('1-02:30', 95400), ('1-02:30:00', 95400), ('0-00:00:05', 5),
        ('2:30:00', 9000), ('30:00', 1800), ('00:45', 45), ('100:00:00', 360000),
    ],
)  # fmt: skip
def test_lengths_of_time(text, seconds):
    """With units, or as Slurm writes them."""
    assert duration_argument(text) == seconds


@pytest.mark.parametrize(
    'text', ['', '90', '-5m', '1.5h', '2x', 'h', '1:2:3:4', '1-', '-1:00', '2h 3m', '٣h', '9' * 30]
)
def test_what_is_no_length_of_time(text):
    """A bare number is minutes to some and seconds to others."""
    with pytest.raises(argparse.ArgumentTypeError, match='such as 90s, 15m, 2h or 1d12h'):
        duration_argument(text)


@given(st.integers(0, 10**8))
def test_a_length_of_time_is_shown_as_it_can_be_typed(seconds):
    """Both ways."""
    assert duration_argument(length_text(seconds)) == seconds


def test_lengths_of_time_are_shown_with_their_units():
    """What is not there is left out."""
    assert [length_text(n) for n in (0, 59, 5400, 95400, 59.6)] == [
        '0s', '59s', '1h30m', '1d2h30m', '1m',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('text', 'mib'),
    [('512', 512), ('512M', 512), ('4G', 4096), ('1.5g', 1536), ('1T', 1048576), ('4GiB', 4096),
     ('1025K', 2)],
)  # fmt: skip
def test_memory(text, mib):
    """In MiB, rounded up: a job never gets less than it asks for."""
    assert memory_argument(text) == mib


@pytest.mark.parametrize('text', ['', '0', '0.0M', '-4G', '4GB', '4 G', '1e3', 'G', '4P'])
def test_what_is_no_memory(text):
    """4GB is 4 * 10^9 to some."""
    with pytest.raises(argparse.ArgumentTypeError, match='such as 512M or 4G'):
        memory_argument(text)


@pytest.mark.parametrize(
    ('text', 'indices'),
    [
        ('0-3', (0, 1, 2, 3)),
        ('7', (7,)),
        ('3,1,2,1', (1, 2, 3)),
        ('0-2,20-29:4', (0, 1, 2, 20, 24, 28)),
        ('0-9,0-9', tuple(range(10))),
    ],
)
def test_arrays(text, indices):
    """Ranges with steps, in order, each index once."""
    assert ArrayArgument(10, 30)(text) == indices


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('0-10', "'0-10' has 11 tasks, more than 10: create several arrays"),
        ('0-9,20', 'has 11 tasks, more than 10'),
        ('0-999999999', 'index 999999999 in .* is above 30'),
        ('31', 'index 31 in .* is above 30: give smaller indices'),
        ('9-0', '9-0 has no index'),
        ('0-9:0', '0-9:0 has no index'),
        ('', 'give indices such as 0-99'),
        ('1,,2', 'give indices such as 0-99'),
        ('a-b', 'give indices such as 0-99'),
        ('-1', 'give indices such as 0-99'),
        ('0-3%2', 'give indices such as 0-99'),
    ],
)
def test_what_is_no_array(text, expected):
    """The value, the limit, what to do."""
    with pytest.raises(argparse.ArgumentTypeError, match=expected):
        ArrayArgument(10, 30)(text)


def test_a_range_longer_than_memory_is_refused_at_once():
    """Before it is spread out."""
    with pytest.raises(argparse.ArgumentTypeError, match='has 1000000000 tasks'):
        ArrayArgument(10, 10**9)('0-999999999')


def test_variables(monkeypatch):
    """With a value, or with the one that they have here."""
    monkeypatch.setenv('HERE', 'of the shell')
    monkeypatch.delenv('NOT_HERE', raising=False)
    assert variable_argument('A=b=c d') == ('A', 'b=c d')
    assert variable_argument('EMPTY=') == ('EMPTY', '')
    assert variable_argument('HERE') == ('HERE', 'of the shell')
    with pytest.raises(argparse.ArgumentTypeError, match='NOT_HERE is not set here: set it, or'):
        variable_argument('NOT_HERE')
    for text in ('', '=x', '1A=x', 'a-b=x'):
        with pytest.raises(argparse.ArgumentTypeError, match='give <name>=<value>'):
            variable_argument(text)


def test_numbers_have_a_lower_bound():
    """And are finite."""
    weight = NumberArgument(0, 'a weight')
    assert (weight('0'), weight('2.5')) == (0.0, 2.5)
    for text in ('-1', 'nan', 'inf', 'x', ''):
        with pytest.raises(argparse.ArgumentTypeError, match='give a weight, 0 or more'):
            weight(text)
