#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the tests that measure the machine, of several runs of each.

    measured.py DIRECTORY

The directory has measured-N.xml, pytest's report of run N. For each test it prints a line: the verdict, the
median of each figure that the test has recorded, how much of the CPUs others used in the worst run, and of
which it failed. The verdict is

passed        it passed in most of its runs
inconclusive  it did not, and in a run that failed others used more than DISTURBED of the CPUs
failed        it did not, though it had the machine for itself

The exit status is 1 when a test has failed. Nothing that lands depends on these tests.
"""

import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from report import Test, cases, first_error, outcome

DISTURBED = 0.1
"""Part of the CPU time of the machine."""

NOISE = 'noise'
"""The property that tests/conftest.py records: part of the CPU time that others used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a test; error: the first line, empty when it passed."""

    error: str
    noise: float
    figures: dict[str, float]


def run_of(case: ElementTree.Element) -> Run:
    figures: dict[str, float] = {}
    for one in case.iter('property'):
        try:
            figures[one.get('name', '')] = float(one.get('value', ''))
        except ValueError:
            continue
    return Run(error=first_error(case), noise=figures.pop(NOISE, 0.0), figures=figures)


def verdict(runs: list[Run]) -> str:
    """passed, inconclusive or failed."""
    failed = [one for one in runs if one.error]
    if 2 * len(failed) < len(runs):
        return 'passed'
    return 'inconclusive' if max(one.noise for one in failed) > DISTURBED else 'failed'


def described(runs: list[Run]) -> str:
    """Medians, noise and failures."""
    names = sorted({name for one in runs for name in one.figures})
    medians = [
        f'{name} {statistics.median([one.figures[name] for one in runs if name in one.figures]):.3g}'
        for name in names
    ]
    errors = [f'run {n}: {one.error}' for n, one in enumerate(runs, 1) if one.error]
    return '; '.join([*medians, f'others {max(one.noise for one in runs):.0%}', *errors])


def main(directory: Path) -> int:
    runs: dict[Test, list[Run]] = defaultdict(list)
    for report in sorted(directory.glob('measured-[0-9]*.xml')):
        for test, case in cases(report):
            if outcome(case) != 'skipped':
                runs[test].append(run_of(case))
    verdicts = {test: verdict(found) for test, found in runs.items()}
    print('\nMeasured, each with its control:')
    for test, found in sorted(runs.items()):
        print(f'  {verdicts[test]:12}  {"::".join(test)}: {described(found)}')
    return int('failed' in verdicts.values())


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1])))
