# SPDX-License-Identifier: Apache-2.0
"""Tests in several processes: what tests/conftest.py promises holds there as well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import group

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[2]


def run(directory: Path, *arguments: str, **modules: str) -> tuple[int, str]:
    """(exit status, output) of pytest in two processes on these modules, with CI=true."""
    for name, source in modules.items():
        (directory / f'test_{name}.py').write_text(source)
    where = ['-c', str(ROOT / 'pyproject.toml'), '--rootdir', str(directory), str(directory)]
    plugins = ['-p', 'tests.conftest', '-p', 'no:cacheprovider']
    python_path = os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
    processes = ['-n', '2', '--max-worker-restart', '0']
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', *plugins, *processes, *arguments, *where],
        env={**os.environ, 'CI': 'true', 'PYTHONPATH': python_path},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    return done.returncode, done.stdout


def test_what_must_not_pass_fails(tmp_path: Path) -> None:
    """A skip, a warning, a module that cannot be imported or skips itself; the others run all the same."""
    status, output = run(
        tmp_path,
        '--continue-on-collection-errors',
        good='def test_good(): pass\ndef test_good_too(): pass\n',
        skip='import pytest\ndef test_skip(): pytest.skip("no such thing here")\n',
        warn='import warnings\ndef test_warn(): warnings.warn("beware")\n',
        absent='import no_such_module\n',
        skipped='import pytest\npytest.importorskip("no_such_library")\n',
    )
    assert status == 1
    assert 'CI=true allows no skip: Skipped: no such thing here' in output
    assert 'UserWarning: beware' in output
    assert "No module named 'no_such_module'" in output
    assert "could not import 'no_such_library'" in output
    assert '2 failed, 2 passed' in output and '2 errors' in output


def test_a_process_that_crashes_is_a_failure(tmp_path: Path) -> None:
    """Even one that ends with status 0."""
    good = 'def test_good(): pass\n'
    status, output = run(tmp_path, good=good, crash='import os\ndef test_crash(): os._exit(0)\n')
    assert status == 1
    assert "crashed while running 'test_crash.py::test_crash" in output


def test_what_needs_neither_time_nor_processes_has_none(tmp_path: Path) -> None:
    """A test without a mark may not wait and not start a program, in a thread or a fixture neither."""
    sleeps = 'import time\ndef test_sleeps(): time.sleep(0.2)\n'
    status, output = run(
        tmp_path,
        sleeps=sleeps,
        marked=f'import pytest\npytestmark = pytest.mark.clock\n{sleeps}',
        moment='import time\ndef test_moment(): time.sleep(0.01)\n',
        starts='import subprocess\ndef test_starts(): subprocess.run(["true"], check=True)\n',
        fixture='import pytest, time\n@pytest.fixture\ndef slow(): time.sleep(1)\n'
        'def test_slow(slow): pass\n',
        thread='import threading, time\ndef test_thread():\n'
        '    one = threading.Thread(target=time.sleep, args=(0.2,))\n    one.start()\n    one.join()\n',
    )
    assert status == 1
    assert 'NotInTheGate: test_sleeps.py::test_sleeps sleeps 0.2 s: mark it `clock`' in output
    assert "test_starts.py::test_starts starts ['true']" in output
    assert 'test_fixture.py::test_slow sleeps 1 s' in output
    assert 'test_thread.py::test_thread sleeps 0.2 s' in output
    assert '3 failed, 2 passed' in output and '1 error' in output


SAME = """
import os
def note():
    with open({path!r}, 'a') as file: print(os.getpid(), file=file)
def test_process(): note()
def test_process_again(): note()
"""


def test_tests_of_one_server_share_a_process(tmp_path: Path) -> None:
    """A server is started once, whichever files its tests are in; others are divided."""
    numbers = {name: tmp_path / f'processes-{name}' for name in ('rabbit', 'other')}
    sources = {name: SAME.format(path=str(path)) for name, path in numbers.items()}
    modules = {f'{name}_{n}': source for name, source in sources.items() for n in range(4)}
    status, output = run(tmp_path, **modules)
    assert status == 0, output
    used = {name: path.read_text().split() for name, path in numbers.items()}
    assert [len(one) for one in used.values()] == [8, 8]
    assert len(set(used['rabbit'])) == 1
    assert set(used['other']) - set(used['rabbit'])


def test_tests_with_guests_share_a_process() -> None:
    """Two guests of one UUID, at the same time, would be taken for each other."""
    ids = [
        'tests/contract/hypervisor/test_actuator.py::test_both_ends[libvirt-cpu]',
        'tests/integration/fairness/test_outage.py::test_a_broker_away',
        'tests/integration/cloud/test_testbed.py::test_two_hosts',
        'tests/integration/market/test_enforcement.py::test_bids',
    ]
    assert {group(one) for one in ids} == {'guests'}
    assert group('tests/unit/core/test_share.py::test_a_sum') == 'tests/unit/core/test_share.py'
