# SPDX-License-Identifier: Apache-2.0
"""Refuses real time and processes to the tests that are said to need neither.

A test without one of the marks below runs in stage `gate` of tools/test, is never repeated, and rejects a
change when it fails: its outcome must not depend on what else the machine does. time.sleep for longer than
MOMENT and the start of a process raise NotInTheGate there, also in threads that a test has started.
"""

import subprocess
import time
from typing import Any

MARKS = frozenset(
    {'clock', 'integration', 'alone', 'nightly', 'measured', 'cloud', 'nova', 'benchmark'}
)
"""Of tests that may wait and start processes."""

MOMENT = 0.1
"""Seconds that a test may let other threads run."""

FONTS = 'fc-list'
"""A program that matplotlib asks for the fonts of a machine when it is imported there for the first time."""


class NotInTheGate(BaseException):
    """Not an Exception: code under test that goes on after any error must not go on after this one."""


class Gate:
    """Of one process; `test` is the test of the gate that runs in it, or empty."""

    def __init__(self) -> None:
        self.test = ''

    def close(self) -> None:
        """Put itself before time.sleep and subprocess.Popen, for the life of the process."""
        sleep, start = time.sleep, subprocess.Popen.__init__

        def guarded_sleep(seconds: float) -> None:
            if seconds > MOMENT:
                self.refuse(f'sleeps {seconds} s')
            sleep(seconds)

        def guarded_start(process: Any, args: Any, *more: Any, **options: Any) -> None:
            words = [args] if isinstance(args, str) else list(args)
            if words[:1] != [FONTS]:
                self.refuse(f'starts {words}')
            start(process, args, *more, **options)

        time.sleep = guarded_sleep
        popen: Any = subprocess.Popen
        popen.__init__ = guarded_start

    def refuse(self, what: str) -> None:
        """:raises NotInTheGate: when a test of the gate runs."""
        if self.test:
            raise NotInTheGate(
                f'{self.test} {what}: mark it `clock`, or give it a clock of its own'
            )
