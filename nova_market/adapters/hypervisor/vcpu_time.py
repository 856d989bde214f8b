# SPDX-License-Identifier: Apache-2.0
"""Time that the vCPUs of a guest run or wait for a CPU, from the kernel's own count per thread.

libvirt has the same numbers in its vCPU statistics (`time` and `delay`), but asks QEMU's monitor in the same
call, which takes longest for exactly the guests that wait.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from nova_market.adapters.hypervisor.cgroup import read

_VCPU = re.compile(r'CPU (\d+)/')


def vcpu_ready_ns(root: Path, pid: int) -> tuple[int, ...]:
    """ns of each vCPU of a QEMU process since it was plugged, by number; () when the process has gone.

    QEMU names its vCPU threads `CPU 0/KVM` when libvirt has started it. A thread's `schedstat` is the time
    that it ran, the time that it was runnable and waited, and how often it ran.
    """
    found = {}
    for thread in _threads(root / 'proc' / str(pid) / 'task'):
        named = _VCPU.match(read(thread / 'comm'))
        numbers = read(thread / 'schedstat').split() if named else []
        if named and len(numbers) >= 2:
            found[int(named[1])] = int(numbers[0]) + int(numbers[1])
    return tuple(found.get(number, 0) for number in range(max(found, default=-1) + 1))


def _threads(directory: Path) -> Iterator[Path]:
    try:
        yield from sorted(directory.iterdir())
    except OSError:
        return
