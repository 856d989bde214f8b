# SPDX-License-Identifier: Apache-2.0
"""tools/test.d/mark.sh: of which tree a run of tools/test states that it has passed."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

SCRIPT = Path(__file__).resolve().parents[2] / 'tools' / 'test.d' / 'mark.sh'

RUN = f"""
set -euo pipefail
ROOT=$1 LOGS=$2
say() {{ echo "$*"; }}
source '{SCRIPT}'
tree=$(tree)
eval "$3"
mark "$tree" "$LOGS/report"
"""
"""A run: the checkout, its logs, and what happens meanwhile."""


def git(checkout: Path, *words: str) -> str:
    identity = ('-c', 'user.name=a', '-c', 'user.email=a@example.org')
    return subprocess.run(
        ['git', *identity, *words], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    made = tmp_path / 'a checkout'
    made.mkdir()
    git(made, 'init', '-q')
    (made / 'file').write_text('a\n')
    git(made, 'add', 'file')
    git(made, 'commit', '-qm', 'a')
    return made


def marked(checkout: Path, last: str = '3 passed, 0 failed', meanwhile: str = ':') -> str:
    """What stands in the mark; empty: none was written. last: the last line of the report."""
    logs = checkout.parent / 'logs'
    logs.mkdir()
    (logs / 'report').write_text(f'Stages:\n  1 s  gate: passed\n\n{last}\n')
    subprocess.run(['bash', '-c', RUN, 'run', str(checkout), str(logs), meanwhile], check=True)
    mark = logs / 'passed'
    return mark.read_text() if mark.exists() else ''


def test_the_first_line_is_the_tree_that_has_passed(checkout: Path) -> None:
    """The report of the run is below it."""
    first, *report = marked(checkout).splitlines()
    assert first == git(checkout, 'rev-parse', 'HEAD^{tree}')
    assert report[0] == 'Stages:' and report[-1] == '3 passed, 0 failed'


@pytest.mark.parametrize('last', ['3 passed, 1 failed', '3 passed, 0 failed, 1 skipped'])
def test_what_failed_or_was_skipped_has_not_passed(checkout: Path, last: str) -> None:
    assert marked(checkout, last) == ''


def test_what_is_not_committed_is_no_tree(checkout: Path) -> None:
    (checkout / 'other').write_text('not added\n')
    assert marked(checkout) == ''


@pytest.mark.parametrize(
    'meanwhile',
    ['echo b >"$ROOT/file"', 'git -C "$ROOT" rm -q file', 'touch "$ROOT/new"'],
)
def test_another_tree_than_at_the_beginning_was_not_tested(checkout: Path, meanwhile: str) -> None:
    assert marked(checkout, meanwhile=meanwhile) == ''


def test_without_git_nothing_is_stated(tmp_path: Path) -> None:
    (tmp_path / 'tree').mkdir()
    assert marked(tmp_path / 'tree') == ''
