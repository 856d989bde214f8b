# SPDX-License-Identifier: Apache-2.0
"""Statistics that libvirt asks QEMU's monitor for: disks; CPU and memory where no process is seen.

Implements the collection of resource utilization information of IFI-2016.04, section IV-B. libvirt asks one
guest after the other and waits for each without a limit, so a guest that is starved or stopped would hold up
the statistics of all. Hence they are read beside the others, over a connection of their own. What has not
arrived in time counts in the next look (rule H17 of doc/source/specs/fairness.rst). Units: seconds.
"""

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import libvirt

from nova_market.adapters.hypervisor.connection import (
    KEEP_ALIVE_MISSES,
    KEEP_ALIVE_SECONDS,
    start_event_loop,
)
from nova_market.adapters.hypervisor.counters import Statistics
from nova_market.core.resource import GuestId
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock

LOG = logging.getLogger(__name__)

DISKS = libvirt.VIR_DOMAIN_STATS_BLOCK
CPU_AND_MEMORY = libvirt.VIR_DOMAIN_STATS_CPU_TOTAL | libvirt.VIR_DOMAIN_STATS_BALLOON
"""libvirt 9 asks QEMU also for the CPU's halt polling."""

SCOPE = (
    # ACTIVE and not RUNNING: a paused guest holds its memory. NOWAIT: a guest on which another call has begun
    # a job (migration, or an earlier call of ours that hangs) is left out.
    libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE
    | libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
)

HANGS = 30.0
"""After so long a reading counts as hanging, and another one is begun, which leaves out that guest."""

MOST_HANGING = 3
"""Readings that hang, each of which holds one of libvirtd's 20 threads (max_workers)."""

Incarnation = tuple[GuestId, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the monitor of a guest has answered last.

    disks_at: when the counters of its disks arrived; None before they did
    """

    statistics: Statistics
    disks_at: float | None = None


Readings = Mapping[Incarnation, Reading]


class MonitorStatistics:
    """The newest readings of each guest. Used by one thread."""

    def __init__(self, uri: str, clock: Clock) -> None:
        self._uri = uri
        self._clock = clock
        self._readings: dict[Incarnation, Reading] = {}
        self._calls: list[tuple[float, threading.Thread]] = []
        self._idle: libvirt.virConnect | None = None
        # readings are numbered: one that hung for long must not replace what later ones have read
        self._begun = self._kept = 0
        self._keeping = threading.Lock()
        self._outage = OutageLog(
            LOG,
            lost='guests answer late, rounds go on without the newest statistics of disks',
            back='all guests answer in time again',
        )

    def begin(self, *, kernel: bool) -> None:
        """Begin to read, unless the last reading goes on still.

        kernel: CPU time and memory of all guests come from the kernel, and are not asked for
        """
        wanted = DISKS if kernel else DISKS | CPU_AND_MEMORY
        now = self._clock.monotonic()
        self._calls = [(began, call) for began, call in self._calls if call.is_alive()]
        hanging = [began for began, _ in self._calls if now - began > HANGS]
        if len(hanging) == len(self._calls) and len(hanging) < MOST_HANGING:
            connection, self._idle = self._idle, None
            # a daemon: what never returns does not keep the process from ending
            self._begun += 1
            arguments = (connection, wanted, self._begun)
            call = threading.Thread(target=self._read, args=arguments, daemon=True)
            call.start()
            self._calls.append((now, call))

    def newest(self, patience: float) -> Readings:
        """Of each guest the last statistics that have arrived.

        patience: seconds that the reading begun last is waited for
        """
        if self._calls:
            began, call = self._calls[-1]
            call.join(patience)
            if call.is_alive():
                lasted = self._clock.monotonic() - began
                self._outage.failed(f'they are asked for {lasted:.0f} s already')
            else:
                self._outage.works()
        return dict(self._readings)

    def close(self) -> None:
        """Let go of the connection, and forget what was read and what is being read."""
        with self._keeping:
            connection, self._idle = self._idle, None
            self._kept = self._begun
            self._readings = {}
        if connection is not None:
            _close(connection)

    def _read(self, connection: libvirt.virConnect | None, wanted: int, number: int) -> None:
        """In a thread of its own. While a call hangs nobody else uses its connection: libvirt's client serves
        other calls late then, when the hanging one is next woken."""
        try:
            connection = connection or _open(self._uri)
            rows = connection.getAllDomainStats(wanted, SCOPE)
            now = self._clock.monotonic()
            read = {
                (GuestId(domain.UUIDString()), domain.ID()): Reading(
                    statistics=statistics, disks_at=now if _has_disks(statistics) else None
                )
                for domain, statistics in rows
            }
        except libvirt.libvirtError as error:
            # the other connection reports an outage
            LOG.debug('statistics of monitors were not read: %s', error)
            if connection is not None:
                _close(connection)
            return
        if not self._keep(read, connection, number):
            _close(connection)

    def _keep(self, read: Readings, connection: libvirt.virConnect, number: int) -> bool:
        """Whether a reading is of use still, and its connection with it."""
        with self._keeping:
            if number <= self._kept:
                return False
            self._kept = number
            known = self._readings
            # a guest that was left out keeps what is known of it
            self._readings = {
                key: _after(known[key], reading) if key in known else reading
                for key, reading in read.items()
            }
            self._idle = connection
            return True


def _has_disks(statistics: Statistics) -> bool:
    return any(name.endswith('.rd.bytes') for name in statistics)


def _after(known: Reading, now: Reading) -> Reading:
    return Reading(
        statistics={**known.statistics, **now.statistics},
        disks_at=known.disks_at if now.disks_at is None else now.disks_at,
    )


def _open(uri: str) -> libvirt.virConnect:
    start_event_loop()
    connection = libvirt.open(uri)
    with suppress(libvirt.libvirtError):  # in-process drivers (test:///) cannot be lost
        connection.setKeepAlive(KEEP_ALIVE_SECONDS, KEEP_ALIVE_MISSES)
    return connection


def _close(connection: libvirt.virConnect) -> None:
    with suppress(libvirt.libvirtError):
        connection.close()
