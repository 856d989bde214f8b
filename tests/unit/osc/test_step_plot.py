# SPDX-License-Identifier: Apache-2.0
"""Step lines over time as SVG."""

import re
from xml.etree import ElementTree as Xml

import pytest

from nova_market.osc.v1.step_plot import NAMESPACE, Line, Panel, svg

NOON = 1_795_262_400.0
"""2026-11-21T12:00:00Z."""


def drawn(*lines: Line, times=None, title='render'):
    """The elements of a plot with one panel."""
    count = len(lines[0].values) if lines else 0
    at = [NOON + 60 * n for n in range(count)] if times is None else times
    return Xml.fromstring(svg(title, at, [Panel(title='cores', lines=lines)]))


def texts(root):
    return [one.text for one in root.iter(f'{{{NAMESPACE}}}text')]


def paths(root):
    """Of the data: those of no axis and no key."""
    found = root.iter(f'{{{NAMESPACE}}}path')
    return [one for one in found if one.get('fill') == 'none']


def points(path):
    """Commands of a path: (letter, numbers)."""
    return [
        (letter, [float(n) for n in numbers.split()])
        for letter, numbers in re.findall(r'([MHV])([\d. -]+)', path.get('d'))
    ]


def test_a_value_holds_until_the_next_one():
    """A step, from the left edge to the right one; twice the value is twice as high."""
    (path,) = paths(drawn(Line(name='used', values=[2.0, 4.0, 0.0])))
    (_, (x0, y0)), (_, (x1,)), (_, (y1,)), (_, (x2,)), (_, (y2,)) = points(path)
    assert (x0, x2) == (70.0, 750.0) and x1 == (x0 + x2) / 2
    assert y2 - y1 == pytest.approx(2 * (y2 - y0))


def test_what_is_not_known_is_a_gap():
    """And no zero."""
    (path,) = paths(drawn(Line(name='used', values=[1.0, None, None, 1.0])))
    assert [letter for letter, _ in points(path)] == ['M', 'H', 'M']


def test_the_axes_have_round_numbers():
    """The largest value is within them, and so is every time."""
    root = drawn(Line(name='used', values=[0.0, 13.0]), times=[NOON, NOON + 7200])
    shown = texts(root)
    assert [one for one in shown if one in {'0', '5', '10', '15', '20'}] == ['0', '5', '10', '15']
    assert [one for one in shown if re.fullmatch(r'\d\d:\d\d', one)] == [
        '12:00', '12:15', '12:30', '12:45', '13:00', '13:15', '13:30', '13:45', '14:00',
    ]  # fmt: skip
    assert 'UTC, from 2026-11-21' in shown


def test_long_times_have_dates():
    """A tick for each day or week."""
    root = drawn(Line(name='used', values=[1.0, 1.0]), times=[NOON, NOON + 5 * 86400])
    assert '2026-11-23' in texts(root)


@pytest.mark.parametrize('values', [[], [None], [0.0], [0.001], [1e9, 3.0]])
def test_few_or_odd_values(values):
    """Nothing, one minute, nothing used, tiny and huge numbers."""
    root = drawn(Line(name='used', values=values))
    ticks = [one for one in texts(root) if one and re.fullmatch(r'[\d.e+-]+', one)]
    assert 2 <= len(ticks) <= 8


def test_names_are_escaped_and_limits_are_dashed():
    """A queue may be called anything."""
    root = drawn(
        Line(name='<a & b>', values=[1.0, 2.0]),
        Line(name='share', values=[1.5, 1.5], dashed=True),
        title='"<q>"',
    )
    assert {'<a & b>', 'share', '"<q>"'} <= set(texts(root))
    assert [bool(one.get('stroke-dasharray')) for one in paths(root)] == [False, True]
    assert len({one.get('stroke') for one in paths(root)}) == 2
