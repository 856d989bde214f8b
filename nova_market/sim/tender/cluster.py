# SPDX-License-Identifier: Apache-2.0
"""Physical hosts with CPUs and disks of their own, on which workers are placed.

Implements INRIA RR-7837, section 3.3.1, and Tables 1 and 2. Units: MIPS, MiB, GiB; the paper's GHz are
6000 MIPS each, its GB and TB are read as 1024 MiB and 1000 GiB.

Each PE of a worker takes its speed of another CPU. The paper does not state of which: here of those with
most left, so that wide workers fit as often as they can.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.tender.place import Openings
from nova_market.core.tender.pool import WorkerFlavors

GHZ = 6000.0
"""MIPS [4.1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """So many equal hosts; disks of disk_gib each."""

    hosts: int
    cpus: int
    mips: float
    memory_mib: float
    disks: int
    disk_gib: float


CLUSTERS = {
    'small': Cluster(
        hosts=4, cpus=2, mips=2 * GHZ, memory_mib=16 * 1024.0, disks=2, disk_gib=1000.0
    ),
    'standard': Cluster(
        hosts=5, cpus=8, mips=2 * GHZ, memory_mib=64 * 1024.0, disks=8, disk_gib=2000.0
    ),
    'powerful': Cluster(
        hosts=10, cpus=12, mips=3 * GHZ, memory_mib=96 * 1024.0, disks=12, disk_gib=2000.0
    ),
}
"""Table 2."""

CATALOGUE = WorkerFlavors(
    pes=np.array([1, 4, 8], dtype=np.intp),
    speed=np.array([GHZ, GHZ, 1.5 * GHZ]),
    memory_mib=np.array([1.5, 7.5, 15.0]) * 1024,
    disk_gib=np.array([160.0, 850.0, 1690.0]),
    start_cost=np.zeros(3, dtype=np.int64),
    start_seconds=np.ones(3),
)
"""Table 1: Normal, Large, Extra-large; V_COST 0 and V_START 1 s [4.1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """What a worker occupies: its host, the CPUs of its PEs, and a disk."""

    flavor: int
    host: int
    cpus: tuple[int, ...]
    disk: int


@dataclass(slots=True, eq=False)
class Hosts:
    """Of one cluster; (hosts,), (hosts, CPUs), (hosts, disks)."""

    cluster: Cluster
    flavors: WorkerFlavors
    servers: Rows = field(init=False)
    cpu: Array = field(init=False)
    memory: Array = field(init=False)
    disk: Array = field(init=False)
    _openings: Openings | None = None

    def __post_init__(self) -> None:
        one = self.cluster
        self.servers = np.zeros(one.hosts, dtype=np.intp)
        self.cpu = np.full((one.hosts, one.cpus), one.mips)
        self.memory = np.full(one.hosts, one.memory_mib)
        self.disk = np.full((one.hosts, one.disks), one.disk_gib)

    def openings(self) -> Openings:
        """For each flavor the host that runs most workers of those with room, of equal ones the first."""
        if self._openings is None:
            found = [
                (row, host) for row in range(len(self.flavors)) if (host := self._host(row)) >= 0
            ]
            self._openings = Openings(
                flavor=np.array([row for row, _ in found], dtype=np.intp),
                host=np.array([host for _, host in found], dtype=np.intp),
            )
        return self._openings

    def start(self, flavor: int, host: int) -> Seat:
        """A worker there, for which there is room."""
        one, row = self.flavors, flavor
        most = np.argsort(-self.cpu[host], kind='stable')[: one.pes[row]]
        disk = int(np.argmax(self.disk[host] >= one.disk_gib[row]))
        seat = Seat(flavor=row, host=host, cpus=tuple(most.tolist()), disk=disk)
        self._change(seat, -1)
        return seat

    def stop(self, seat: Seat) -> None:
        """The worker is deleted."""
        self._change(seat, 1)

    def usable_mips(self) -> float:
        """What PEs of new workers could have of the CPUs: fragments that no PE fits in do not count."""
        speed = np.unique(self.flavors.speed)[:, None, None]
        return float((np.floor(self.cpu / speed) * speed).max(axis=0).sum())

    def _host(self, flavor: int) -> int:
        one = self.flavors
        fits = (self.cpu >= one.speed[flavor]).sum(axis=1) >= one.pes[flavor]
        fits &= self.memory >= one.memory_mib[flavor]
        fits &= (self.disk >= one.disk_gib[flavor]).any(axis=1)
        return int(np.argmax(np.where(fits, self.servers, -1))) if fits.any() else -1

    def _change(self, seat: Seat, sign: int) -> None:
        one = self.flavors
        self.servers[seat.host] -= sign
        self.cpu[seat.host, list(seat.cpus)] += sign * one.speed[seat.flavor]
        self.memory[seat.host] += sign * one.memory_mib[seat.flavor]
        self.disk[seat.host, seat.disk] += sign * one.disk_gib[seat.flavor]
        self._openings = None
