# SPDX-License-Identifier: Apache-2.0
"""`nova-fairness status` of a service that runs in a mount namespace of its own, as in a container."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nova_market.cmd.program import EXIT_FAILED
from tests.support.hypervisor.worlds import wait_for
from tests.support.status_builders import document, guest

pytestmark = [pytest.mark.integration('unshare', 'mount', 'flock')]

INSIDE = """
mount -t tmpfs tmpfs "$1" && cp "$2" "$1/status.json" && exec flock -F "$1/lock" sleep 600
"""
"""A directory that nobody outside has, with a status, held as a service holds it."""


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[int]:
    """Process id of what runs in there."""
    (tmp_path / 'state').mkdir()
    written = tmp_path / 'written'
    written.write_text(json.dumps(document(guest('instance-00000001'), at=time.time() + 3600.0)))
    command = ['unshare', '--mount', 'sh', '-ec', INSIDE, 'sh', tmp_path / 'state', written]
    with subprocess.Popen(command) as process:
        wait_for(lambda: Path(f'/proc/{process.pid}/root{tmp_path}/state/lock').exists(), 10.0)
        yield process.pid
        process.kill()


def status(directory: Path, *words: object) -> subprocess.CompletedProcess[str]:
    file = directory / 'nova_market.conf'
    file.write_text(f'[fairness]\nstate_path = {directory}/state\n')
    program = [sys.executable, '-m', 'nova_market.cmd.fairness', f'--config-file={file}']
    return subprocess.run(
        [*program, 'status', *map(str, words)], capture_output=True, text=True, check=False
    )


def test_its_process_id_leads_there(inside: int, tmp_path: Path) -> None:
    """Without it, the command says where it has looked, and what to give."""
    blind = status(tmp_path)
    assert blind.returncode == EXIT_FAILED
    assert f'no status in {tmp_path}/state/status.json' in blind.stderr
    seen = status(tmp_path, '--pid', inside)
    assert (seen.returncode, seen.stderr) == (0, '')
    assert 'instance-00000001' in seen.stdout
