# SPDX-License-Identifier: Apache-2.0
"""The guests of this host as libvirt sees them: one bulk call per round, which waits for no guest.

Implements the collection of resource utilization information of IFI-2016.04, section IV-B, without a call
per guest: XML and Nova's metadata are read once per incarnation (and again when a device comes or goes). CPU
time and memory come from the kernel, as libvirt's own do, but without a question to QEMU's monitor; what only
the monitor knows is read beside (monitor_statistics).
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import libvirt

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.hypervisor.cgroup import (
    CgroupTree,
    GuestCgroups,
    cpu_time_ns,
    resident_bytes,
)
from nova_market.adapters.hypervisor.connection import LibvirtLink, is_gone, is_lost
from nova_market.adapters.hypervisor.counters import GuestOdometers, Statistics, devices, rss_bytes
from nova_market.adapters.hypervisor.domain_xml import read_guest
from nova_market.adapters.hypervisor.host_use import host_use
from nova_market.adapters.hypervisor.monitor_statistics import SCOPE, MonitorStatistics, Readings
from nova_market.adapters.hypervisor.supply import SupplySettings, cpus_for_guests, host_supply
from nova_market.adapters.hypervisor.vcpu_time import vcpu_ready_ns
from nova_market.core.host.sample import (
    Guest,
    GuestSample,
    HostSample,
    HostSupply,
    HostUse,
    Limits,
)
from nova_market.core.resource import GuestId, OwnerId
from nova_market.ports import Clock

LOG = logging.getLogger(__name__)

STATISTICS = libvirt.VIR_DOMAIN_STATS_STATE | libvirt.VIR_DOMAIN_STATS_INTERFACE
"""Those that libvirt has without asking QEMU."""

PATIENCE = 1.0
"""Seconds that a look waits for the statistics of monitors."""

OCCUPIED = 2.0
"""Seconds that a call on one guest waits for others on it to end: it must not hold up the round of all."""

LOOK = 0.05
"""Seconds between two looks at that."""


@dataclass(slots=True)
class _Running:
    """A guest between two looks."""

    domain: libvirt.virDomain
    guest: Guest
    devices: tuple[object, ...]
    odometers: GuestOdometers
    rss_bytes: int = 0


class LibvirtHost:
    """Implements ports.HostDriver. Opens its connection at first use, and again when it was lost."""

    def __init__(
        self,
        uri: str,
        supply: SupplySettings,
        fallback_owner: str,
        owner_kind: str = 'project',
        *,
        clock: Clock | None = None,
        root: str = '/',
    ) -> None:
        """owner_kind: 'project' or 'user'. root: where the kernel's /proc and /sys are."""
        self.link = LibvirtLink(uri)
        self.cgroups = GuestCgroups(CgroupTree(root))
        self._settings = supply
        self._fallback_owner = OwnerId(fallback_owner)
        self._owner_kind = owner_kind
        self._clock = clock or SystemClock()
        self._root = Path(root)
        self._supply: HostSupply | None = None
        self._cpus: frozenset[int] | None = None
        self._running: dict[tuple[GuestId, int], _Running] = {}
        self._monitors = MonitorStatistics(uri, self._clock)
        self._seen_by_kernel = False
        self._generation = 0

    def supply(self) -> HostSupply:
        """What the host offers; asked once.

        :raises HostUnavailable: libvirt does not answer.
        :raises ConfigurationError: what is configured can't be true for this host.
        """
        if self._supply is None:
            with self.link.guarded():
                # (model, MiB, CPUs, MHz, ...)
                node = self.link.connection().getInfo()
            self._supply = host_supply(
                self._settings, memory_bytes=node[1] << 20, mhz=node[3], root=self._root
            )
        return self._supply

    def sample(self, patience: float = PATIENCE) -> HostSample:
        """All active guests and their counters.

        patience: seconds that statistics of monitors are waited for
        :raises HostUnavailable: libvirt does not answer.
        """
        connection = self.link.connection()
        if self._generation != self.link.generation:
            # domain objects hold the old connection, and a restarted libvirtd may give an id again
            self._running = {}
            self._monitors.close()
            self.cgroups.keep_only(())
            self._generation = self.link.generation
        self._monitors.begin(kernel=self._seen_by_kernel)
        asked = self._monitors.newest(patience)
        with self.link.guarded():
            rows = connection.getAllDomainStats(STATISTICS, SCOPE)
            seen = [self._recall(*_with_monitor(row, asked)) for row in rows]
        present = [one for one in seen if one is not None]
        self._running = {running.guest.incarnation: running for running, _ in present}
        self.cgroups.keep_only(self._running.keys())
        moment = self._clock.monotonic()
        use = self._use()
        samples = self._read_kernel(present, asked)
        return HostSample(
            time=moment,
            guests=tuple(sorted(samples, key=lambda item: item.guest.incarnation)),
            use=use,
        )

    def subscribe(self, callback: Callable[[str], None]) -> None:
        """`callback(reason)` from the event loop's thread; it must return at once."""
        self.link.subscribe(callback)

    def close(self) -> None:
        self.link.close()
        self._monitors.close()
        self._running = {}

    def domain(self, guest: Guest) -> libvirt.virDomain | None:
        """libvirt's handle of a guest of the last sample, None when it was not in it."""
        running = self._running.get(guest.incarnation)
        return running.domain if running else None

    def tune(self, guest: Guest, call: Callable[[libvirt.virDomain], object]) -> str:
        """Run `call` on the guest's handle; '' or what went wrong ('gone' when it has vanished).

        :raises HostUnavailable: libvirt does not answer.
        """
        domain = self.domain(guest)
        if domain is None:
            return 'gone'
        with self.link.guarded():
            try:
                if occupied := _occupied(domain):
                    return occupied
                call(domain)
            except libvirt.libvirtError as error:
                if is_lost(error):
                    raise
                return 'gone' if is_gone(error, domain) else str(error)
        return ''

    def tune_all(
        self,
        values: Mapping[GuestId, int],
        guests: Sequence[Guest],
        limits: Limits,
        call: Callable[..., object],
    ) -> Mapping[GuestId, str]:
        """`call(domain, value=...)` for each guest that has one; as ports.Actuator.write.

        :raises HostUnavailable: libvirt does not answer; some guests may have their value.
        """
        present = {guest.id: guest for guest in guests}
        self.cgroups.search(guests)
        result = {}
        for guest_id, value in values.items():
            if guest_id not in present or self._left(present[guest_id]):
                result[guest_id] = 'gone'
            elif not limits.minimum <= value <= limits.maximum:
                result[guest_id] = f'{value} is not in {limits.minimum}..{limits.maximum}'
            else:
                result[guest_id] = self.tune(present[guest_id], partial(call, value=value))
        return result

    def runs(self, guest: Guest) -> bool:
        """Whether a guest of the last sample still runs, asked now.

        :raises HostUnavailable: libvirt does not answer.
        """
        domain = self.domain(guest)
        if domain is None:
            return False
        with self.link.guarded():
            try:
                return bool(domain.isActive())
            except libvirt.libvirtError as error:
                if is_gone(error, domain):
                    return False
                raise

    def _use(self) -> HostUse | None:
        if not self._settings.measured:
            return None
        # the operator lists Nova's shared set, in which no dedicated guest runs
        listed = bool(self._settings.cpus.strip())
        if self._cpus is None:
            self._cpus = cpus_for_guests(self._settings, self._root)
        return host_use(self._root, self._cpus, without_dedicated=listed)

    def _left(self, guest: Guest) -> bool:
        """Whether this incarnation's process has gone: libvirt's handle means any incarnation."""
        if self.cgroups.pid(guest) is None or self.cgroups.tree.version('cpu') is None:
            return False  # nothing to tell it by
        group = self.cgroups.locate(guest, 'cpu')
        return group is None or not group.scope.exists()

    def _recall(
        self, domain: libvirt.virDomain, statistics: Statistics
    ) -> tuple[_Running, Statistics] | None:
        """What is known of a guest, read anew when it is new or its devices have changed; and its statistics.

        None when it has vanished since the statistics were taken.
        """
        guest_id, domain_id = GuestId(domain.UUIDString()), domain.ID()
        known = self._running.get((guest_id, domain_id))
        present = devices(statistics)
        if known is not None and known.devices == present:
            return known, statistics
        try:
            xml = domain.XMLDesc(0)
        except libvirt.libvirtError as error:
            if is_gone(error, domain):
                return None
            raise
        reading = read_guest(
            xml,
            guest_id=guest_id,
            domain_id=domain_id,
            name=domain.name(),
            fallback_owner=self._fallback_owner,
            owner_kind=self._owner_kind,
        )
        if known is not None:
            known.guest, known.devices = reading.guest, present
            return known, statistics
        for complaint in reading.complaints:
            LOG.warning('guest %s (domain %d): %s', guest_id, domain_id, complaint)
        new = _Running(
            domain=domain, guest=reading.guest, devices=present, odometers=GuestOdometers()
        )
        return new, statistics

    def _read_kernel(
        self, present: Sequence[tuple[_Running, Statistics]], asked: Readings
    ) -> list[GuestSample]:
        """Counters with the CPU time and the resident memory that the kernel knows, else those of libvirt."""
        self.cgroups.search([running.guest for running, _ in present])
        samples, self._seen_by_kernel = [], bool(present)
        for running, statistics in present:
            guest = running.guest
            pid, cpu_time = self.cgroups.pid(guest), cpu_time_ns(self.cgroups, guest)
            resident = None if pid is None else resident_bytes(self._root, pid)
            if resident is None or cpu_time is None:
                self._seen_by_kernel = False
            if resident is None:
                resident = rss_bytes(statistics)
            if resident is not None:
                running.rss_bytes = resident
            ready = () if pid is None else vcpu_ready_ns(self._root, pid)
            counters = running.odometers.read(
                statistics, running.rss_bytes, cpu_time, vcpu_ready_ns=ready
            )
            reading = asked.get(guest.incarnation)
            samples.append(
                GuestSample(
                    guest=guest, counters=counters, disks_at=reading.disks_at if reading else None
                )
            )
        return samples


def _occupied(domain: libvirt.virDomain) -> str:
    """Why a call on a guest would hang, '' when it would not: libvirt lets it wait 30 s for another one."""
    lasted_ms = 0
    for _ in range(round(OCCUPIED / LOOK)):
        state, _, lasted_ms = domain.controlInfo()
        if state not in (libvirt.VIR_DOMAIN_CONTROL_JOB, libvirt.VIR_DOMAIN_CONTROL_OCCUPIED):
            return ''
        if lasted_ms > 1000 * OCCUPIED:
            break
        time.sleep(LOOK)
    return f'its emulator has not answered another call for {lasted_ms / 1000:.0f} s'


def _with_monitor(
    row: tuple[libvirt.virDomain, Statistics], asked: Readings
) -> tuple[libvirt.virDomain, Statistics]:
    """Statistics of a guest, with what its monitor has answered last."""
    domain, statistics = row
    reading = asked.get((GuestId(domain.UUIDString()), domain.ID()))
    return domain, {**(reading.statistics if reading else {}), **statistics}
