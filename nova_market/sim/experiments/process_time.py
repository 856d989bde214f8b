# SPDX-License-Identifier: Apache-2.0
"""CPU time of processes and of all that they started, from /proc. Seconds."""

import os
from pathlib import Path

TICKS = os.sysconf('SC_CLK_TCK')


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its threads, and the children that it has waited for."""
    # the second field is a name in parentheses that may hold anything
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()
    utime, stime, children_utime, children_stime = (int(number) for number in fields[11:15])
    return (utime + stime + children_utime + children_stime) / TICKS
