# SPDX-License-Identifier: Apache-2.0
"""A compute host in memory: the simulator's world and the tests' hypervisor.

Guests with scripted demand share cores, disk and network by their weights, as the kernel's weighted
schedulers do in the long run (weighted max-min, work conserving). Nothing here reads a clock by itself:
the world catches up with its clock whenever it is looked at or changed.

Units: cores, bytes, bytes/s. Memory guarantees are kept but have no effect: nothing here reclaims.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.host.sample import (
    BFQ_WEIGHT,
    CPU_SHARES_V1,
    Control,
    Counters,
    Guest,
    GuestSample,
    HostSample,
    HostSupply,
    HostUse,
    Limits,
)
from nova_market.core.resource import Array, GuestId
from nova_market.core.share import fair_shares
from nova_market.errors import HostUnavailable
from nova_market.ports import Clock

MEMORY_GUARANTEE = Limits(minimum=0, maximum=1 << 62, default=0)
NETWORK_WEIGHT = Limits(minimum=1, maximum=10000, default=100)

LIMITS = {
    'cpu': CPU_SHARES_V1,
    'memory': MEMORY_GUARANTEE,
    'disk': BFQ_WEIGHT,
    'network': NETWORK_WEIGHT,
}

BYTES_PER_OPERATION = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a guest would use if it were alone: cores busy, resident bytes, bytes/s."""

    cpu: float = 0.0
    rss_bytes: int = 0
    disk_read_bps: float = 0.0
    disk_write_bps: float = 0.0
    net_rx_bps: float = 0.0
    net_tx_bps: float = 0.0


Program = Callable[[float], Demand]
"""Demand at a time in seconds since the host was made."""

_FLOWS = {
    'disk_read_bps': 'disk',
    'disk_write_bps': 'disk',
    'net_rx_bps': 'network',
    'net_tx_bps': 'network',
}
"""Field of Demand and of HostSupply -> the control whose weights divide it."""


def steady(demand: Demand) -> Program:
    """The same demand for ever."""
    return lambda _: demand


@dataclass(slots=True)
class _Inmate:
    guest: Guest
    program: Program
    values: dict[str, int]
    rss_bytes: int = 0
    used: dict[str, float] = field(default_factory=dict)
    ready: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.ready = [0.0] * self.guest.vcpus

    def wait(self, wanted: float, got: float, seconds: float) -> None:
        """Count the time that its vCPUs, of which `wanted` have work, run or wait for a CPU."""
        for index in range(self.guest.vcpus):
            part = min(max(wanted - index, 0.0), 1.0)
            self.ready[index] += seconds * (1.0 if part > 0 and got < wanted - 1e-9 else part)

    def counters(self) -> Counters:
        read, written = self.used.get('disk_read_bps', 0.0), self.used.get('disk_write_bps', 0.0)
        return Counters(
            cpu_time_ns=round(self.used.get('cpu', 0.0) * 1e9),
            rss_bytes=self.rss_bytes,
            vcpu_ready_ns=tuple(round(seconds * 1e9) for seconds in self.ready),
            disk_read_bytes=int(read),
            disk_write_bytes=int(written),
            disk_read_ops=int(read / BYTES_PER_OPERATION),
            disk_write_ops=int(written / BYTES_PER_OPERATION),
            net_rx_bytes=int(self.used.get('net_rx_bps', 0.0)),
            net_tx_bytes=int(self.used.get('net_tx_bps', 0.0)),
        )


