# SPDX-License-Identifier: Apache-2.0
"""What one look at a compute host sees: its supply, its guests, their counters.

Implements the Node Resource Information and the raw Resource Utilization Information of IFI-2016.04,
section IV-B. All values are frozen; counters are cumulative since the domain started.
"""

from dataclasses import dataclass

from nova_market.core.resource import GuestId, OwnerId

CONTROLS = ('cpu', 'memory', 'disk', 'network')
"""The knobs a host has, in the order they are applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSupply:
    """What a host offers to guests.

    cores:         physical cores that guests may use (SMT siblings counted as configured)
    core_score:    speed of one core relative to the cloud's reference core
    score_method:  how the score was found: table, calibrated, nominal
    memory_bytes:  RAM that guests may use
    disk_*, net_*: bytes/s, 0 = unknown, the resource is then left out of the metric
    disk_*_iops:   operations/s, 0 = unknown
    """

    cores: float
    core_score: float = 1.0
    score_method: str = 'nominal'
    memory_bytes: int
    disk_read_bps: float = 0.0
    disk_write_bps: float = 0.0
    disk_read_iops: float = 0.0
    disk_write_iops: float = 0.0
    net_rx_bps: float = 0.0
    net_tx_bps: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A running domain: what does not change until it is started again.

    base_shares: Nova's `quota:cpu_shares` of the flavor, None when the flavor has none
    dedicated:   CPU policy dedicated (pinned) or realtime: its CPU weight is left alone
    hugepages:   memory backed by huge pages: its memory is left alone
    file_backed: memory in files (Nova's file_backed_memory): the kernel writes it back without swap
    fallback:    owner or flavor did not come from Nova's metadata
    interfaces:  (tap device, MAC address) pairs
    disks:       source paths or devices of writable disks; '' for network disks
    """

    id: GuestId
    domain_id: int
    name: str
    owner: OwnerId
    vcpus: int
    memory_bytes: int
    flavor: str = ''
    base_shares: int | None = None
    dedicated: bool = False
    hugepages: bool = False
    file_backed: bool = False
    fallback: bool = False
    interfaces: tuple[tuple[str, str], ...] = ()
    disks: tuple[str, ...] = ()

    @property
    def incarnation(self) -> tuple[GuestId, int]:
        """Changes when the domain starts anew (reboot by Nova, resize, migration): counters restart."""
        return self.id, self.domain_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Cumulative counters of a guest, except rss_bytes which is a level.

    vcpu_ready_ns: of each vCPU, the time that it ran or waited for a CPU; () where it is not known
    """

    cpu_time_ns: int
    rss_bytes: int
    vcpu_ready_ns: tuple[int, ...] = ()
    disk_read_bytes: int = 0
    disk_write_bytes: int = 0
    disk_read_ops: int = 0
    disk_write_ops: int = 0
    net_rx_bytes: int = 0
    net_tx_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestSample:
    """A guest and its counters.

    disks_at: when the counters of its disks were read, in the time of HostSample: an emulator that answers
              late leaves those of an earlier look. None where they were never read
    """

    guest: Guest
    counters: Counters
    disks_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUse:
    """What the host as a whole has used, guests and other processes. Seconds are cumulative.

    cpus:            how many CPUs the seconds are of: those that guests may use
    all_seconds:     of all of them together, idle ones too
    busy_seconds:    in which they ran something; stolen_seconds: which a hypervisor below took away
    available_bytes: memory that could be had without reclaiming from guests
    without_dedicated: dedicated guests run on other CPUs
    """

    cpus: float
    all_seconds: float
    busy_seconds: float
    stolen_seconds: float = 0.0
    available_bytes: int
    without_dedicated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSample:
    """One bulk look: `time` is monotonic seconds taken at the look; guests ordered by id.

    use: None where it is not measured
    """

    time: float
    guests: tuple[GuestSample, ...]
    use: HostUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Legal values of a control as the kernel has them."""

    minimum: int
    maximum: int
    default: int


CPU_SHARES_V1 = Limits(minimum=2, maximum=262144, default=1024)
CPU_WEIGHT_V2 = Limits(minimum=1, maximum=10000, default=100)
BFQ_WEIGHT = Limits(minimum=1, maximum=1000, default=100)
IO_WEIGHT = Limits(minimum=1, maximum=10000, default=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One control of one guest as found: its value, or why it can't be controlled."""

    value: int | None = None
    reason: str = ''

    @property
    def controllable(self) -> bool:
        return not self.reason
