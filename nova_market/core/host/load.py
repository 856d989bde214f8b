# SPDX-License-Identifier: Apache-2.0
"""From two looks at a host to the load of each guest.

Implements the RUI of IFI-2016.04, section IV-B.2: counter differences for time-shared resources, the
present level for memory. Load arrays (vms, resources), units of core.resource.

Differs from the paper: rates per second, smoothed; a guest that was started anew (other domain id) or
whose counters fell starts over instead of failing; disk load is the larger of its share in bytes and
in operations, expressed in bytes/s, because bytes alone misjudge random I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.host.others import Others, others, smoothed
from nova_market.core.host.sample import Counters, Guest, GuestSample, HostSample, HostSupply
from nova_market.core.resource import CPU, MEMORY, Array, Flags, GuestId, vector

Incarnation = tuple[GuestId, int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measurement:
    """time: monotonic seconds; guests ordered by id; load has one row per guest.

    ready: part of the time since the last look that the busiest vCPU of a guest ran or waited for a CPU
    seen: False for guests whose rates are not known yet (first look)
    others: what other processes take of the host, smoothed as the load is; None while it is not known
    """

    time: float
    guests: tuple[Guest, ...]
    load: Array
    ready: Array
    seen: Flags
    sample: HostSample
    smoothed: Mapping[Incarnation, Array] = field(default_factory=dict)
    others: Others | None = None


def supply_vector(supply: HostSupply) -> Array:
    """What the host offers, shape (resources,). Unknown disk or network supply is 0."""
    return vector(
        cpu=supply.cores * supply.core_score,
        memory=supply.memory_bytes,
        disk_read=supply.disk_read_bps,
        disk_write=supply.disk_write_bps,
        net_rx=supply.net_rx_bps,
        net_tx=supply.net_tx_bps,
    )


def measure(
    previous: Measurement | None,
    sample: HostSample,
    supply: HostSupply,
    *,
    smoothing: float = 0.5,
    interval: float = 10.0,
) -> Measurement:
    """Load of every guest in `sample`.

    smoothing: weight of the newest interval, for intervals of `interval` seconds; shorter ones (early
    rounds) weigh less, so that the memory in seconds stays the same.
    """
    before = {s.guest.incarnation: s.counters for s in previous.sample.guests} if previous else {}
    old = previous.smoothed if previous else {}
    dt = sample.time - previous.sample.time if previous else 0.0
    factor = 1.0 - (1.0 - smoothing) ** (max(dt, 0.0) / interval)
    rates: dict[Incarnation, Array] = {}
    rows, seen = [], []
    for item in sample.guests:
        key = item.guest.incarnation
        row = _load(before.get(key), item, dt, supply)
        past = old.get(key)
        known = row is not None or past is not None
        if row is None:
            row = past if past is not None else _level(item)
        elif past is not None:
            row = past + factor * (row - past)
        row = row.copy()
        row[MEMORY] = item.counters.rss_bytes
        if known:
            rates[key] = row
        rows.append(row)
        seen.append(known)
    load = np.array(rows) if rows else np.zeros((0, len(vector())))
    return Measurement(
        time=sample.time,
        guests=tuple(item.guest for item in sample.guests),
        load=load,
        ready=np.array(
            [_ready(before.get(s.guest.incarnation), s.counters, dt) for s in sample.guests]
        ),
        seen=np.array(seen, dtype=bool),
        sample=sample,
        smoothed=rates,
        others=_others(previous, sample, factor),
    )


def _others(previous: Measurement | None, sample: HostSample, factor: float) -> Others | None:
    if previous is None:
        return None
    return smoothed(previous.others, others(previous.sample, sample), factor)


def _level(item: GuestSample) -> Array:
    return vector(memory=item.counters.rss_bytes)


def _load(
    before: Counters | None, item: GuestSample, dt: float, supply: HostSupply
) -> Array | None:
    """Rates over dt, None when they are unknown: first look, counters fell, no time passed."""
    now = item.counters
    if before is None or dt <= 0 or _fell(before, now):
        return None
    cores = min((now.cpu_time_ns - before.cpu_time_ns) / 1e9 / dt, float(item.guest.vcpus) + 1.0)
    row = vector(
        memory=now.rss_bytes,
        disk_read=_disk(
            (now.disk_read_bytes - before.disk_read_bytes) / dt,
            (now.disk_read_ops - before.disk_read_ops) / dt,
            supply.disk_read_bps,
            supply.disk_read_iops,
        ),
        disk_write=_disk(
            (now.disk_write_bytes - before.disk_write_bytes) / dt,
            (now.disk_write_ops - before.disk_write_ops) / dt,
            supply.disk_write_bps,
            supply.disk_write_iops,
        ),
        net_rx=(now.net_rx_bytes - before.net_rx_bytes) / dt,
        net_tx=(now.net_tx_bytes - before.net_tx_bytes) / dt,
    )
    row[CPU] = cores * supply.core_score
    return row


def _ready(before: Counters | None, now: Counters, dt: float) -> float:
    """Of the busiest vCPU, in [0, 1]; 0 when it is not known."""
    if before is None or dt <= 0:
        return 0.0
    pairs = zip(before.vcpu_ready_ns, now.vcpu_ready_ns, strict=False)
    most = max((new - old for old, new in pairs), default=0) / 1e9 / dt
    return min(max(most, 0.0), 1.0)


def _disk(bytes_per_s: float, ops_per_s: float, supply_bps: float, supply_iops: float) -> float:
    """max(bytes / bandwidth, operations / IOPS) * bandwidth."""
    if supply_bps > 0 and supply_iops > 0:
        return max(bytes_per_s, ops_per_s * supply_bps / supply_iops)
    return bytes_per_s


def _fell(before: Counters, now: Counters) -> bool:
    return (
        now.cpu_time_ns < before.cpu_time_ns
        or now.disk_read_bytes < before.disk_read_bytes
        or now.disk_write_bytes < before.disk_write_bytes
        or now.disk_read_ops < before.disk_read_ops
        or now.disk_write_ops < before.disk_write_ops
        or now.net_rx_bytes < before.net_rx_bytes
        or now.net_tx_bytes < before.net_tx_bytes
    )
