# SPDX-License-Identifier: Apache-2.0
"""What this machine offers to guests: cores and their speed, memory, disk and network rates.

Implements the Node Resource Information of IFI-2016.04, section IV-B. Units: cores, core score, bytes,
bytes/s, operations/s.

Differs from the paper: BogoMIPS (twice the clock on x86) ranks a core of 2008 above one of today, so the
speed of a core comes from the operator's table, else from a cached micro-benchmark, else from the clock,
and says which; disks are not probed on a live host.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nova_market.adapters.hypervisor import calibration
from nova_market.adapters.hypervisor.cgroup import read
from nova_market.core.host.sample import HostSupply
from nova_market.errors import ConfigurationError

MAX_CPU = 8191
"""The largest CPU number of a Linux kernel (NR_CPUS 8192)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplySettings:
    """What the operator says about a host.

    cpus:              list such as '2-15,18', '' = all that are online
    smt_core:          what a further thread of a core counts, in cores
    core_scores:       part of the CPU's model name -> score above 0; the longest part that fits wins
    calibration_cache: file of `calibration.calibrate`, '' = none
    measured:          other processes lessen it
    rates:             as in HostSupply, 0 = unknown
    """

    cpus: str = ''
    smt_core: float = 0.3
    core_scores: Mapping[str, float] = field(default_factory=dict)
    calibration_cache: str = ''
    reserved_memory_bytes: int = 0
    measured: bool = True
    disk_read_bps: float = 0.0
    disk_write_bps: float = 0.0
    disk_read_iops: float = 0.0
    disk_write_iops: float = 0.0
    net_rx_bps: float = 0.0
    net_tx_bps: float = 0.0


def host_supply(
    settings: SupplySettings, *, memory_bytes: int, mhz: float, root: Path
) -> HostSupply:
    """Supply of a host whose hypervisor names memory and nominal clock.

    :raises ConfigurationError: CPUs that are not there, no memory left.
    """
    left = memory_bytes - settings.reserved_memory_bytes
    if left <= 0:
        raise ConfigurationError(
            f'[host]reserved_memory_mib = {settings.reserved_memory_bytes >> 20} leaves no memory: '
            f'the host has {memory_bytes >> 20} MiB; reserve less'
        )
    score, method = core_score(settings, mhz, root)
    return HostSupply(
        cores=cores(settings, root),
        core_score=score,
        score_method=method,
        memory_bytes=left,
        disk_read_bps=settings.disk_read_bps,
        disk_write_bps=settings.disk_write_bps,
        disk_read_iops=settings.disk_read_iops,
        disk_write_iops=settings.disk_write_iops,
        net_rx_bps=settings.net_rx_bps,
        net_tx_bps=settings.net_tx_bps,
    )


def cores(settings: SupplySettings, root: Path) -> float:
    """Cores for guests: the first listed thread of a core counts 1, each further one `smt_core`."""
    cpu_root = root / 'sys/devices/system/cpu'
    threads_of: dict[frozenset[int], int] = {}
    for cpu in sorted(cpus_for_guests(settings, root)):
        siblings = read(cpu_root / f'cpu{cpu}/topology/thread_siblings_list').strip()
        core = cpu_set(siblings) if siblings else frozenset({cpu})
        threads_of[core] = threads_of.get(core, 0) + 1
    return sum(1 + (threads - 1) * settings.smt_core for threads in threads_of.values())


def cpus_for_guests(settings: SupplySettings, root: Path) -> frozenset[int]:
    """The CPUs that are listed, else all that are online.

    :raises ConfigurationError: one that is listed is not online.
    """
    online_path = root / 'sys/devices/system/cpu/online'
    online = cpu_set(read(online_path).strip() or '0')
    listed = cpu_set(settings.cpus, '[host]cpus') if settings.cpus.strip() else online
    if not listed <= online:
        missing = ', '.join(str(cpu) for cpu in sorted(listed - online))
        raise ConfigurationError(
            f'[host]cpus = {settings.cpus}: CPU {missing} is not online; '
            f'online are {read(online_path).strip()}'
        )
    return listed


def core_score(settings: SupplySettings, mhz: float, root: Path) -> tuple[float, str]:
    """(score, method): the operator's table, else a calibration of this very machine, else GHz."""
    machine = calibration.machine(root)
    fitting = [part for part in settings.core_scores if part and part in machine['model']]
    if fitting:
        return float(settings.core_scores[max(fitting, key=len)]), 'table'
    if settings.calibration_cache:
        cached = calibration.cached(Path(settings.calibration_cache), root)
        if cached is not None:
            return cached, 'calibrated'
    return (mhz / 1000 if mhz > 0 else 1.0), 'nominal'


def cpu_set(text: str, option: str = 'CPU list') -> frozenset[int]:
    """The CPUs of a list such as '0-3,8'; '^2' takes one out, as in Nova's cpu_shared_set.

    :raises ConfigurationError: not such a list.
    """
    chosen: set[int] = set()
    excluded: set[int] = set()
    for part in text.split(','):
        found = re.fullmatch(r'\s*(\^?)([0-9]{1,4})(?:-([0-9]{1,4}))?\s*', part)
        first, last = (int(found[2]), int(found[3] or found[2])) if found else (1, 0)
        if first > last or last > MAX_CPU or (found and found[1] and found[3]):
            raise ConfigurationError(
                f'{option} = {text!r}: {part.strip()!r} is not a CPU of 0..{MAX_CPU}, a range such as '
                '2-15 or an exclusion such as ^3'
            )
        (excluded if found and found[1] else chosen).update(range(first, last + 1))
    if not chosen - excluded:
        raise ConfigurationError(f'{option} = {text!r} names no CPU')
    return frozenset(chosen - excluded)
