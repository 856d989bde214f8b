# SPDX-License-Identifier: Apache-2.0
"""Step lines over time as an SVG file, written with the standard library.

The commands need no plotting library this way: matplotlib comes with the extra `sim` only. A browser shows
the file, and every vector program converts it.

Units: times in seconds since the epoch, lengths in the pixels of SVG.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.sax.saxutils import escape

NAMESPACE = 'http://www.w3.org/2000/svg'
WIDTH, PANEL_HEIGHT = 900, 190
LEFT, RIGHT, TOP, GAP, BOTTOM = 70, 150, 40, 30, 40
# seconds between two ticks of the time axis, from a minute to a year
TIME_STEPS = (
    60,
    300,
    900,
    1800,
    3600,
    7200,
    21600,
    43200,
    86400,
    172800,
    604800,
    2592000,
    31536000,
)
MOST_TIMES, MOST_VALUES = 8, 5
"""Ticks of the axes."""
# the first ones of Okabe and Ito, which colour-blind people can tell apart
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9')


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """values: one for each time, None where nothing is known. dashed: a limit rather than a measurement."""

    name: str
    values: Sequence[float | None]
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One diagram: what its y axis has, and its lines."""

    title: str
    lines: Sequence[Line]


def svg(title: str, times: Sequence[float], panels: Sequence[Panel]) -> str:
    """A document with the panels below each other, over one time axis.

    Every value holds from its time until the next one; the last one is a point.
    """
    height = TOP + len(panels) * (PANEL_HEIGHT + GAP) + BOTTOM
    first, last = (times[0], times[-1]) if times else (0.0, 0.0)
    parts = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<title>{escape(title)}</title>',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(LEFT, 24, title, size=15),
    ]
    top = TOP
    for panel in panels:
        parts += _panel(panel, times, first, last, top)
        top += PANEL_HEIGHT + GAP
    parts += _time_axis(first, last, top - GAP)
    parts.append('</svg>')
    return '\n'.join(parts) + '\n'


def _panel(
    panel: Panel, times: Sequence[float], first: float, last: float, top: float
) -> list[str]:
    known = [value for line in panel.lines for value in line.values if value is not None]
    step = _value_step(max(known, default=0.0))
    ceiling = step * max(1, math.ceil(max(known, default=0.0) / step))
    bottom = top + PANEL_HEIGHT
    parts = [_text(LEFT, top + 2, panel.title)]
    plot_top = top + 10
    for number in range(round(ceiling / step) + 1):
        y = bottom - number * step / ceiling * (bottom - plot_top)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd" stroke-width="1"/>')
        parts.append(_text(LEFT - 6, y + 4, f'{number * step:g}', anchor='end'))
    for number, line in enumerate(panel.lines):
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="6 4"' if line.dashed else ''
        path = _path(
            [_x(at, first, last) for at in times],
            [
                None if value is None else bottom - value / ceiling * (bottom - plot_top)
                for value in line.values
            ],
        )
        if path:
            parts.append(
                f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>'
            )
        y = plot_top + 14 + 18 * number
        x = WIDTH - RIGHT + 12
        parts.append(f'<path d="M{x} {y - 4}h22" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(_text(x + 28, y, line.name))
    return parts


def _path(xs: Sequence[float], ys: Sequence[float | None]) -> str:
    """A step line, broken where a value is not known."""
    parts, drawing = [], False
    for x, y in zip(xs, ys, strict=True):
        if y is None:
            if drawing:
                parts.append(f'H{x:.1f}')
            drawing = False
        else:
            parts.append(f'H{x:.1f}V{y:.1f}' if drawing else f'M{x:.1f} {y:.1f}')
            drawing = True
    return ''.join(parts)


def _time_axis(first: float, last: float, bottom: float) -> list[str]:
    step = next((one for one in TIME_STEPS if (last - first) / one <= MOST_TIMES), TIME_STEPS[-1])
    form = '%H:%M' if step < 86400 else '%Y-%m-%d'
    parts = []
    for number in range(math.ceil(first / step), math.floor(last / step) + 1):
        at = datetime.fromtimestamp(number * step, UTC)
        x = _x(number * step, first, last)
        parts.append(f'<path d="M{x:.1f} {bottom}v5" stroke="#555"/>')
        parts.append(_text(x, bottom + 18, at.strftime(form), anchor='middle'))
    day = datetime.fromtimestamp(first, UTC).strftime('%Y-%m-%d')
    parts.append(_text(WIDTH - RIGHT + 12, bottom + 18, f'UTC, from {day}'))
    return parts


def _x(at: float, first: float, last: float) -> float:
    return LEFT + (at - first) / ((last - first) or 1.0) * (WIDTH - RIGHT - LEFT)


def _value_step(largest: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are few ticks; a whole number where values are."""
    if largest <= 0:
        return 1.0
    rough = largest / MOST_VALUES
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= rough * (1 - 1e-9))


def _text(x: float, y: float, text: str, *, anchor: str = 'start', size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="#333">{escape(text)}</text>'
    )
