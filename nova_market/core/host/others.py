# SPDX-License-Identifier: Apache-2.0
"""What processes that are no guests take of a host, and what guests can have then.

Implements rule H18 of doc/source/specs/fairness.rst, which extends the Node Resource Information of
IFI-2016.04, section IV-B.3. Between two looks at the host:

    cpu = max(stolen, busy + stolen - guests) / all        part of the CPU time of the host, in [0, 1]
    usable = memory that is available + what guests hold   bytes

busy is the time in which CPUs ran something, guests included; stolen is what the hypervisor below this
machine took away, in time that may be accounted to a guest or to nobody.

Differs from the paper: there the supply of a node is constant. A guest of a host that other processes use
then stays below its endowment however busy it is, and static heaviness (the number of VMs) decides: where
guests got .39 of a CPU, user e of figure 3 had .65 of that instead of .50.

Disk and network rates are not measured: the counters of a device do not tell which of its bytes guests
caused (page cache, replication, traffic between guests of one host). They are what the operator states.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from nova_market.core.host.sample import GuestSample, HostSample, HostSupply, HostUse

LEAST = 0.1
"""Part of a supply that guests can have at least: they compete with other processes and never get nothing."""

TRACE = 0.01
"""Part of the CPU below which other processes do not count: housekeeping, and the ticks of the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """cpu: part of the host's CPU time that guests cannot have; usable_bytes: memory they can have."""

    cpu: float
    usable_bytes: float


def others(before: HostSample, sample: HostSample) -> Others | None:
    """What other processes took between two looks; None where it is not known."""
    old, use = before.use, sample.use
    if old is None or use is None:
        return None
    every = use.all_seconds - old.all_seconds
    seconds = sample.time - before.time
    busy, stolen = use.busy_seconds - old.busy_seconds, use.stolen_seconds - old.stolen_seconds
    if every <= 0 or seconds <= 0 or min(busy, stolen) < 0:
        return None  # CPUs came or went
    present = {item.guest.incarnation for item in sample.guests}
    if any(item.guest.incarnation not in present for item in before.guests):
        return None  # what a guest used until it ended is not known
    # the looks at the guests and at the CPUs may be some time apart: each is divided by its own time
    guests = _cpu_seconds(before.guests, sample.guests, use, seconds) / (seconds * use.cpus)
    taken = max(stolen / every, (busy + stolen) / every - guests)
    held = sum(item.counters.rss_bytes for item in sample.guests)
    return Others(cpu=min(max(taken, 0.0), 1.0), usable_bytes=use.available_bytes + held)


def smoothed(past: Others | None, newest: Others | None, factor: float) -> Others | None:
    """factor: weight of the newest. What is not known now stays as it was.

    CPU starts from nothing taken: the first interval has the start of this very service in it.
    """
    if newest is None:
        return past
    if past is None:
        past = replace(newest, cpu=0.0)
    return Others(
        cpu=past.cpu + factor * (newest.cpu - past.cpu),
        usable_bytes=past.usable_bytes + factor * (newest.usable_bytes - past.usable_bytes),
    )


def left_to_guests(supply: HostSupply, taken: Others | None) -> HostSupply:
    """The supply that guests can have: LEAST of what the host offers at least, all of it at most."""
    if taken is None:
        return supply
    part = 1.0 - taken.cpu if taken.cpu > TRACE else 1.0
    memory = min(max(taken.usable_bytes, LEAST * supply.memory_bytes), supply.memory_bytes)
    return replace(supply, cores=supply.cores * max(part, LEAST), memory_bytes=int(memory))


def _cpu_seconds(
    before: Collection[GuestSample], now: Collection[GuestSample], use: HostUse, seconds: float
) -> float:
    """CPU time of the guests on the CPUs of `use`."""
    past = {item.guest.incarnation: item.counters.cpu_time_ns for item in before}
    total = 0.0
    for item in now:
        if use.without_dedicated and item.guest.dedicated:
            continue
        # a guest that has started since then began at 0
        used = (item.counters.cpu_time_ns - past.get(item.guest.incarnation, 0)) / 1e9
        total += min(max(used, 0.0), (item.guest.vcpus + 1) * seconds)
    return total
