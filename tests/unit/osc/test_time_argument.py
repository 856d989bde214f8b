# SPDX-License-Identifier: Apache-2.0
"""Times as people type them for any command."""

import argparse

import pytest

from nova_market.core.timestamp import seconds
from nova_market.errors import BadTime
from nova_market.osc.v1.time_argument import future_argument, moment, past_argument

NOW = seconds('2026-11-21T12:30:15Z') + 0.75


@pytest.mark.parametrize(
    ('text', 'ahead', 'expected'),
    [
        ('now', False, '2026-11-21T12:30:15Z'),
        ('today', False, '2026-11-21T00:00:00Z'),
        ('yesterday', False, '2026-11-20T00:00:00Z'),
        ('tomorrow', True, '2026-11-22T00:00:00Z'),
        ('1h', False, '2026-11-21T11:30:15Z'),
        ('1d12h', False, '2026-11-20T00:30:15Z'),
        ('1h', True, '2026-11-21T13:30:15Z'),
        ('+1h', False, '2026-11-21T13:30:15Z'),
        ('+90s', True, '2026-11-21T12:31:45Z'),
        ('2026-11-03', False, '2026-11-03T00:00:00Z'),
        ('2026-11-03T07:05', True, '2026-11-03T07:05:00Z'),
        ('2026-11-03 07:05:09.9', False, '2026-11-03T07:05:09Z'),
        ('2026-11-03T07:05:00+01:00', False, '2026-11-03T06:05:00Z'),
    ],
)
def test_a_time_is_a_word_a_length_of_time_or_iso_8601_in_utc(text, ahead, expected):
    """A length is so long ago where the past is asked for, and from now on where the future is."""
    assert moment(text, NOW, ahead=ahead) == seconds(expected)


@pytest.mark.parametrize(
    'text',
    ['', '+', 'yesterdy', '5', '1h ago', '2026-11', '2026-02-30', '12:00', '-1h', '1-2', 'nan'],
)
def test_what_is_no_time_is_refused_with_its_value_and_examples(text):
    """In the error of the option, which argparse names."""
    for kind, example in ((past_argument, '1h (ago)'), (future_argument, '2h (from now)')):
        with pytest.raises(argparse.ArgumentTypeError) as refused:
            kind(text)
        assert repr(text) in str(refused.value)
        assert example in str(refused.value) and 'UTC' in str(refused.value)


def test_a_time_outside_of_all_years_is_refused():
    """Longer than time is, in both directions."""
    for ahead in (False, True):
        with pytest.raises(BadTime, match=r'999999999d.*years 1 to 9999'):
            moment('999999999d', NOW, ahead=ahead)
