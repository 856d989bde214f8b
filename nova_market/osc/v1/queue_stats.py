# SPDX-License-Identifier: Apache-2.0
"""`openstack market queue stats`: what a queue used and did over time, as a table and as a plot (rule J6)."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from osc_lib import exceptions

from nova_market.core.timestamp import seconds, stamp
from nova_market.osc.v1.job_columns import MINUTES
from nova_market.osc.v1.market_command import MarketLister
from nova_market.osc.v1.price import add_window
from nova_market.osc.v1.step_plot import Line, Panel, svg
from nova_market.osc.v1.time_argument import DURATION, duration_argument

ALL = 'all'
"""As the API's: no queue has this name."""

MINUTE = 60
LONGEST_GAP = 2 * MINUTE
"""Seconds between two rows of one minute, above which nothing is known of the time between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Several minutes together: means of what is used, counts at the end, sums of what happened."""

    at: str
    cores: float
    share: float
    waiting: int
    running: int
    started: int
    finished: int
    failed: int
    preempted: int


class QueueStats(MarketLister):
    """Show what the jobs of a queue used and did over time, newest first

    One row for each minute: cores and share are means, waiting and running are counts at its end, the others
    are sums. With --every several minutes are one row. With --plot the same is drawn as well. Without a queue
    (or with "all"), operators see all queues together; share is the part of the whole cloud.

    Examples, an hour by five minutes, a plot, and the cloud's day::

        openstack market queue stats --every 5m render
        openstack market queue stats --since 6h --plot render.svg render
        openstack market queue stats --since yesterday --every 1h
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'queue',
            metavar='<queue>',
            nargs='?',
            default=ALL,
            help=f'Name or id of a queue; {ALL}, the default: all together (admin only)',
        )
        add_window(parser, 'an hour ago')
        parser.add_argument(
            '--every',
            metavar=DURATION,
            type=duration_argument,
            default=MINUTE,
            help='Length of time of one row, such as 1h; default 1m',
        )
        parser.add_argument(
            '--plot', metavar='<file>', help='Draw it too, as SVG; the name ends with .svg'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        every, path = parsed_args.every, parsed_args.plot
        if every < MINUTE or every % MINUTE:
            raise exceptions.CommandError(f'--every is {every} s: give whole minutes, such as 5m')
        if path and not path.lower().endswith('.svg'):
            raise exceptions.CommandError(
                f'--plot {path}: give a name that ends with .svg, the only format that is written'
            )
        queue = None if parsed_args.queue == ALL else self.market.get_queue(parsed_args.queue)
        found = spans(
            self.market.queue_stats(
                queue.id if queue else ALL, since=parsed_args.since, until=parsed_args.until
            ),
            every,
        )
        if path:
            _write(path, plotted(queue, found, every))
        return self.listed(MINUTES, reversed(found))


def spans(minutes: Iterable[Any], every: int) -> list[Span]:
    """Minutes in groups of `every` seconds, counted from the epoch; oldest first."""
    # an older service has another order than a newer one
    ordered = sorted(minutes, key=lambda one: seconds(one.at))
    return [
        _span(start * every, list(group))
        for start, group in groupby(ordered, key=lambda one: int(seconds(one.at)) // every)
    ]


def plotted(queue: Any, found: Sequence[Span], every: int) -> str:
    """Cores in use, part of the share in use, and jobs, over one axis of time. queue: None for all."""
    times: list[float] = []
    rows: list[Span | None] = []
    for one in found:
        at = seconds(one.at)
        if times and at - times[-1] > max(LONGEST_GAP, 2 * every):
            times.append(times[-1] + every)
            rows.append(None)
        times.append(at)
        rows.append(one)
    if rows:
        # the last row holds as long as the others
        times.append(times[-1] + every)
        rows.append(rows[-1])

    def values(name: str, factor: float = 1.0) -> list[float | None]:
        return [None if one is None else factor * getattr(one, name) for one in rows]

    of_share = [Line(name='in use', values=values('share', 100))]
    if queue is not None:
        granted: list[float | None] = [100 * (queue.share or 0.0)] * len(rows)
        of_share.append(Line(name='share', values=granted, dashed=True))
    inside = queue is not None and queue.aggregate
    where = f'aggregate {queue.aggregate}' if inside else 'the cloud'
    panels = [
        Panel(title='cores in use', lines=[Line(name='cores', values=values('cores'))]),
        Panel(title=f'% of {where}', lines=of_share),
        Panel(
            title='jobs',
            lines=[
                Line(name='running', values=values('running')),
                Line(name='waiting', values=values('waiting')),
                Line(name='preempted', values=values('preempted')),
            ],
        ),
    ]
    return svg(f'Queue {queue.name}' if queue else 'All queues', times, panels)


def _span(start: float, minutes: Sequence[Any]) -> Span:
    count = len(minutes)
    return Span(
        at=stamp(start),
        cores=sum(one.cores for one in minutes) / count,
        share=sum(one.share for one in minutes) / count,
        waiting=minutes[-1].waiting,
        running=minutes[-1].running,
        started=sum(one.started for one in minutes),
        finished=sum(one.finished for one in minutes),
        failed=sum(one.failed for one in minutes),
        preempted=sum(one.preempted for one in minutes),
    )


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding='utf-8')
    except OSError as error:
        raise exceptions.CommandError(f'--plot {path}: {error.strerror}') from None
