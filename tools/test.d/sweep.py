#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Removes what a test run that was killed has left on this machine, and prints each thing that it removes.

    sweep.py

A run is known by the environment variable NOVA_MARKET_RUN, `PID-START`: the process that began the run, and
the clock tick in which that process started (field 22 of /proc/PID/stat), so that a process id that was given
out again is not mistaken for it. tools/test sets the variable, and tests/conftest.py does where pytest is run
alone; whatever a test starts inherits it. A run is over when that process has ended. Of runs that are over

1. processes are killed: those that have the variable, and guests of their test hosts, which libvirt starts
   without it;
2. slow disks that no server stands behind any more are unmounted, and their loop devices detached;
3. network namespaces nm-PID-START-... and bridges with the alias PID-START are deleted;
4. control groups nova-market-* are removed, of any run, where no process is in them.

What belongs to a run that goes on stays, and so does what carries no mark: tools/cloud and tools/demo. Needs
root. A thing that cannot be removed is named on standard error; the others are removed all the same.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

VARIABLE = 'NOVA_MARKET_RUN'
CGROUPS = Path('/sys/fs/cgroup')
HOST_GROUP = 'nova-market-'
"""How the names of the control groups of test hosts begin (nova_market/testbed/host)."""

HOLDER = 'sleep infinity'
"""The process that holds the namespaces of a test host (nova_market/testbed/host-inside)."""

SERVED = 'nova-market-served.img'
"""The file that stands for a slow disk (nova_market/testbed/slow_disk.py)."""

END_SECONDS = 20.0
"""Until a killed process has gone; a guest of several hundred MiB takes a moment."""

STARTING_SECONDS = 2.0
"""A host that is being started makes its control groups first, and its first process joins them at once."""


def say(text: str) -> None:
    print(f'sweep: {text}', flush=True)


