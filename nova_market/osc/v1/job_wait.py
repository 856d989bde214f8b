# SPDX-License-Identifier: Apache-2.0
"""Waits until jobs have ended, and shows where they are in one line.

On a terminal the line is written over; elsewhere a new one is written when something has changed. The service
may be away for a while: the jobs run on, and so does the waiting.
"""

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from keystoneauth1.exceptions import ClientException, HttpError
from openstack.exceptions import HttpException, SDKException

from nova_market.core.text import one_line
from nova_market.osc.v1.job_argument import NumberArgument
from nova_market.sdk.v1.job import LIVE

INTERVAL = 5.0
"""Seconds between two looks at the service."""

AWAY = 'the service does not answer; the jobs run on, trying again'

OUTAGES = (SDKException, ClientException)
"""What a request raises: openstacksdk lets errors of the connection and of Keystone through."""


def add_interval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--interval',
        metavar='<seconds>',
        type=NumberArgument(0.01, 'a number of seconds'),
        default=INTERVAL,
        help=f'Seconds between two looks while it waits, default {INTERVAL:g}',
    )


def warn(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f'{text}\n')


class LiveLine:
    """One line on a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._last = ''

    def show(self, text: str) -> None:
        """Put this in the place of what was shown last."""
        plain = one_line(text)
        if plain == self._last:
            return
        self._last = plain
        if self._terminal:
            # one column stays free: some terminals begin a new line after the last one
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f'\r{plain[:width]}\x1b[K')
        else:
            self._stream.write(f'{plain}\n')
        self._stream.flush()

    def end(self) -> None:
        """Let the last text stand."""
        if self._terminal and self._last:
            self._stream.write('\n')
            self._stream.flush()


def wait_for(
    read: Callable[[], Sequence[Any]],
    show: Callable[[str], None],
    interval: float = INTERVAL,
    sleep: Callable[[float], None] = time.sleep,
) -> Sequence[Any]:
    """The jobs when all of them have ended. read: the jobs as they are; show: takes the line.

    :raises HttpException: the service refuses to show them, such as when they were deleted.
    :raises HttpError: Keystone refuses a new token.
    """
    while True:
        try:
            jobs = read()
        except OUTAGES as error:
            if not passes(error):
                raise
            show(AWAY)
        else:
            show(line_of(jobs))
            if all(one.ended for one in jobs):
                return jobs
        sleep(interval)


def passes(error: SDKException | ClientException) -> bool:
    """May the same request be answered later? False: the service or Keystone has refused it."""
    if isinstance(error, HttpException):
        status = error.status_code
    elif isinstance(error, HttpError):
        status = error.http_status
    else:
        return True
    return not status or status >= 500


def line_of(jobs: Sequence[Any]) -> str:
    """Where jobs are, in a line: the state, why the first one waits, and when it may start."""
    if len(jobs) == 1:
        where = jobs[0].state
        if jobs[0].state == 'running' and jobs[0].started_at:
            where += f' since {jobs[0].started_at}'
        if jobs[0].attempt and jobs[0].attempt > 1:
            where += f' (attempt {jobs[0].attempt})'
        label = jobs[0].label
    else:
        counts = Counter(one.state for one in jobs)
        known = [*LIVE, *sorted(counts.keys() - set(LIVE))]
        where = ', '.join(f'{counts[state]} {state}' for state in known if counts[state])
        label = jobs[0].name
    first = next((one for one in jobs if not one.ended and one.reason), None)
    if first is None and len(jobs) == 1 and jobs[0].reason:
        first = jobs[0]
    parts = [f'{label}: {where}']
    if first is not None and first.reason.get('text'):
        parts.append(str(first.reason['text']))
    starts = sorted(one.expected_start for one in jobs if not one.ended and one.expected_start)
    if starts:
        parts.append(f'expected to start at {starts[0]}')
    return '; '.join(parts)


def exit_status(jobs: Sequence[Any]) -> int:
    """0 when all have finished; otherwise the largest exit code, 1 where a job has none.

    As sbatch --wait has it. A job without an exit code was cancelled, lost, or ended by the service.
    """
    return max(
        (0 if one.state == 'finished' else _status(one.exit_code) for one in jobs), default=0
    )


def _status(code: int | None) -> int:
    return code if code is not None and 0 < code < 256 else 1
