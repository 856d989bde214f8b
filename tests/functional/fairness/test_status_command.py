# SPDX-License-Identifier: Apache-2.0
"""`nova-fairness status` as a monitoring program calls it: its exit status is the state of the service."""

import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from nova_market.cmd.program import EXIT_FAILED, EXIT_LATE, EXIT_NOT_RUNNING
from tests.support.status_builders import document, guest

pytestmark = [pytest.mark.functional, pytest.mark.clock]


def status(state, *words):
    """The command, with this directory as state_path."""
    file = state.with_suffix('.conf')
    file.write_text(f'[fairness]\nstate_path = {state}\n')
    program = [sys.executable, '-m', 'nova_market.cmd.fairness', f'--config-file={file}']
    return subprocess.run(
        [*program, 'status', *words], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def state(tmp_path):
    made = tmp_path / 'state'
    made.mkdir()
    return made


HOUR = 3600.0


def write(state, age, **under_way):
    """What a service leaves whose last round was so many seconds ago; below 0 it is young for long."""
    shown = document(guest('instance-00000001'), at=time.time() - age)
    (state / 'status.json').write_text(json.dumps(shown))
    (state / 'round.json').write_text(json.dumps(under_way))


@contextmanager
def service(state):
    """Holds the directory, as a service that runs does."""
    with open(state / 'lock', 'a+') as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def test_rounds_in_time_are_fine(state):
    write(state, -HOUR)
    with service(state):
        found = status(state)
    assert (found.returncode, found.stderr) == (0, '')


def test_late_rounds_have_an_exit_status_of_their_own(state):
    """With the phase of the round that hangs; a program finds the same in the document."""
    write(state, HOUR, format=1, began=time.time() - HOUR / 2, phase='apply')
    with service(state):
        found, read = status(state), status(state, '-f', 'json')
    assert found.returncode == read.returncode == EXIT_LATE
    assert 'WARNING: the last round was 36' in found.stdout
    assert 'in the phase apply' in found.stdout
    shown = json.loads(read.stdout)
    assert (shown['running'], shown['late'], shown['under_way']['phase']) == (True, True, 'apply')


def test_a_service_that_does_not_run(state):
    """However young its last round is."""
    write(state, -HOUR)
    found = status(state)
    assert found.returncode == EXIT_NOT_RUNNING and 'NOT running' in found.stdout


def test_without_a_status_it_names_the_way_into_a_container(state):
    """Also while a service runs that has another directory of this name."""
    found = status(state)
    assert (found.returncode, found.stdout) == (EXIT_FAILED, '')
    assert f'no status in {state}/status.json' in found.stderr
    assert 'nova-fairness status --pid PID' in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_process_that_is_none(state):
    found = status(state, '--pid', str(2**22 + 1))
    assert found.returncode == EXIT_FAILED
    assert '--pid 4194305: there is no such process, or you may not look into it' in found.stderr


def test_a_process_without_a_status_in_there(state):
    """It is not asked for a process id again, but told of links, which lead out of a container."""
    found = status(state, '--pid', str(os.getpid()))
    assert (found.returncode, found.stdout) == (EXIT_FAILED, '')
    assert f'no status in /proc/{os.getpid()}/root{state}/status.json' in found.stderr
    assert 'symbolic link' in found.stderr and 'status --pid PID' not in found.stderr
