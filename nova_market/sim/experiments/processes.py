# SPDX-License-Identifier: Apache-2.0
"""What processes use of the CPUs, and keeping the watchers off the CPUs that are watched. Seconds."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf('SC_CLK_TCK')


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its threads, and the children that it has waited for."""
    # the second field is a name in parentheses that may hold anything
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    utime, stime, children_utime, children_stime = (int(number) for number in fields[11:15])
    return (utime + stime + children_utime + children_stime) / TICKS


@contextlib.contextmanager
def away_from(cpu: int) -> Iterator[None]:
    """This process, and what it starts meanwhile, leave a CPU to the guests, where there are others."""
    before = os.sched_getaffinity(0)
    others = before - {cpu}
    if others:
        os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
