#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The end of tools/test: the slowest tests, what each stage took, and one line that sums up all tests.

    report.py DIRECTORY

The directory has the line `NAME STATUS SECONDS` for each stage in the file `stages`, and NAME.xml, pytest's
report in JUnit's format, for each stage that ran tests. The last line is `N passed, N failed`, followed by
`, N skipped` where tests were skipped. A stage that failed though no test of it did (a check, a crash) counts
as one failure. The exit status is 1 when anything failed.
"""

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

SLOWEST = 10
"""Tests that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of tools/test; durations: seconds of each of its tests, with set-up and tear-down."""

    name: str
    status: int
    seconds: int
    outcomes: Counter[str] = field(default_factory=Counter)
    durations: list[tuple[float, str]] = field(default_factory=list)

    @property
    def failures(self) -> int:
        return self.outcomes['failed'] or int(self.status != 0)


def outcome(case: ElementTree.Element) -> str:
    """passed, failed or skipped; an expected failure (xfail) has passed."""
    found = {child.tag: child for child in case}
    if 'failure' in found or 'error' in found:
        return 'failed'
    if 'skipped' in found and found['skipped'].get('type') != 'pytest.xfail':
        return 'skipped'
    return 'passed'


def read_stage(directory: Path, line: str) -> Stage:
    """A stage and its tests; those of a run that was killed before it wrote its report are not known."""
    name, status, seconds = line.split()
    stage = Stage(name=name, status=int(status), seconds=int(seconds))
    path = directory / f'{name}.xml'
    if path.exists() and path.stat().st_size:
        for case in ElementTree.parse(path).iter('testcase'):
            stage.outcomes[outcome(case)] += 1
            title = f'{case.get("classname")}::{case.get("name")}'
            stage.durations.append((float(case.get('time', 0)), title))
    return stage


def main(directory: Path) -> int:
    """Print the report; the exit status."""
    lines = (directory / 'stages').read_text().splitlines()
    stages = [read_stage(directory, line) for line in lines]
    slowest = sorted((one for stage in stages for one in stage.durations), reverse=True)[:SLOWEST]
    if slowest:
        print(f'\nThe {len(slowest)} slowest tests:')
        for seconds, title in slowest:
            print(f'  {seconds:7.1f} s  {title}')
    print('\nStages:')
    for stage in stages:
        verdict = 'FAILED' if stage.failures else 'passed'
        print(f'  {stage.seconds:7d} s  {stage.name}: {verdict}')
    total: Counter[str] = sum((stage.outcomes for stage in stages), Counter())
    failed = sum(stage.failures for stage in stages)
    skipped = f', {total["skipped"]} skipped' if total['skipped'] else ''
    print(f'\n{total["passed"]} passed, {failed} failed{skipped}')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1])))
