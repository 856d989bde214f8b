# SPDX-License-Identifier: Apache-2.0
"""All metadata is in setup.cfg; pbr adds the requirements, and to the version the commits since a tag."""

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import setuptools

ROOT = Path(__file__).resolve().parent


def pbr_finds_a_version() -> bool:
    """In an sdist that of PKG-INFO; in a clone by its commits, and of a single one it makes 0.0.0."""
    if (ROOT / 'PKG-INFO').is_file():
        return True
    git = shutil.which('git')
    if git is None or not (ROOT / '.git').exists():
        # of a repository around an archive pbr would take the tags
        return False
    count = [git, '-C', ROOT, 'rev-list', '--count', '--max-count=2', 'HEAD']
    return subprocess.run(count, capture_output=True, check=False).stdout.strip() == b'2'


if not pbr_finds_a_version():
    # a tree from an archive, or a clone of depth 1
    setup = configparser.ConfigParser()
    setup.read(ROOT / 'setup.cfg', encoding='utf-8')
    os.environ.setdefault('PBR_VERSION', setup['metadata']['version'])

setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True)
