# SPDX-License-Identifier: Apache-2.0
"""`openstack market lease calendar`: hosts by time, as a table and as a plot.

After CloudAlloc, section 4, scenario 2 ("the user may choose either a daily or weekly view").
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from osc_lib import exceptions

from nova_market.core.timestamp import seconds, stamp
from nova_market.osc.v1.cloud_clock import now
from nova_market.osc.v1.market_command import MarketLister
from nova_market.osc.v1.step_plot import Line, Panel, svg
from nova_market.osc.v1.time_argument import PAST, past_argument

HOUR, DAY = 3600, 86_400
VIEWS = {'day': (DAY, HOUR), 'week': (7 * DAY, 6 * HOUR)}
"""Seconds that are shown, and of one column."""

FULL = '#'
EMPTY = '.'
AWAY = '-'
DIGITS = '123456789'


class LeaseCalendar(MarketLister):
    """Show which hosts are booked when

    One row for each host, one character for each hour (--view day) or six hours (--view week): "." nothing is
    booked, a digit that many tenths of the cores, "#" all of them, "-" the host cannot be used. The most that
    is booked in that time counts. With --plot the same is drawn as well.

    Examples, a day from now on, and a week from Monday with a plot::

        openstack market lease calendar
        openstack market lease calendar --view week --since 2026-11-23 --plot week.svg
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--view', choices=tuple(VIEWS), default='day', help='Default: day')
        parser.add_argument(
            '--since',
            metavar='<time>',
            type=past_argument,
            help=f'Where it begins, {PAST}; +1d: from now; default: the hour that runs now',
        )
        parser.add_argument(
            '--host', metavar='<host>', action='append', dest='hosts',
            help='Show this host (repeat for several)',
        )  # fmt: skip
        parser.add_argument(
            '--plot', metavar='<file>', help='Draw it too, as SVG; the name ends with .svg'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        length, step = VIEWS[parsed_args.view]
        if parsed_args.plot and not parsed_args.plot.endswith('.svg'):
            raise exceptions.CommandError(
                f'--plot {parsed_args.plot}: give a name that ends with .svg, the only format that is written'
            )
        since = seconds(parsed_args.since) if parsed_args.since else now() // HOUR * HOUR
        found = self.market.lease_calendar(since=stamp(since), until=stamp(since + length))
        wanted = parsed_args.hosts
        hosts = [one for one in found.hosts if not wanted or one['host'] in wanted]
        if parsed_args.plot:
            _write(Path(parsed_args.plot), hosts, since, length)
        title = f'{stamp(since)}, {step // HOUR} h each'
        rows = [
            (
                one['host'],
                f'{one["cores"]:g}',
                ''.join(_cell(one, since + at, step) for at in range(0, length, step)),
                len(one['leases']),
            )
            for one in hosts
        ]
        return ('Host', 'Cores', title, 'Leases'), rows


def _cell(host: Mapping[str, Any], start: float, step: float) -> str:
    if not host['usable']:
        return AWAY
    part = max((one for at, one in booked_parts(host, start, start + step)), default=0.0)
    if part <= 0:
        return EMPTY
    return FULL if part >= 1 - 1e-9 else DIGITS[min(int(10 * part), 9) - 1 if part >= 0.1 else 0]


def booked_parts(
    host: Mapping[str, Any], start: float, end: float
) -> Sequence[tuple[float, float]]:
    """(from when on, part of the cores that is booked) between these two."""
    free = [(seconds(one['start']), one['cores']) for one in host['free']]
    ends = [*(at for at, _ in free[1:]), float('inf')]
    cores = host['cores'] or 1.0
    return [
        (max(at, start), 1.0 - left / cores)
        for (at, left), until in zip(free, ends, strict=True)
        if until > start and at < end
    ]


def _write(path: Path, hosts: Sequence[Mapping[str, Any]], since: float, length: float) -> None:
    """A panel for each host.

    :raises CommandError: the file cannot be written.
    """
    end = since + length
    steps = {one['host']: dict(booked_parts(one, since, end)) for one in hosts}
    times = sorted({since, end, *(at for found in steps.values() for at in found)})
    panels = []
    for one in hosts:
        values, last = [], 0.0
        for at in times:
            last = steps[one['host']].get(at, last)
            values.append(last * one['cores'])
        limit = Line(name='cores', values=[one['cores']] * len(times), dashed=True)
        panels.append(Panel(title=one['host'], lines=[Line(name='booked', values=values), limit]))
    try:
        path.write_text(svg('Leases', times, panels), encoding='utf-8')
    except OSError as error:
        raise exceptions.CommandError(f'--plot {path}: {error.strerror}') from None
