# SPDX-License-Identifier: Apache-2.0
"""Times as text and as seconds since the epoch."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.json_schema import WHEN
from nova_market.core.timestamp import seconds, stamp
from nova_market.errors import BadTime

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    'value',
    ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00', '2026-11-21T14:00:00+02:00', NOON],
)
def test_a_time_without_a_zone_is_utc(value):
    """And every form is the same number."""
    assert seconds(value) == NOON.timestamp()
    assert stamp(seconds(value)) == '2026-11-21T12:00:00Z'


@pytest.mark.parametrize('value', ['noon', '2026-02-31T00:00:00Z', '2026-11-21T25:00:00Z'])
def test_what_is_no_time_is_refused_with_what_to_give(value):
    """Text that is none, and a day or an hour that does not exist."""
    with pytest.raises(BadTime, match='give a time in ISO 8601'):
        seconds(value)


@pytest.mark.parametrize('value', ['9999-12-31T23:59:59-05:00', '0001-01-01T00:00:00+05:00'])
def test_a_time_that_has_no_text_in_utc_is_refused(value):
    """What was stored with it could not be shown."""
    with pytest.raises(BadTime, match='years 1 to 9999'):
        seconds(value)
    assert stamp(seconds('9999-12-31T23:59:59Z')) == '9999-12-31T23:59:59Z'


@given(st.from_regex(re.compile(WHEN['pattern'], re.ASCII), fullmatch=True))
def test_what_the_schema_allows_is_a_time(value):
    """Of every year, with the leap days that there are; at its ends a zone may lead out of the years."""
    problem = ''
    try:
        seconds(value)
    except BadTime as error:
        problem = str(error)
    assert not problem or 'years 1 to 9999' in problem


@given(st.datetimes())
def test_the_schema_allows_every_second(moment):
    assert re.fullmatch(WHEN['pattern'], moment.replace(microsecond=0).isoformat())


@pytest.mark.parametrize('day', ['0000-01-01', '1900-02-29', '2026-02-29', '2026-04-31'])
def test_the_schema_allows_no_day_that_is_in_no_calendar(day):
    assert not re.fullmatch(WHEN['pattern'], f'{day}T00:00:00Z')
