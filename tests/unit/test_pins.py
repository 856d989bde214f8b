# SPDX-License-Identifier: Apache-2.0
"""tools/pins: what an environment has installed, compared with the file that it was made with."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / 'tests/nova/constraints.txt'

PYTHON = """#!/bin/sh
case $1 in
-c) echo {runs} ;;
*) cat <<'EOF'
{there}
EOF
esac
"""
"""Of an environment: answers what pins asks it."""


def check(
    directory: Path, *, without: str = '', more: str = '', runs: str = '3.11'
) -> tuple[int, list[str]]:
    """Of an environment with what the file has, without one package and with others; status and lines."""
    there = [
        one for one in FILE.read_text(encoding='utf-8').splitlines() if not one.startswith('#')
    ]
    kept = [one for one in there if one.partition('==')[0] != without]
    python = directory / 'python'
    python.write_text(
        PYTHON.format(runs=runs, there='\n'.join([*kept, *more.split(), 'pip==1', 'wheel==1']))
    )
    python.chmod(0o755)
    command = [ROOT / 'tools/pins', 'check', FILE.relative_to(ROOT), python]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ''
    return done.returncode, done.stdout.splitlines()


def test_what_is_pinned_is_installed(tmp_path: Path) -> None:
    """What an environment has when it is made needs no pin."""
    assert check(tmp_path) == (0, [])


@pytest.mark.parametrize(
    ('there', 'line'),
    [
        ({'more': 'left_over==2'}, 'left-over 2 is not pinned'),
        ({'without': 'rich', 'more': 'Rich==1'}, 'rich is pinned to {pinned}, and 1 is installed'),
        ({'without': 'rich'}, 'rich {pinned} is pinned and not installed'),
    ],
    ids=['more', 'another', 'less'],
)
def test_a_difference_is_named(tmp_path: Path, there: dict[str, str], line: str) -> None:
    """And what to do about it."""
    pinned = FILE.read_text(encoding='utf-8').partition('\nrich==')[2].partition('\n')[0]
    status, lines = check(tmp_path, **there)
    assert status == 1
    assert lines == [
        f'tests/nova/constraints.txt: {line.format(pinned=pinned)}',
        'correct tests/nova/constraints.txt, or move all of it: tools/pins move tests/nova/constraints.txt',
    ]


def test_another_python_needs_other_packages(tmp_path: Path) -> None:
    """Only what it has and the file has not, or in another version, is named then."""
    assert check(tmp_path, without='rich', runs='3.13') == (0, [])
    assert check(tmp_path, more='left==2', runs='3.13')[0] == 1