class InMemoryHost:
    """Implements ports.HostDriver; `actuators` gives the controls.

    available: set it to False and every call raises HostUnavailable, as when libvirtd is stopped; guests
               run on meanwhile.
    refusals:  control -> what every write of it answers, for tests of failure.
    """

    def __init__(
        self,
        clock: Clock,
        supply: HostSupply,
        *,
        step: float = 1.0,
        uncontrollable: Mapping[str, str] | None = None,
        others: Program | None = None,
    ) -> None:
        """step: longest time over which demand counts as constant; uncontrollable: control -> reason.

        others: what processes that are no guests want of CPU and memory; of CPU they have the weight of one
                guest per core, and no disk or network
        """
        self.available = True
        self.refusals: dict[str, str] = {}
        self._clock = clock
        self._supply = supply
        self._step = step
        self._uncontrollable = dict(uncontrollable or {})
        self._start = self._now = clock.monotonic()
        self._others = others or steady(Demand())
        self._others_cpu = self._gone_cpu = 0.0
        self._inmates: dict[GuestId, _Inmate] = {}
        self._callbacks: list[Callable[[str], None]] = []
        self._last_domain_id = 0

    def add(self, guest: Guest, program: Program, values: Mapping[str, int] | None = None) -> Guest:
        """Start a guest; returns it with the domain id it got. values: controls other than default.

        :raises ValueError: a guest of this id runs already.
        """
        if guest.id in self._inmates:
            raise ValueError(f'guest {guest.id} runs already')
        self._catch_up()
        self._last_domain_id += 1
        started = replace(guest, domain_id=self._last_domain_id)
        defaults = {name: limits.default for name, limits in LIMITS.items()}
        if guest.base_shares is not None:
            defaults['cpu'] = guest.base_shares
        self._inmates[guest.id] = _Inmate(started, program, defaults | dict(values or {}))
        self._tell(guest.id, 'started')
        return started

    def remove(self, guest_id: GuestId) -> None:
        """Stop a guest.

        :raises KeyError: it does not run.
        """
        self._catch_up()
        self._gone_cpu += self._inmates.pop(guest_id).used.get('cpu', 0.0)
        self._tell(guest_id, 'stopped')

    def restart(self, guest_id: GuestId) -> Guest:
        """Stop and start a guest as Nova's hard reboot does: new domain id, counters and values."""
        inmate = self._inmates[guest_id]
        self.remove(guest_id)
        return self.add(inmate.guest, inmate.program)

    def supply(self) -> HostSupply:
        self.check()
        return self._supply

    def sample(self) -> HostSample:
        self.check()
        self._catch_up()
        return HostSample(
            time=self._now,
            guests=tuple(
                GuestSample(guest=inmate.guest, counters=inmate.counters(), disks_at=self._now)
                for _, inmate in sorted(self._inmates.items())
            ),
            use=self._use(),
        )

    def subscribe(self, callback: Callable[[str], None]) -> None:
        self._callbacks.append(callback)

    def close(self) -> None:
        self._callbacks.clear()

    def actuators(self) -> tuple['MemoryActuator', ...]:
        """One per control, in the order of core.host.sample.CONTROLS."""
        return tuple(MemoryActuator(self, name) for name in LIMITS)

    def check(self) -> None:
        """:raises HostUnavailable: the host was made unavailable."""
        if not self.available:
            raise HostUnavailable('the host in memory was made unavailable; set available to True')

    def value(self, name: str, guest_id: GuestId) -> int:
        """The value of a control as the kernel would have it.

        :raises KeyError: no such guest.
        """
        return self._inmates[guest_id].values[name]

    def find(self, guest: Guest) -> '_Inmate | None':
        """A guest as it runs now, None when it, or this incarnation of it, has gone."""
        inmate = self._inmates.get(guest.id)
        same = inmate is not None and inmate.guest.incarnation == guest.incarnation
        return inmate if same else None

    def set(self, name: str, guest: Guest, value: int) -> None:
        """Set a control of a guest that runs; what was used until now was used under the old value."""
        self._catch_up()
        self._inmates[guest.id].values[name] = value

    def why_not(self, name: str, guest: Guest) -> str:
        """Why a control of a guest can't be set, '' when it can."""
        if name == 'cpu' and guest.dedicated:
            return 'pinned or realtime'
        if name == 'memory' and guest.hugepages:
            return 'backed by huge pages'
        return self._uncontrollable.get(name, '')

    def _use(self) -> HostUse:
        held = sum(inmate.rss_bytes for inmate in self._inmates.values())
        others = self._others(self._now - self._start).rss_bytes
        return HostUse(
            cpus=self._supply.cores,
            all_seconds=(self._now - self._start) * self._supply.cores,
            busy_seconds=self._gone_cpu
            + self._others_cpu
            + sum(inmate.used.get('cpu', 0.0) for inmate in self._inmates.values()),
            available_bytes=self._supply.memory_bytes - held - others,
        )

    def _tell(self, guest_id: GuestId, what: str) -> None:
        for callback in tuple(self._callbacks):
            callback(f'guest {guest_id} {what}')

    def _catch_up(self) -> None:
        until = self._clock.monotonic()
        while until - self._now > 1e-9:
            seconds = min(self._step, until - self._now)
            self._run(seconds)
            self._now += seconds
        self._now = max(self._now, until)

    def _run(self, seconds: float) -> None:
        inmates = [inmate for _, inmate in sorted(self._inmates.items())]
        demands = [inmate.program(self._now - self._start) for inmate in inmates]
        for inmate, demand in zip(inmates, demands, strict=True):
            inmate.rss_bytes = min(demand.rss_bytes, inmate.guest.memory_bytes)
        caps = [
            min(demand.cpu, inmate.guest.vcpus)
            for inmate, demand in zip(inmates, demands, strict=True)
        ]
        others = self._others(self._now - self._start).cpu
        weights = [float(inmate.values['cpu']) for inmate in inmates]
        weights.append(LIMITS['cpu'].default * self._supply.cores)
        shares = fair_shares(
            np.array(weights), np.array([*caps, others], dtype=float), self._supply.cores
        )
        self._others_cpu += float(shares[-1]) * seconds
        _use('cpu', inmates, shares[:-1] * seconds)
        for inmate, cap, share in zip(inmates, caps, shares.tolist(), strict=False):
            inmate.wait(cap, share, seconds)
        for flow, control in _FLOWS.items():
            wanted = [getattr(demand, flow) for demand in demands]
            # an unknown supply is no bottleneck
            capacity = getattr(self._supply, flow) or sum(wanted)
            self._divide(flow, control, wanted, capacity, inmates, seconds)

    def _divide(
        self,
        flow: str,
        control: str,
        wanted: Sequence[float],
        capacity: float,
        inmates: Sequence[_Inmate],
        seconds: float,
    ) -> None:
        weights = np.array([inmate.values[control] for inmate in inmates], dtype=float)
        shares = fair_shares(weights, np.array(wanted, dtype=float), capacity)
        _use(flow, inmates, shares * seconds)


