# SPDX-License-Identifier: Apache-2.0
"""What of a stopped host or cloud is still on the machine."""

import os
import subprocess
from pathlib import Path


def left_behind(word: str) -> list[str]:
    """Processes, mounts, cgroups and network devices whose name, path or arguments have this word."""
    found = [
        f'process {entry.name}'
        for entry in Path('/proc').iterdir()
        if entry.name.isdigit() and int(entry.name) not in ourselves() and word in words_of(entry)
    ]
    found += [line for line in Path('/proc/mounts').read_text().splitlines() if word in line]
    for tree in Path('/sys/fs/cgroup').iterdir():
        found += [str(path) for path in (tree, *tree.glob('*')) if word in path.name]
    links = subprocess.run(['ip', '-o', 'link'], check=True, capture_output=True, text=True).stdout
    return found + [line for line in links.splitlines() if word in line]


def ourselves() -> set[int]:
    """This process and those that started it: their arguments may name anything."""
    pids, pid = set(), os.getpid()
    while pid > 1:
        pids.add(pid)
        status = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        pid = int(status[1])
    return pids


def words_of(process: Path) -> str:
    try:
        return (process / 'cmdline').read_text() + (process / 'cgroup').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ''
