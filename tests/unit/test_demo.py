# SPDX-License-Identifier: Apache-2.0
"""tools/demo --market: what it starts, with which options, and that it asks for nothing of root."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """#!/bin/sh
for word in "$@"; do echo "[$word]"; done
"""
NO_ROOT = """#!/bin/sh
echo "$0 was called" >&2
exit 99
"""


def demo(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """With a virtual environment that is there already, and programs of root's that fail."""
    binaries = tmp_path / 'venv-market/bin'
    binaries.mkdir(parents=True, exist_ok=True)
    for name, text in (('nova-market-playground', PROGRAM), ('python', '#!/bin/sh\n')):
        (binaries / name).write_text(text)
        (binaries / name).chmod(0o755)
    root = tmp_path / 'root'
    root.mkdir(exist_ok=True)
    for name in ('sudo', 'apt-get', 'dpkg'):
        (root / name).write_text(NO_ROOT)
        (root / name).chmod(0o755)
    environment = {
        'PATH': f'{root}:/usr/sbin:/usr/bin:/sbin:/bin', 'NOVA_MARKET_VENV': str(tmp_path / 'venv'),
        'HOME': os.environ.get('HOME', '/'),
    }  # fmt: skip
    stamp = subprocess.run(
        ['bash', '-c', 'set -eu; source tools/bootstrap.sh; market_stamp'],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    (tmp_path / 'venv-market/.nova-market').write_text(stamp)
    return subprocess.run(
        [ROOT / 'tools/demo', *words],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ('given', 'passed'),
    [
        (['--market'], []),
        (['--market', '--speed', '60'], ['--speed', '60']),
        (['--speed', '60', '--market', '--port', '0'], ['--speed', '60', '--port', '0']),
        (['--market', '--directory', 'a place'], ['--directory', 'a place']),
    ],
)
def test_the_playground_gets_the_other_options(
    tmp_path: Path, given: list[str], passed: list[str]
) -> None:
    """After a directory in the source tree, so that another one wins; root is never asked for."""
    done = demo(tmp_path, *given)
    assert done.returncode == 0, done.stderr
    words = ['--directory', f'{ROOT}/playground', *passed]
    assert done.stdout == ''.join(f'[{word}]\n' for word in words)
    assert 'was called' not in done.stderr


def test_help_names_it_and_starts_nothing(tmp_path: Path) -> None:
    """With the help of the program that would be started."""
    done = demo(tmp_path, '--market', '--help')
    assert done.returncode == 0
    assert 'tools/demo --market [OPTIONS OF nova-market-playground]' in done.stdout
    assert done.stdout.endswith('[--help]\n')
    assert demo(tmp_path, '-h').stdout.endswith('-market is added to it)\n')
