# SPDX-License-Identifier: Apache-2.0
"""The sdist or the wheel of a tree, as pip builds it, with nothing in the environment."""

import os
import shutil
import subprocess
import sys
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ('PBR_', 'OSLO_PACKAGE_', 'GIT_')
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)} | {
    # reno, where it is installed, would look in an sdist for release notes
    'SKIP_GENERATE_RENO': '1'
}


def built(kind: str, tree: Path, ceiling: Path | None = None) -> Path:
    """The sdist or the wheel of a tree, as pip builds it. ceiling: git looks for a repository below it."""
    code = f"import pbr.build; pbr.build.build_{kind}('dist')"
    environment = ENVIRONMENT | {'GIT_CEILING_DIRECTORIES': str(ceiling or tree.parent)}
    subprocess.run(
        [sys.executable, '-c', code],
        cwd=tree, env=environment, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return max((tree / 'dist').iterdir(), key=lambda path: path.stat().st_mtime_ns)


def wheel_of_this_tree(directory: Path) -> Path:
    """Of the files that git knows, or will know, copied to a directory."""
    listed = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard'],
        cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(('tests/', 'doc/')):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    return built('wheel', directory)


def metadata_of(wheel: Path) -> Message:
    with ZipFile(wheel) as file:
        (name,) = (one for one in file.namelist() if one.endswith('.dist-info/METADATA'))
        return message_from_bytes(file.read(name))
