# SPDX-License-Identifier: Apache-2.0
"""What a failed test tells: errors that CPython has left without line numbers can be shown."""

import pytest

from tests.conftest import numbered


def without_lines():
    raise ValueError('lost')


# CPython's Objects/locations.md: code 15 says that the next eight units have no location
without_lines.__code__ = without_lines.__code__.replace(
    co_linetable=bytes([0x80 | 15 << 3 | 7]) * len(without_lines.__code__.co_code)
)


def raised() -> pytest.ExceptionInfo[BaseException]:
    """An error that came from one without line numbers."""
    with pytest.raises(ValueError, match='lost') as cause:
        without_lines()
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError('found') from cause.value
    return caught


def test_an_error_without_line_numbers_is_shown():
    with pytest.raises(TypeError):
        raised().getrepr(style='long')
    error = numbered(raised().value)
    shown = str(pytest.ExceptionInfo.from_exception(error).getrepr(style='long'))
    assert 'ValueError: lost' in shown and 'RuntimeError: found' in shown


def test_an_error_that_caused_itself_is_looked_at_once():
    error = ValueError('lost')
    error.__cause__ = error
    assert numbered(error) is error
