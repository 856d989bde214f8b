# SPDX-License-Identifier: Apache-2.0
"""What processes use of the CPUs, and keeping the watchers off the CPUs that are watched. Seconds."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf('SC_CLK_TCK')

CPUCLOCK_SCHED = 2
"""linux/include/linux/posix-timers_types.h: the clock of the scheduler, in nanoseconds."""


def cpu_seconds(pid: int) -> float:
    """CPU time of a process with all threads it has had, and of the children that it has waited for.

    In nanoseconds as the scheduler counts, where the kernel would say ticks of 10 ms: a round takes less.
    """
    # the second field is a name in parentheses that may hold anything
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    children_utime, children_stime = (int(number) for number in fields[13:15])
    own = time.clock_gettime(_cpu_clock(pid))
    return own + (children_utime + children_stime) / TICKS


def _cpu_clock(pid: int) -> int:
    """What clock_getcpuclockid(3) of the C library would answer."""
    return (~pid << 3) | CPUCLOCK_SCHED


@contextlib.contextmanager
def busy_beside(cpu: int, count: int) -> Iterator[None]:
    """So many processes that are no guests load a CPU."""
    busy = []
    try:
        for _ in range(count):
            busy.append(subprocess.Popen(['sh', '-c', 'while :; do :; done']))
            os.sched_setaffinity(busy[-1].pid, {cpu})
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


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
