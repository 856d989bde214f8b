# SPDX-License-Identifier: Apache-2.0
"""Looks at hosts from outside the service: what guests got, and what their weights were.

The same bulk statistics as the service's, taken by a process of its own, so that a fault of the service
does not hide in its own figures.
"""

import time
from collections.abc import Mapping

from nova_market.adapters.control.cpu import CpuShares
from nova_market.adapters.control.disk import DiskWeight
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.core.host.sample import Counters
from nova_market.experiments.guests.recording import Recording


class Observer:
    """Records cpu (cores), disk (bytes/s), shares and disk weight of every guest of some hosts."""

    def __init__(self, uris: Mapping[str, str]) -> None:
        """uris: host -> libvirt connection."""
        self._hosts = {
            name: LibvirtHost(uri, SupplySettings(), fallback_owner='unknown')
            for name, uri in uris.items()
        }
        self._before: dict[str, tuple[float, Counters]] = {}
        self.recording = Recording()

    def look(self, moment: float) -> dict[str, float]:
        """One row at `moment` seconds into the experiment; the first look only takes counters."""
        row: dict[str, float] = {}
        for host in self._hosts.values():
            sample = host.sample()
            guests = [item.guest for item in sample.guests]
            shares, weights = CpuShares(host).read(guests), DiskWeight(host).read(guests)
            for item in sample.guests:
                name, now = item.guest.name, item.counters
                before = self._before.get(name)
                self._before[name] = (sample.time, now)
                if before is None or sample.time <= before[0]:
                    continue
                seconds = sample.time - before[0]
                row[f'{name}.cpu'] = (now.cpu_time_ns - before[1].cpu_time_ns) / 1e9 / seconds
                row[f'{name}.disk'] = (_disk(now) - _disk(before[1])) / seconds
                for column, found in (('shares', shares), ('weight', weights)):
                    value = found[item.guest.id].value if item.guest.id in found else None
                    if value is not None:
                        row[f'{name}.{column}'] = float(value)
        if row:
            self.recording.add(moment, row)
        return row

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
