# SPDX-License-Identifier: Apache-2.0
"""How much of the machine others used while a test measured it: the control beside each measurement.

`Noise` looks at all processes once a second. Its share is of the CPU time of all CPUs, from 0 to 1: what was
used, or stolen by a hypervisor below, by nothing that this run has started. Processes of the run are known by
NOVA_MARKET_RUN in their environment, guests by their control group; threads of the kernel count as the run's,
since they mostly serve its disks and networks. What a process used in the second in which it ended is missed.
"""

import os
import threading
from pathlib import Path
from typing import Self

KERNEL = 2
"""kthreadd, the parent of all threads of the kernel."""

LOOK = 1.0

Process = tuple[int, str]
"""Its id, and the tick in which it started."""


class Noise:
    """`with Noise() as noise:`; afterwards noise.share."""

    def __init__(self, proc: Path = Path('/proc')) -> None:
        self.share = 0.0
        self._proc = proc
        self._mark = f'NOVA_MARKET_RUN={os.environ["NOVA_MARKET_RUN"]}'.encode()
        self._ours: dict[Process, bool] = {}
        self._first: dict[Process, int] = {}
        self._last: dict[Process, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._look(begin=True)
        self._busy, self._all = machine(self._proc)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
        busy, together = machine(self._proc)
        own = sum(self._last.values()) - sum(self._first.values())
        foreign = busy - self._busy - own
        self.share = max(foreign, 0) / max(together - self._all, 1)

    def _watch(self) -> None:
        while not self._ended.wait(LOOK):
            self._look()

    def _look(self, *, begin: bool = False) -> None:
        for entry in self._proc.iterdir():
            if not entry.name.isdigit() or (found := used(entry)) is None:
                continue
            start, parent, ticks = found
            process = int(entry.name), start
            if process not in self._ours:
                self._ours[process] = parent == KERNEL or is_of(self._mark, entry)
            if self._ours[process]:
                self._last[process] = ticks
                if begin:
                    self._first[process] = ticks


def used(entry: Path) -> tuple[str, int, int] | None:
    """(start, parent, ticks of CPU time) of a process of /proc; None when it has ended."""
    try:
        fields = (entry / 'stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    except OSError:
        return None
    return fields[19], int(fields[1]), int(fields[11]) + int(fields[12])


def is_of(mark: bytes, entry: Path) -> bool:
    """Whether a process is of the run with this mark: this one, one that it has started, or a guest."""
    if int(entry.name) == os.getpid():
        return True
    try:
        marked = mark in (entry / 'environ').read_bytes().split(b'\0')
        return marked or '/nova-market-' in (entry / 'cgroup').read_text(encoding='utf-8')
    except OSError:
        return False


def machine(proc: Path) -> tuple[int, int]:
    """(busy, all) ticks of all CPUs since the start of the machine; what was stolen counts as busy."""
    line = (proc / 'stat').read_text(encoding='utf-8').partition('\n')[0]
    user, nice, system, idle, waiting, *rest = (int(word) for word in line.split()[1:9])
    busy = user + nice + system + sum(rest)
    return busy, busy + idle + waiting
