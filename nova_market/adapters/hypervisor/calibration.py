# SPDX-License-Identifier: Apache-2.0
"""How fast one core of this machine is: a short benchmark, run once when a host is enrolled.

Takes the place of BogoMIPS in IFI-2016.04, section IV-B. Three runs of one CPU second of a single-threaded
mix (compression, hashing, big integers, memory beyond the cache), by process CPU time, so that neighbours
cost accuracy only through shared caches; the median counts. The result is kept in a JSON file and is valid
for the same CPU model, microcode, SMT state and kernel mitigations.

Units: the score is mixes per CPU second / REFERENCE_RATE; 1.0 is about one thread of a 2.8 GHz Xeon of 2023.
"""

import hashlib
import os
import re
import statistics
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nova_market.adapters.hypervisor.cgroup import read
from nova_market.adapters.state_file import JsonFile
from nova_market.errors import ConfigurationError, NovaMarketError

RUNS = 3
RUN_SECONDS = 1.0

MAX_PRESSURE = 10.0
"""Percent of the last ten seconds in which some task waited for a CPU; above, the caches are not ours."""

VERSION = 1
"""Of the mix: scores of different mixes do not compare."""

REFERENCE_RATE = 75.0
"""Mixes per CPU second that count as 1.0."""

_MEMORY_WORDS = 1 << 21
"""16 MiB of 64-bit words: beyond the private caches of any core so far."""


class HostBusy(NovaMarketError):
    """The host is too busy to be calibrated."""


def calibrate(
    cache_path: str, root: str = '/', measure: Callable[[], float] | None = None
) -> float:
    """Measure the core score, keep it in `cache_path`, and return it.

    measure: mixes per CPU second of one run; default the real mix.
    :raises HostBusy: CPU pressure is above MAX_PRESSURE.
    :raises ConfigurationError: the file cannot be written.
    """
    pressure = cpu_pressure(Path(root))
    if pressure > MAX_PRESSURE:
        raise HostBusy(
            f'CPU pressure is {pressure:.1f} % (some avg10 in /proc/pressure/cpu), more than '
            f'{MAX_PRESSURE:.0f} %: a calibration would measure the neighbours; run it on an idle host'
        )
    run = measure or mix_rate
    score = statistics.median(run() for _ in range(RUNS)) / REFERENCE_RATE
    _save(Path(cache_path), {'version': VERSION, 'machine': machine(Path(root)), 'score': score})
    return score


def cached(path: Path, root: Path) -> float | None:
    """The score kept for this very machine; None when there is none or it is of another."""
    kept = JsonFile(str(path)).load()
    if kept is None:
        return None
    try:
        if kept['version'] != VERSION or kept['machine'] != machine(root):
            return None
        score = float(str(kept['score']))
    except (ValueError, TypeError, KeyError):
        return None
    return score if 0 < score < float('inf') else None


def machine(root: Path) -> dict[str, str]:
    """What a score depends on: CPU model, microcode, SMT, mitigations."""
    cpuinfo = read(root / 'proc/cpuinfo')
    vulnerabilities = root / 'sys/devices/system/cpu/vulnerabilities'
    names = sorted(os.listdir(vulnerabilities)) if vulnerabilities.is_dir() else []
    mitigations = '\n'.join(f'{name}: {read(vulnerabilities / name).strip()}' for name in names)
    return {
        'model': _field(cpuinfo, 'model name'),
        'microcode': _field(cpuinfo, 'microcode'),
        'smt': read(root / 'sys/devices/system/cpu/smt/active').strip(),
        'mitigations': hashlib.sha256(mitigations.encode()).hexdigest()[:16],
    }


def cpu_pressure(root: Path) -> float:
    """'some avg10' in percent; 0 where the kernel has no pressure information."""
    found = re.search(r'some avg10=([0-9.]+)', read(root / 'proc/pressure/cpu'))
    return float(found[1]) if found else 0.0


def mix_rate(seconds: float = RUN_SECONDS) -> float:
    """Mixes per second of process CPU time, over about `seconds` of it."""
    text = bytes((i * i * 31 + i // 7) % 97 + 32 for i in range(1 << 15))
    modulus = (1 << 1279) - 1
    memory = np.arange(_MEMORY_WORDS, dtype=np.uint64)
    # a fixed walk in strides of a prime: neither the prefetcher nor the cache helps
    walk = (np.arange(1 << 15, dtype=np.int64) * 1_000_003) % _MEMORY_WORDS
    done, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        zlib.compress(text, 6)
        for _ in range(16):
            hashlib.blake2b(text).digest()
        pow(3, modulus >> 1, modulus)
        for shift in range(8):
            memory[(walk + shift * 4099) % _MEMORY_WORDS].sum()
        done += 1
    return done / spent


def _field(cpuinfo: str, name: str) -> str:
    found = re.search(rf'^{name}\s*:\s*(.*)$', cpuinfo, re.MULTILINE)
    return found[1].strip() if found else ''


def _save(path: Path, document: dict[str, object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        JsonFile(str(path), mode=0o644).save(document)
    except OSError as error:
        raise ConfigurationError(
            f'the calibration cannot be kept in {path}: {error.strerror}'
        ) from error
