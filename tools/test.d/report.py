#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The end of tools/test: the slowest tests, what each stage took, and one line that sums up all tests.

    report.py DIRECTORY

The directory has the line `NAME STATUS SECONDS` for each stage in the file `stages`, and NAME.xml, pytest's
report in JUnit's format, for each stage that ran tests. Where again.py ran tests of a stage once more, there
is NAME-again1.xml, and perhaps NAME-again2.xml: a test that failed in its stage and passed there has passed,
and is listed as flaky with the error that it had.

The last line is `N passed, N failed`, followed by `, N skipped` where tests were skipped. A stage that failed
though no test of it did (a check, a crash) counts as one failure. The exit status is 1 when anything failed.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

SLOWEST = 10
"""Tests that are listed."""


Test = tuple[str, str]
"""Class name and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of tools/test.

    durations: seconds of each of its tests, with set-up and tear-down
    flaky:     the first line of the error of each test that failed, and passed when it ran once more
    """

    name: str
    status: int
    seconds: int
    outcomes: Counter[str] = field(default_factory=Counter)
    durations: list[tuple[float, Test]] = field(default_factory=list)
    flaky: dict[Test, str] = field(default_factory=dict)

    @property
    def failures(self) -> int:
        return self.outcomes['failed'] or int(self.status != 0)


def cases(report: Path) -> Iterator[tuple[Test, ElementTree.Element]]:
    """Of a run that was killed before it wrote its report: none."""
    if report.exists() and report.stat().st_size:
        for case in ElementTree.parse(report).iter('testcase'):
            yield (case.get('classname', ''), case.get('name', '')), case


def outcome(case: ElementTree.Element) -> str:
    """passed, failed or skipped; an expected failure (xfail) has passed."""
    found = {child.tag: child for child in case}
    if 'failure' in found or 'error' in found:
        return 'failed'
    if 'skipped' in found and found['skipped'].get('type') != 'pytest.xfail':
        return 'skipped'
    return 'passed'


def first_error(case: ElementTree.Element) -> str:
    """The first line of what pytest says of a failure."""
    for found in (case.find('failure'), case.find('error')):
        if found is not None:
            return (found.get('message') or 'no message').splitlines()[0]
    return ''


def read_stage(directory: Path, line: str) -> Stage:
    """A stage and its tests; one that failed twice, in itself and when it was torn down, counts once."""
    name, status, seconds = line.split()
    stage = Stage(name=name, status=int(status), seconds=int(seconds))
    outcomes: dict[Test, str] = {}
    errors: dict[Test, str] = {}
    for test, case in cases(directory / f'{name}.xml'):
        stage.durations.append((float(case.get('time', 0)), test))
        if outcomes.get(test) != 'failed':
            outcomes[test] = outcome(case)
        if error := first_error(case):
            errors.setdefault(test, error)
    for report in sorted(directory.glob(f'{name}-again[0-9].xml')):
        again: dict[Test, set[str]] = {}
        for test, case in cases(report):
            again.setdefault(test, set()).add(outcome(case))
        for test in (test for test, found in again.items() if found == {'passed'}):
            if outcomes.get(test) == 'failed':
                outcomes[test] = 'passed'
                stage.flaky[test] = errors[test]
    stage.outcomes.update(outcomes.values())
    return stage


def main(directory: Path) -> int:
    """Print the report; the exit status."""
    lines = (directory / 'stages').read_text().splitlines()
    stages = [read_stage(directory, line) for line in lines]
    slowest = sorted((one for stage in stages for one in stage.durations), reverse=True)[:SLOWEST]
    if slowest:
        print(f'\nThe {len(slowest)} slowest tests:')
        for seconds, test in slowest:
            print(f'  {seconds:7.1f} s  {"::".join(test)}')
    print('\nStages:')
    for stage in stages:
        verdict = 'FAILED' if stage.failures else 'passed'
        print(f'  {stage.seconds:7d} s  {stage.name}: {verdict}')
    flaky = {test: error for stage in stages for test, error in stage.flaky.items()}
    if flaky:
        print(f'\nFlaky ({len(flaky)}): failed, and passed when run once more, alone:')
        for test, error in sorted(flaky.items()):
            print(f'  {"::".join(test)}: {error}')
    total: Counter[str] = sum((stage.outcomes for stage in stages), Counter())
    failed = sum(stage.failures for stage in stages)
    skipped = f', {total["skipped"]} skipped' if total['skipped'] else ''
    print(f'\n{total["passed"]} passed, {failed} failed{skipped}')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1])))