def stat_of(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on, which is field 3 of the line."""
    return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()


def start_of(pid: int) -> str:
    """The clock tick in which a process started; empty when there is none, or only its exit status."""
    try:
        fields = stat_of(pid)
    except OSError:
        return ''
    state, start = fields[0], fields[19]
    return '' if state in 'ZX' else start


def is_over(run: str) -> bool:
    """Has the process that began this run ended? What is no name of a run is never over."""
    found = re.fullmatch(r'(\d+)-(\d+)', run)
    return found is not None and start_of(int(found[1])) != found[2]


def run_of(pid: int) -> str:
    """The run in whose name a process was started; empty for a process of no run."""
    try:
        words = Path(f'/proc/{pid}/environ').read_bytes().split(b'\0')
    except OSError:
        return ''
    prefix = f'{VARIABLE}='.encode()
    return next((w[len(prefix) :].decode() for w in words if w.startswith(prefix)), '')


def ancestors() -> set[int]:
    """This process and those that started it."""
    found, pid = set(), os.getpid()
    while pid > 0:
        found.add(pid)
        pid = int(stat_of(pid)[1])
    return found


def host_groups() -> list[Path]:
    """Control groups of test hosts: a directory for each controller of version 1, one of version 2."""
    trees = {tree.resolve() for tree in (CGROUPS, *CGROUPS.iterdir()) if tree.is_dir()}
    return sorted(path for tree in trees for path in tree.glob(f'{HOST_GROUP}*') if path.is_dir())


def members(group: Path) -> set[int]:
    """Processes of a control group and of those below it."""
    found: set[int] = set()
    for path in group.rglob('cgroup.procs'):
        with contextlib.suppress(OSError):
            found |= {int(line) for line in path.read_text().split()}
    return found


def processes_of_ended_runs() -> dict[int, str]:
    """Process id -> start, with the guests of their hosts."""
    pids = (int(entry.name) for entry in Path('/proc').iterdir() if entry.name.isdigit())
    found = {pid for pid in pids if is_over(run_of(pid))}
    for inside in map(members, host_groups()):
        # a command of an ended run may still be inside a host that is not of that run
        if any(command_of(pid) == HOLDER for pid in inside & found):
            found |= inside
    return {pid: start_of(pid) for pid in found - ancestors() if start_of(pid)}


def end_processes() -> None:
    """Kill them, and wait until they have gone; what one of them starts meanwhile is killed as well."""
    deadline = time.monotonic() + END_SECONDS
    doomed: dict[int, str] = {}
    while True:
        fresh = {
            pid: start for pid, start in processes_of_ended_runs().items() if pid not in doomed
        }
        for pid in sorted(fresh):
            say(f'kills process {pid}: {command_of(pid)}')
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        doomed |= fresh
        left = sorted(pid for pid, start in doomed.items() if start_of(pid) == start)
        if not left:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f'these processes do not end: {left}')
        time.sleep(0.1)


def command_of(pid: int) -> str:
    try:
        words = Path(f'/proc/{pid}/cmdline').read_bytes().replace(b'\0', b' ')
    except OSError:
        return 'has ended'
    return words.decode(errors='replace').strip()[:100]


def unmount_disks() -> None:
    """Slow disks that nobody serves: the filesystem, its loop device, the file that stood for the disk."""
    for entry in sorted(Path('/sys/block').glob('loop*/loop/backing_file')):
        backing = entry.read_text().strip().removesuffix(' (deleted)')
        if Path(backing).name == SERVED and not answers(backing):
            device = f'/dev/{entry.parts[3]}'
            for target in mounts(lambda source, _, device=device: source == device):
                unmount(target)
            # detached by itself when it was mounted
            if entry.exists():
                say(f'detaches {device} ({backing})')
                run('losetup', '--detach', device)
    for target in mounts(lambda _, target: Path(target).name == SERVED and not answers(target)):
        unmount(target)


def answers(path: str) -> bool:
    """Is the file there, with a server behind it? (Its size and times are known for a while without one.)"""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


def mounts(wanted: Callable[[str, str], bool]) -> list[str]:
    """Where what is wanted, of (source, target), is mounted; the latest first."""
    rows = [line.split() for line in Path('/proc/self/mounts').read_text().splitlines()]
    named = [(source, re.sub(r'\\(\d{3})', unescaped, target)) for source, target, *_ in rows]
    return [target for source, target in reversed(named) if wanted(source, target)]


def unescaped(code: re.Match[str]) -> str:
    """A character that the kernel writes as a backslash and three octal digits."""
    return chr(int(code[1], 8))


def unmount(target: str) -> None:
    say(f'unmounts {target}')
    run('umount', '--lazy', target)


def delete_networks() -> None:
    for line in run('ip', 'netns', 'list').splitlines():
        found = re.match(r'nm-(\d+-\d+)-\S+', line)
        if found and is_over(found[1]):
            say(f'deletes network namespace {found[0]}')
            run('ip', 'netns', 'delete', found[0])
    for alias in sorted(Path('/sys/class/net').glob('*/ifalias')):
        name = alias.parent.name
        if (alias.parent / 'bridge').exists() and is_over(alias.read_text().strip()):
            say(f'deletes bridge {name}')
            run('ip', 'link', 'delete', name)


def remove_groups() -> None:
    empty = [group for group in host_groups() if not members(group)]
    if empty:
        time.sleep(STARTING_SECONDS)
    for group in empty:
        if group.exists() and not members(group):
            say(f'removes control group {group}')
            for path in sorted((p for p in group.rglob('*') if p.is_dir()), reverse=True):
                path.rmdir()
            group.rmdir()


def run(*command: str) -> str:
    """:raises RuntimeError: with what the command printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'{" ".join(command)}: {done.stderr.strip()}')
    return done.stdout


def sweep(steps: Iterable[Callable[[], None]]) -> int:
    """Take each step, whatever became of the others; the number of those that failed."""
    failed = 0
    for step in steps:
        try:
            step()
        except (OSError, RuntimeError) as error:
            failed += 1
            print(f'sweep: {step.__name__}: {error}', file=sys.stderr, flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(sweep((end_processes, unmount_disks, delete_networks, remove_groups)) > 0)
