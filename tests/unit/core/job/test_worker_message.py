# SPDX-License-Identifier: Apache-2.0
"""Bounds of what a worker sends."""

import math

import pytest

from nova_market.core.job.worker_message import MAX_TAIL, End, Heartbeat, Output, Result, Usage
from nova_market.errors import BadAmount


@pytest.mark.parametrize('name', ['wall_seconds', 'user_seconds', 'system_seconds', 'max_rss_mib'])
@pytest.mark.parametrize('value', [-0.001, math.inf, -math.inf, 1e30])
def test_usage_that_no_machine_measures(name, value):
    """Is refused by name and value."""
    with pytest.raises(BadAmount, match=f'{name} is '):
        Usage(**{'wall_seconds': 1.0, name: value})


def test_wall_time_is_a_number():
    """NaN stands for "not measured" for memory only."""
    with pytest.raises(BadAmount, match='wall_seconds is nan'):
        Usage(wall_seconds=math.nan)


def test_output_is_bounded():
    """To what is kept, and to what was written in all."""
    Output(tail=b'x' * MAX_TAIL, total=MAX_TAIL)
    with pytest.raises(BadAmount, match=f'send the last {MAX_TAIL}'):
        Output(tail=b'x' * (MAX_TAIL + 1), total=MAX_TAIL + 1)
    with pytest.raises(BadAmount, match='output_bytes is 2, and output has 3 bytes'):
        Output(tail=b'abc', total=2)


@pytest.mark.parametrize(
    ('given', 'problem'),
    [
        ({'end': End.EXIT}, 'give exit_code with exit'),
        ({'end': End.SIGNAL}, 'give signal with signal'),
        ({'end': End.STOPPED, 'exit_code': 0}, 'give exit_code with exit'),
        ({'end': End.EXIT, 'exit_code': 0, 'signal': 9}, 'give signal with signal'),
        ({'end': End.EXIT, 'exit_code': 256}, 'exit_code is 256'),
        ({'end': End.EXIT, 'exit_code': -1}, 'exit_code is -1'),
        ({'end': End.SIGNAL, 'signal': 65}, 'signal is 65'),
        ({'end': End.EXIT, 'exit_code': 0, 'attempt': -1}, 'attempt is -1'),
    ],
)
def test_a_result_that_contradicts_itself(given, problem):
    """Is refused with what to give."""
    whole = {
        'job_id': 'j',
        'attempt': 1,
        'usage': Usage(wall_seconds=1.0),
        'output': Output(),
        **given,
    }
    with pytest.raises(BadAmount, match=problem):
        Result(**whole)


def test_a_heartbeat_has_run_for_a_time():
    """Or has not begun."""
    assert Heartbeat(job_id='j', attempt=1, ran=None).ran is None
    with pytest.raises(BadAmount, match='ran is -1'):
        Heartbeat(job_id='j', attempt=1, ran=-1.0)