def _use(flow: str, inmates: Sequence[_Inmate], amounts: Array) -> None:
    for inmate, amount in zip(inmates, amounts.tolist(), strict=True):
        inmate.used[flow] = inmate.used.get(flow, 0.0) + amount


class MemoryActuator:
    """One control of an InMemoryHost. Implements ports.Actuator."""

    def __init__(self, host: InMemoryHost, name: str) -> None:
        self.name = name
        self._host = host

    @property
    def limits(self) -> Limits:
        return LIMITS[self.name]

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        self._host.check()
        found = {}
        for guest in guests:
            inmate = self._host.find(guest)
            if inmate is not None:
                reason = self._host.why_not(self.name, guest)
                value = None if reason else inmate.values[self.name]
                found[guest.id] = Control(value=value, reason=reason)
        return found

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        self._host.check()
        present = {guest.id: guest for guest in guests}
        return {
            guest_id: self._write(present.get(guest_id), value)
            for guest_id, value in values.items()
        }

    def close(self) -> None:
        """Nothing of its own to undo."""

    def _write(self, guest: Guest | None, value: int) -> str:
        if guest is None or self._host.find(guest) is None:
            return 'gone'
        if not self.limits.minimum <= value <= self.limits.maximum:
            return f'{value} is not in {self.limits.minimum}..{self.limits.maximum}'
        wrong = self._host.refusals.get(self.name) or self._host.why_not(self.name, guest)
        if not wrong:
            self._host.set(self.name, guest, value)
        return wrong
