# SPDX-License-Identifier: Apache-2.0
"""Minutes of a queue as rows of a table and as a plot."""

import re
from types import SimpleNamespace

import pytest

from nova_market.core.timestamp import stamp
from nova_market.osc.v1.queue_stats import Span, plotted, spans

NOON = 1_795_262_400


def minute(number: int, **more):
    """A minute after noon."""
    what = {'cores': 0.0, 'share': 0.0, 'waiting': 0, 'running': 0, 'started': 0, 'finished': 0,
            'failed': 0, 'preempted': 0, **more}  # fmt: skip
    return SimpleNamespace(at=stamp(NOON + 60 * number), **what)


QUEUE = SimpleNamespace(name='render', share=0.25, aggregate='')


def test_several_minutes_are_one_row():
    """Means of what is used, counts at the end, sums of what happened."""
    found = spans(
        [
            minute(0, cores=2.0, share=0.1, waiting=5, running=1, started=1),
            minute(1, cores=4.0, share=0.3, waiting=3, running=2, started=1, preempted=1),
            minute(5, cores=1.0, finished=2, failed=1),
        ],
        300,
    )
    assert found == [
        Span(at='2026-11-21T12:00:00Z', cores=3.0, share=pytest.approx(0.2), waiting=3, running=2,
             started=2, finished=0, failed=0, preempted=1),
        Span(at='2026-11-21T12:05:00Z', cores=1.0, share=0.0, waiting=0, running=0,
             started=0, finished=2, failed=1, preempted=0),
    ]  # fmt: skip
    assert spans([], 60) == []


def paths(text: str) -> list[str]:
    """Of the lines of data."""
    return re.findall(r'<path d="(M[^"]*)" fill="none"', text)


def test_a_plot_has_cores_share_and_jobs():
    """The share that was granted is a dashed line."""
    text = plotted(QUEUE, spans([minute(n, cores=n, share=n / 10) for n in range(4)], 60), 60)
    assert len(paths(text)) == 6
    assert text.count('stroke-dasharray') == 2  # the line and its key
    for word in ('Queue render', 'cores in use', '% of the cloud', 'preempted'):
        assert f'>{word}</text>' in text
    other = SimpleNamespace(name='q', share=None, aggregate='fast & new')
    assert '% of aggregate fast &amp; new' in plotted(other, [], 60)


def test_minutes_without_rows_are_a_gap():
    """The service was not there: nothing is known of that time."""
    text = plotted(QUEUE, spans([minute(n) for n in (0, 1, 10, 11)], 60), 60)
    assert paths(text)[0].count('M') == 2
    whole = plotted(QUEUE, spans([minute(n) for n in range(12)], 60), 60)
    assert paths(whole)[0].count('M') == 1
