# SPDX-License-Identifier: Apache-2.0
"""Looks at hosts from outside the service: what guests got, and what their weights were.

The same bulk statistics as the service's, taken by a process of its own, so that a fault of the service
does not hide in its own figures. Disk rates are over the time between two answers of the guest's emulator:
one that has not answered anew has no rate in that row, and its next one is of the longer time.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.core.host.sample import Counters
from nova_market.experiments.guests.recording import Recording

LOG = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that a look waits for the emulators of guests, by which it has the counters of their disks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Odometer:
    """A cumulative counter and when it was read, in seconds."""

    value: int
    time: float

    def rate_since(self, before: 'Odometer | None') -> float | None:
        """Units a second; None at the first reading and where there is no newer one."""
        if before is None or self.time <= before.time:
            return None
        return (self.value - before.value) / (self.time - before.time)


class Observer:
    """Records cpu (cores), disk (bytes/s), shares and disk weight of every guest of some hosts."""

    def __init__(self, uris: Mapping[str, str]) -> None:
        """uris: host -> libvirt connection."""
        # not above: the simulated experiments run without the extra fairness, which brings libvirt
        from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost

        self._hosts = {
            name: LibvirtHost(uri, SupplySettings(), fallback_owner='unknown')
            for name, uri in uris.items()
        }
        self._before: dict[str, Odometer] = {}
        self.recording = Recording()

    def look(self, moment: float) -> dict[str, float]:
        """One row at `moment` seconds into the experiment; the first look only takes counters."""
        from nova_market.adapters.control.cpu import CpuShares
        from nova_market.adapters.control.disk import DiskWeight

        row: dict[str, float] = {}
        for host in self._hosts.values():
            sample = host.sample(PATIENCE)
            guests = [item.guest for item in sample.guests]
            shares, weights = CpuShares(host).read(guests), DiskWeight(host).read(guests)
            for item in sample.guests:
                name = item.guest.name
                cpu = self._rate(f'{name}.cpu', item.counters.cpu_time_ns, sample.time)
                disk = self._rate(f'{name}.disk', _disk(item.counters), item.disks_at)
                if cpu is None:
                    continue
                row[f'{name}.cpu'] = cpu / 1e9
                if disk is not None:
                    row[f'{name}.disk'] = disk
                elif item.guest.disks:
                    LOG.warning('at %.1f s: no newer statistics of the disks of %s', moment, name)
                for column, found in (('shares', shares), ('weight', weights)):
                    value = found[item.guest.id].value if item.guest.id in found else None
                    if value is not None:
                        row[f'{name}.{column}'] = float(value)
        if row:
            self.recording.add(moment, row)
        return row

    def _rate(self, column: str, value: int, read_at: float | None) -> float | None:
        """Since the reading before, which this one takes the place of when it is newer."""
        if read_at is None:
            return None
        now, before = Odometer(value=value, time=read_at), self._before.get(column)
        if before is None or now.time > before.time:
            self._before[column] = now
        return now.rate_since(before)

    def watch(self, began: float, until: float, every: float) -> None:
        """Look each `every` seconds until `until` seconds after `began` (monotonic)."""
        while True:
            now = time.monotonic() - began
            self.look(now)
            if now + every > until:
                return
            time.sleep(max(every - (time.monotonic() - began - now), 0.0))

    def close(self) -> None:
        for host in self._hosts.values():
            host.close()


def _disk(counters: Counters) -> int:
    return counters.disk_read_bytes + counters.disk_write_bytes
