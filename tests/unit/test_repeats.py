# SPDX-License-Identifier: Apache-2.0
"""tools/test.d/again.py: what runs once more, and what tools/test counts then, with a real pytest."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.test_test_report import reported

pytestmark = pytest.mark.clock

TOOLS = Path(__file__).resolve().parents[2] / 'tools' / 'test.d'

FAILS = """
from pathlib import Path
def test_{name}():
    runs = Path({path!r})
    number = len(runs.read_text()) if runs.exists() else 0
    runs.write_text('x' * (number + 1))
    assert number >= {times}, 'the machine was busy'
def test_{name}_too(): pass
"""
"""Fails the given number of times, then passes; beside it a test that passes."""


def stage(
    directory: Path, *options: str, seconds: float = 200.0, **modules: str
) -> tuple[str, list[str]]:
    """(standard error, lines of the report) of a stage `field` with these modules, as tools/test runs it."""
    tests, results = directory / 'tests', directory / 'results'
    tests.mkdir()
    results.mkdir()
    for name, source in modules.items():
        (tests / f'test_{name}.py').write_text(source)
    command = [
        *(sys.executable, '-m', 'pytest', '-q', '-c', '/dev/null', '--rootdir', str(tests)),
        *('-o', f'cache_dir={results}/field.cache', f'--junit-xml={results}/field.xml'),
        *(*options, str(tests)),
    ]
    status = subprocess.run(command, capture_output=True, timeout=100, check=False).returncode
    said = ''
    if status == 1:
        again = [
            str(TOOLS / 'again.py'),
            '--seconds',
            str(seconds),
            str(results),
            'field',
            *command,
        ]
        done = subprocess.run(
            [sys.executable, *again], capture_output=True, text=True, timeout=250, check=False
        )
        status, said = done.returncode, done.stderr
    (results / 'stages').write_text(f'field {status} 1\n')
    status, lines = reported(results)
    assert status == (not lines[-1].endswith(' 0 failed')), lines
    return said, lines


def fails(directory: Path, name: str, times: int) -> str:
    return FAILS.format(name=name, path=str(directory / f'runs-{name}'), times=times)


@pytest.mark.parametrize('times', [1, 2])
def test_what_passes_when_it_runs_once_more_is_flaky(tmp_path: Path, times: int) -> None:
    """It has passed, and is named with its first error; what had passed is not run again."""
    said, lines = stage(tmp_path, shaky=fails(tmp_path, 'shaky', times))
    assert lines[-1] == '2 passed, 0 failed'
    assert 'Flaky (1): failed, and passed when run once more, alone:' in lines
    assert '  test_shaky::test_shaky: AssertionError: the machine was busy' in lines
    assert said.count('runs once more') == times
    assert (tmp_path / 'runs-shaky').read_text() == 'x' * (times + 1)


def test_what_fails_three_times_has_failed(tmp_path: Path) -> None:
    """Beside one that is flaky, which does not hide it."""
    modules = {'broken': fails(tmp_path, 'broken', 9), 'shaky': fails(tmp_path, 'shaky', 1)}
    _, lines = stage(tmp_path, **modules)
    assert lines[-1] == '3 passed, 1 failed'
    assert [line for line in lines if 'AssertionError' in line] == [
        '  test_shaky::test_shaky: AssertionError: the machine was busy'
    ]
    assert (tmp_path / 'runs-broken').read_text() == 'xxx'


def test_what_hangs_has_failed(tmp_path: Path) -> None:
    """The repeat is ended after its seconds, with what it started."""
    source = (
        'import os, time\ndef test_hangs():\n    assert os.getenv("FIRST")\n    time.sleep(600)\n'
    )
    hangs = source.replace('assert os.getenv("FIRST")', fails_once(tmp_path))
    said, lines = stage(tmp_path, seconds=4.0, hangs=hangs)
    assert lines[-1] == '0 passed, 1 failed'
    assert 'it is ended' in said


def fails_once(directory: Path) -> str:
    """A statement of a test that fails the first time it runs."""
    path = str(directory / 'ran')
    return f'f = os.path.exists({path!r}); open({path!r}, "w").close(); assert f'


def test_a_process_that_is_killed_is_no_matter_of_single_tests(tmp_path: Path) -> None:
    """Nothing is run once more: what else would have failed is not known."""
    killed = 'import os\ndef test_killed(): os.kill(os.getpid(), 9)\n'
    said, lines = stage(tmp_path, '-n', '2', '--max-worker-restart', '0', killed=killed)
    assert lines[-1] == '0 passed, 1 failed'
    assert 'runs once more' not in said


def test_many_failures_are_a_break(tmp_path: Path) -> None:
    """Six have failed at once; five would run once more."""
    modules = {f'shaky{n}': fails(tmp_path, f'shaky{n}', 1) for n in range(6)}
    said, lines = stage(tmp_path, **modules)
    assert lines[-1] == '6 passed, 6 failed'
    assert '6 tests failed, more than 5' in said


def test_a_stage_that_takes_too_long_has_a_report(tmp_path: Path) -> None:
    """What it has run until then is counted, and the stage has failed."""
    slow = 'import pytest, time\n@pytest.mark.parametrize("n", range(9))\ndef test_slow(n): time.sleep(1)\n'
    _, lines = stage(tmp_path, '--session-timeout', '1', slow=slow)
    passed = int(lines[-1].split()[0])
    assert 1 <= passed < 9
    assert lines[-1] == f'{passed} passed, 1 failed'
