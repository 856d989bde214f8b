# SPDX-License-Identifier: Apache-2.0
"""The end of tools/test: CI reads its last line, so a failure of any kind must be counted there."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[2]

CASE = '<testcase classname="tests.unit.test_x" name="{name}" time="{time}">{inside}</testcase>'
PASSED = CASE.format(name='test_passes', time='0.5', inside='')
ALSO_PASSED = CASE.format(name='test_passes_too', time='0.5', inside='')
SLOW = CASE.format(name='test_slow', time='61.25', inside='')
FAILED = CASE.format(name='test_fails', time='0.1', inside='<failure message="no"/>')
BROKEN = CASE.format(name='test_breaks', time='0.1', inside='<error message="in tear-down"/>')
SKIPPED = CASE.format(name='test_skips', time='0', inside='<skipped type="pytest.skip"/>')
EXPECTED = CASE.format(name='test_expected', time='0', inside='<skipped type="pytest.xfail"/>')


def report(directory: Path, stages: str, **cases: list[str]) -> tuple[int, list[str]]:
    """(exit status, lines); cases: of the stage of that name."""
    (directory / 'stages').write_text(stages)
    for name, found in cases.items():
        suite = f'<testsuites><testsuite>{"".join(found)}</testsuite></testsuites>'
        (directory / f'{name}.xml').write_text(suite)
    return reported(directory)


def reported(results: Path, by: str = 'report.py') -> tuple[int, list[str]]:
    """(exit status, lines) of report.py, or of another script beside it, on a directory of tools/test."""
    done = subprocess.run(
        [sys.executable, str(ROOT / 'tools/test.d' / by), str(results)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == ''
    return done.returncode, done.stdout.splitlines()


def test_all_stages_are_summed_up(tmp_path: Path) -> None:
    """One line, alone and last; the slowest tests come first, and each stage has its seconds."""
    status, lines = report(
        tmp_path,
        'docs 0 12\ntests 0 300\nalone 0 700\n',
        tests=[PASSED, ALSO_PASSED, EXPECTED],
        alone=[PASSED, SLOW],
    )
    assert (status, lines[-1]) == (0, '5 passed, 0 failed')
    assert next(line for line in lines if 'test_' in line).split() == [
        *('61.2', 's', 'tests.unit.test_x::test_slow'),
    ]
    assert '      700 s  alone: passed' in lines


@pytest.mark.parametrize('case', [FAILED, BROKEN], ids=['failure', 'error'])
def test_failures_and_errors_are_failures(tmp_path: Path, case: str) -> None:
    """Also an error in tear-down, which counts once beside its failure; the exit status is not 0."""
    status, lines = report(
        tmp_path, 'nova 0 9\ntests 1 300\n', nova=[PASSED], tests=[PASSED, case, case]
    )
    assert (status, lines[-1]) == (1, '2 passed, 1 failed')


def test_skips_are_counted_where_there_are_some(tmp_path: Path) -> None:
    """Without CI=true a machine may lack what a test needs."""
    status, lines = report(tmp_path, 'tests 0 300\n', tests=[PASSED, SKIPPED])
    assert (status, lines[-1]) == (0, '1 passed, 0 failed, 1 skipped')


@pytest.mark.parametrize('stage', ['checks', 'tests'])
def test_a_stage_that_failed_otherwise_is_a_failure(tmp_path: Path, stage: str) -> None:
    """A check has no tests, and a run that was killed has written no report or one without a failure."""
    cases = {'tests': [PASSED]} if stage == 'tests' else {}
    status, lines = report(tmp_path, f'{stage} 137 4\n', **cases)
    assert (status, lines[-1]) == (1, f'{len(cases)} passed, 1 failed')
    assert f'        4 s  {stage}: FAILED' in lines
