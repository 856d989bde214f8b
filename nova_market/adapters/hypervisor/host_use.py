# SPDX-License-Identifier: Apache-2.0
"""What the kernel of this machine accounts as a whole: CPU time, and memory that is available.

Units: seconds summed over CPUs, since boot; bytes. All kernel paths lie below `root`.
"""

import os
import re
from collections.abc import Collection
from pathlib import Path

from nova_market.adapters.hypervisor.cgroup import read
from nova_market.core.host.sample import HostUse

TICKS = os.sysconf('SC_CLK_TCK')

IDLE = (3, 4)
"""Columns of /proc/stat in which a CPU ran nothing: idle and iowait."""

STOLEN = 7
COLUMNS = 8
"""Further ones, guest and guest_nice, are parts of user and nice."""


def host_use(root: Path, cpus: Collection[int], *, without_dedicated: bool) -> HostUse | None:
    """Of these CPUs; None where the kernel does not say it.

    without_dedicated: dedicated guests run on other CPUs than these
    """
    busy = stolen = every = 0
    found = 0
    for line in read(root / 'proc/stat').splitlines():
        words = line.split()
        name = re.fullmatch(r'cpu([0-9]+)', words[0]) if words else None
        if name is None or int(name[1]) not in cpus or len(words) <= COLUMNS:
            continue
        ticks = [int(word) for word in words[1 : COLUMNS + 1]]
        found += 1
        every += sum(ticks)
        stolen += ticks[STOLEN]
        busy += sum(ticks) - ticks[STOLEN] - sum(ticks[column] for column in IDLE)
    memory = dict(re.findall(r'^(\w+):\s+([0-9]+) kB$', read(root / 'proc/meminfo'), re.MULTILINE))
    if not found or 'MemAvailable' not in memory:
        return None
    # the pool of huge pages is there for guests, used or not, and is no part of what is available
    available = int(memory['MemAvailable']) + int(memory.get('Hugetlb', 0))
    return HostUse(
        cpus=found,
        all_seconds=every / TICKS,
        busy_seconds=busy / TICKS,
        stolen_seconds=stolen / TICKS,
        available_bytes=available * 1024,
        without_dedicated=without_dedicated,
    )
