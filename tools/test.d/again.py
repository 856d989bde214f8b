#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the few tests of a stage that failed once more: alone, in a process of their own, up to twice.

    again.py [--seconds N] DIRECTORY NAME COMMAND...

COMMAND is the pytest of the stage NAME with all its arguments, which wrote its report to DIRECTORY/NAME.xml.
Arguments are added to it: it finds by its cache what failed, and takes one process only. A stage with real
guests, brokers and databases may fail a test because the machine did something else for a second; a defect
fails it each time. report.py prints tests that pass now as flaky, with the error that they had.

Nothing is repeated when more than MOST tests failed, which is a break and no disturbance, or when a process
of the stage crashed, as then it is not known what else would have failed. All repeats together take N seconds
at most (by default SECONDS); what has not passed until then has failed. Their reports are NAME-again1.xml and
NAME-again2.xml. The exit status is 0 when every test that had failed has passed.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from report import Test, cases, outcome

MOST = 5
"""Failed tests that are run once more."""

REPEATS = 2

SECONDS = 600.0
"""For all repeats of a stage."""


def failed_tests(report: Path) -> set[Test]:
    """Each test that failed, or whose set-up or tear-down did."""
    return {test for test, case in cases(report) if outcome(case) == 'failed'}


def crashed(report: Path) -> bool:
    """Did a process end in the middle of a test? pytest-xdist reports that as a failure of the test."""
    return 'crashed while running' in report.read_text(encoding='utf-8')


def why_not(report: Path) -> str:
    """Why nothing is run once more; empty when something is."""
    count = len(failed_tests(report))
    if not count:
        return 'no test failed'
    if count > MOST:
        return f'{count} tests failed, more than {MOST}: they are not run once more'
    if crashed(report):
        return 'a process crashed: nothing is run once more'
    return ''


def run(command: Sequence[str], seconds: float) -> int:
    """The exit status; a command that has not ended in time is killed, with what it started."""
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        say(f'not done after {seconds:.0f} s: it is ended')
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 1


def say(text: str) -> None:
    print(f'again: {text}', file=sys.stderr, flush=True)


def main(directory: Path, name: str, command: Sequence[str], seconds: float) -> int:
    """The exit status of the stage."""
    report = directory / f'{name}.xml'
    if problem := why_not(report):
        say(f'{name}: {problem}')
        return 1
    deadline = time.monotonic() + seconds
    for number in range(1, REPEATS + 1):
        for test in sorted(failed_tests(report)):
            say(f'{"::".join(test)} failed and runs once more, alone ({number} of {REPEATS})')
        report = directory / f'{name}-again{number}.xml'
        alone = ('-n0', '--lf', '--lfnf=none', f'--junit-xml={report}')
        if run([*command, *alone], max(deadline - time.monotonic(), 0.0)) == 0:
            return 0
        if not failed_tests(report):
            break
    return 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--seconds', type=float, default=SECONDS, metavar='N')
    parser.add_argument('directory', type=Path)
    parser.add_argument('name')
    parser.add_argument('command', nargs=argparse.REMAINDER)
    return parser.parse_args()


if __name__ == '__main__':
    given = arguments()
    sys.exit(main(given.directory, given.name, given.command, given.seconds))
