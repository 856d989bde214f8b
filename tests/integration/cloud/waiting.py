# SPDX-License-Identifier: Apache-2.0
"""Waits for what the cloud does: with a line of progress, and a limit that says something hangs.

How long a real Nova takes says something about the machine. So a test waits `until` a condition holds, and
`within` a time only where the documentation promises this time.
"""

import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

PATIENCE = 600.0
"""Seconds: three times what the longest of these waits takes on two cores that other programs use as well."""

PROGRESS = 30.0
"""Seconds between two lines."""

PAUSE = 0.2

printers: list[Callable[[str], object]] = [lambda text: sys.stderr.write(f'{text}\n')]
"""The last one prints what must not wait for the end of the test."""


def say_now(text: str) -> None:
    """A line for whoever waits beside the run."""
    printers[-1](text)


def until(
    ask: Callable[[], object],
    limit: float = PATIENCE,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Seconds until ask() is true.

    :raises AssertionError: after `limit` seconds; names the line of the test.
    """
    return _waited(ask, limit, monotonic, sleep)


def within(seconds: float, ask: Callable[[], object]) -> float:
    """Seconds until ask() is true, which is promised for so many.

    :raises AssertionError: the promise was not kept.
    """
    return _waited(ask, seconds, time.monotonic, time.sleep)


def _waited(
    ask: Callable[[], object],
    limit: float,
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> float:
    # the frame of who called `until` or `within`
    asks = traceback.extract_stack(limit=3)[0]
    line = f'{Path(asks.filename).name}:{asks.lineno}: {asks.line}'
    began = monotonic()
    due = PROGRESS
    while not ask():
        passed = monotonic() - began
        assert passed < limit, f'not within {limit:.0f} s: {line}'
        if passed >= due:
            due += PROGRESS
            say_now(f'waits for {passed:.0f} s, {limit:.0f} at most: {line}')
        sleep(PAUSE)
    return monotonic() - began
