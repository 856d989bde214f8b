# SPDX-License-Identifier: Apache-2.0
"""From libvirt's bulk statistics to counters that never go back.

Implements the resource utilization information of IFI-2016.04, section IV-B. Units: ns, bytes, operations.
Network directions are the guest's: what it receives is rx.

Differs from the paper: sums over devices stay monotonic when a device is unplugged, when the monitor is
busy (statistics without blocks) and when libvirtd gives an old domain id to a new start of the domain.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nova_market.core.host.sample import Counters

_NET = {'rx.bytes': 'net_rx_bytes', 'tx.bytes': 'net_tx_bytes'}
_BLOCK = {
    'rd.bytes': 'disk_read_bytes',
    'wr.bytes': 'disk_write_bytes',
    'rd.reqs': 'disk_read_ops',
    'wr.reqs': 'disk_write_ops',
}
_SOURCES = {'cpu_time_ns': ('cpu', 'time')}
_SOURCES |= {field_name: ('net', suffix) for suffix, field_name in _NET.items()}
_SOURCES |= {field_name: ('block', suffix) for suffix, field_name in _BLOCK.items()}

Statistics = Mapping[str, Any]


@dataclass(slots=True)
class _Odometer:
    """One counter of one guest, summed over its devices."""

    total: int = 0
    last: dict[str, int] = field(default_factory=dict)
    looks: int = 0
    seen: bool = False

    def turn(self, readings: Mapping[str, int]) -> int:
        # a counter that is missing at the first look and shows up later has a past of unknown length:
        # it starts at zero there, or all of it would count as one interval's load
        late = bool(readings) and not self.seen and self.looks > 0
        for device, value in readings.items():
            if not late:
                before = self.last.get(device, 0)
                self.total += value - before if value >= before else value
            self.last[device] = value
        if readings:
            self.seen = True
            # an unplugged device keeps its past in the total; plugged in again it starts at zero
            self.last = dict(readings)
        self.looks += 1
        return self.total


class GuestOdometers:
    """All counters of one incarnation of a guest."""

    def __init__(self) -> None:
        self._odometers = {name: _Odometer() for name in _SOURCES}
        self._by_kernel = False

    def read(
        self,
        statistics: Statistics,
        rss_bytes: int,
        cpu_time_ns: int | None = None,
        *,
        vcpu_ready_ns: tuple[int, ...] = (),
    ) -> Counters:
        """Counters after one look; what the statistics lack stays as it was.

        cpu_time_ns: as the kernel has it; from then on the statistics' one does not count, as it may be older
        """
        self._by_kernel = self._by_kernel or cpu_time_ns is not None
        if self._by_kernel:
            statistics = {**statistics, 'cpu.time': cpu_time_ns}
        values = {
            name: odometer.turn(_readings(statistics, *_SOURCES[name]))
            for name, odometer in self._odometers.items()
        }
        return Counters(rss_bytes=rss_bytes, vcpu_ready_ns=vcpu_ready_ns, **values)


def rss_bytes(statistics: Statistics) -> int | None:
    """Resident memory of the QEMU process; None where the statistics lack it (monitor busy)."""
    kib = statistics.get('balloon.rss')
    return int(kib) * 1024 if kib is not None else None


def devices(statistics: Statistics) -> tuple[object, ...]:
    """The interfaces and disks the statistics name; a change means that one was plugged or unplugged."""
    return tuple(
        statistics.get(f'{group}.{index}.name')
        for group in ('net', 'block')
        for index in range(int(statistics.get(f'{group}.count', 0)))
    )


def _readings(statistics: Statistics, group: str, suffix: str) -> dict[str, int]:
    if group == 'cpu':
        value = statistics.get(f'cpu.{suffix}')
        return {} if value is None else {'cpu': int(value)}
    readings: dict[str, int] = {}
    for index in range(int(statistics.get(f'{group}.count', 0))):
        value = statistics.get(f'{group}.{index}.{suffix}')
        if value is not None:
            name = str(statistics.get(f'{group}.{index}.name', index))
            readings[name] = readings.get(name, 0) + int(value)
    return readings
