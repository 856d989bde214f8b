# SPDX-License-Identifier: Apache-2.0
"""nova_market/testbed/daemons.sh: what a daemon has of the process that launched it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import nova_market.testbed

pytestmark = pytest.mark.clock

SCRIPT = Path(nova_market.testbed.__file__).parent / 'daemons.sh'
LAUNCH = f"""
set -euo pipefail
source '{SCRIPT}'
CGROUP='' PID_DIR=$1 LOG_DIR=$1
trees() {{ :; }} # without root there are no cgroups
exec 9>"$1/lock"
launch sleeper sleep 60
"""


def test_a_daemon_inherits_no_descriptor(tmp_path: Path) -> None:
    """Neither a lock of the script nor a pipe of its caller, whose reader would wait for ever."""
    reader, writer = os.pipe()
    subprocess.run(
        ['bash', '-c', LAUNCH, 'launch', str(tmp_path)],
        pass_fds=[writer],
        stdin=subprocess.DEVNULL,
        timeout=30,
        check=True,
    )
    os.close(writer)
    daemon = int((tmp_path / 'sleeper').read_text())
    try:
        held = {entry.name: os.readlink(entry) for entry in Path(f'/proc/{daemon}/fd').iterdir()}
        log = str(tmp_path / 'sleeper.log')
        assert held == {'0': '/dev/null', '1': log, '2': log}
        assert os.read(reader, 1) == b''
    finally:
        os.kill(daemon, signal.SIGKILL)
        os.close(reader)


def test_waiting_for_a_daemon_prints_progress() -> None:
    """By the function of whoever sources the file; the log is named."""
    done = wait(
        'ready() { tries=$((tries + 1)) && [ "$tries" -eq 3 ]; }; until_ok 20 nova-api ready'
    )
    assert done.returncode == 0
    assert done.stdout == 2 * 'nova-api is not ready yet; see /logs/nova-api.log\n'


def test_a_daemon_that_is_not_ready_may_be_slow() -> None:
    """The error names the log and what to do; not the function that has asked."""
    done = wait('ready() { false; }; until_ok 0 nova-api ready')
    assert done.returncode == 1
    assert done.stderr == (
        'nova-api is not ready after 0 s; see /logs/nova-api.log. '
        'It may only be slow: the same command again goes on from here\n'
    )


def wait(script: str) -> subprocess.CompletedProcess[str]:
    """Runs it for a daemon that is alive."""
    world = f"""
    source '{SCRIPT}'
    LOG_DIR=/logs tries=0
    alive() {{ :; }}
    still() {{ printf '%s\n' "$*"; }}
    die() {{ printf '%s\n' "$*" >&2; exit 1; }}
    {script}
    """
    return subprocess.run(
        ['bash', '-c', world], capture_output=True, text=True, timeout=30, check=False
    )
