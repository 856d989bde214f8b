# SPDX-License-Identifier: Apache-2.0
"""nova-market-playground in a terminal: the client works, Ctrl-C ends it, nothing is left."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.functional, pytest.mark.clock]

PATIENCE = 600
"""Seconds: other tests may have the machine."""

CTRL_C = 'Ctrl-C ends it'


@contextmanager
def started(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process group of its own, as a terminal gives it, with everything of its environment in `home`."""
    environment = {
        'PATH': os.environ['PATH'], 'PYTHONPATH': os.environ.get('PYTHONPATH', ''), 'LC_ALL': 'C.UTF-8',
        'HOME': str(home), 'TMPDIR': str(home), 'XDG_RUNTIME_DIR': str(home), 'PYTHONDONTWRITEBYTECODE': '1',
        'XDG_CACHE_HOME': str(home / 'cache'),
        'NOVA_MARKET_RUN': os.environ['NOVA_MARKET_RUN'],
    }  # fmt: skip
    made = subprocess.Popen(
        [sys.executable, '-m', 'nova_market.cmd.playground', '--port', '0', *words],
        cwd=home, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield made
    finally:
        if made.poll() is None:
            os.killpg(made.pid, signal.SIGKILL)
        made.communicate()


def greeting(made: subprocess.Popen[str]) -> str:
    """What it prints when it runs."""
    assert made.stdout is not None
    lines = []
    for line in made.stdout:
        lines.append(line)
        if CTRL_C in line:
            return ''.join(lines)
    assert made.stderr is not None
    raise AssertionError(''.join(lines) + made.stderr.read())


def members(group: int) -> list[str]:
    """Processes of this group that live."""
    found = []
    for path in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != 'Z':
            found.append(path.parent.name)
    return found


def interrupted(made: subprocess.Popen[str]) -> str:
    """Ctrl-C reaches the whole group; what it prints on stderr then."""
    os.killpg(made.pid, signal.SIGINT)
    _, err = made.communicate(timeout=PATIENCE)
    assert made.returncode == 0, err
    assert members(made.pid) == []
    return err


def clock(folder: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((folder / 'clock.json').read_text())
    return found


@pytest.mark.timeout(3 * PATIENCE)
def test_from_start_to_start(tmp_path: Path) -> None:
    """It prints an address and logins, `openstack` works in its shell, and a second one is refused.

    Ctrl-C ends it, and leaves no process and no file elsewhere. The next start goes on from there.
    """
    folder = tmp_path / 'playground'
    with started(tmp_path, '--speed', '60') as made:
        shown = greeting(made)
        assert re.search(r'^The market is at http://127\.0\.0\.1:\d+/market', shown)
        assert re.findall(r'^ {4}(\w+) +\S{20} +(\w+) of project', shown, re.MULTILINE) == [
            ('alice', 'member'), ('bob', 'member'), ('operator', 'admin'),
        ]  # fmt: skip
        assert members(made.pid) == [str(made.pid)]
        with started(tmp_path) as second:
            _, err = second.communicate(timeout=PATIENCE)
            assert second.returncode == 1 and 'runs in' in err.splitlines()[-1]
        words = ['alice', 'openstack', 'market', 'price', 'show', '-f', 'json']
        done = subprocess.run(
            [folder / 'shell', *words],
            cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE,
            env={**os.environ, 'HOME': str(tmp_path)},
        )  # fmt: skip
        assert {one['Resource'] for one in json.loads(done.stdout)} == {'cpu', 'memory'}
        before = clock(folder)
        err = interrupted(made)
    assert (
        err.splitlines(keepends=True)[-1]
        == f'saved in {folder}; the same command goes on from there\n'
    )
    assert sorted(one.name for one in tmp_path.iterdir()) == ['cache', 'playground']
    ended = clock(folder)
    assert ended['wall'] >= before['wall'] and ended['speed'] == 0
    time.sleep(1)
    with started(tmp_path, '--speed', '0.1') as made:
        greeting(made)
        now = clock(folder)
        assert ended['wall'] <= now['wall'] < ended['wall'] + 3600
        interrupted(made)
