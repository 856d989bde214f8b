# SPDX-License-Identifier: Apache-2.0
"""The version of the package, as pbr builds it of any tree, with nothing in the environment."""

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.style.test_packaging import ROOT, setup_cfg
from tests.support.built import ENVIRONMENT, built, metadata_of

pytestmark = pytest.mark.clock


def declared() -> str:
    return setup_cfg()['metadata']['version']


def git(tree: Path, *words: str) -> None:
    """In the repository that is in this tree, and never in one that somebody works in."""
    who = ['--git-dir', '.git', '-c', 'user.name=a', '-c', 'user.email=a@example.org']
    assert not (tree / '.git').is_file()
    subprocess.run(
        ['git', *who, *words], cwd=tree, env=ENVIRONMENT, check=True, capture_output=True
    )


def version_of(wheel: Path) -> str:
    return str(metadata_of(wheel)['Version'])


@pytest.fixture(name='tree')
def tree_of_an_archive(tmp_path: Path) -> Path:
    """The files that make the package, with one module, without git."""
    tree = tmp_path / 'tree'
    (tree / 'nova_market').mkdir(parents=True)
    for path in [*ROOT.iterdir(), ROOT / 'nova_market/__init__.py']:
        if path.is_file() and path.name != '.git':
            shutil.copy(path, tree / path.relative_to(ROOT))
    if (ROOT / 'requirements').is_dir():
        shutil.copytree(ROOT / 'requirements', tree / 'requirements')
    return tree


def test_an_archive_has_the_version_of_setup_cfg(tree: Path) -> None:
    """Where pbr alone would refuse to build."""
    assert version_of(built('wheel', tree)) == declared()


def test_an_archive_inside_another_repository_too(tree: Path, tmp_path: Path) -> None:
    """Its commits and tags are of something else."""
    git(tmp_path, 'init')
    for text in ('one', 'two'):
        git(tmp_path, 'commit', '--allow-empty', '-m', text)
    git(tmp_path, 'tag', '3.0.0')
    assert version_of(built('wheel', tree, ceiling=tmp_path.parent)) == declared()


def test_a_clone_without_tags_counts_its_commits(tree: Path, tmp_path: Path) -> None:
    """Ahead of the release; an sdist of it keeps its version, also outside of the clone."""
    git(tree, 'init')
    git(tree, 'add', '.')
    git(tree, 'commit', '-m', 'one')
    assert version_of(built('wheel', tree)) == declared(), 'as of an archive: a clone of depth 1'
    git(tree, 'commit', '--allow-empty', '-m', 'two')
    assert re.fullmatch(rf'{declared()}\.dev\d+', version_of(built('wheel', tree)))
    with tarfile.open(built('sdist', tree)) as file:
        file.extractall(tmp_path, filter='data')
    (unpacked,) = tmp_path.glob('nova_market-*')
    assert unpacked.name.startswith(f'nova_market-{declared()}.dev')
    assert version_of(built('wheel', unpacked)) == unpacked.name.removeprefix('nova_market-')
