# SPDX-License-Identifier: Apache-2.0
"""The service of leases with power: hosts of a cloud in memory that boot and shut down on one clock."""

from dataclasses import dataclass, field, replace
from typing import Any

from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.leadership import SoleLeader
from nova_market.core.power.host_step import Phase, PowerState, StepSettings
from nova_market.core.power.plan import PowerSettings
from nova_market.core.power.record import Mode
from nova_market.core.resource import HostName
from nova_market.db.power import DatabasePower
from nova_market.errors import PowerUnavailable
from nova_market.services.power.actuator_calls import ActuatorCalls
from nova_market.services.power.notices import PowerNotices
from nova_market.services.power.power_pass import PowerPass, PowerSeen
from nova_market.services.power.settings import PowerServiceSettings
from tests.support.lease_bed import Around, LeaseBed

SHUTDOWN, BOOT = 60.0, 200.0

POWER = PowerServiceSettings(
    mode=Mode.AUTO,
    plan=PowerSettings(spare=0, idle=300.0, least_off=300.0, wake=300.0, margin=120.0),
    steps=StepSettings(least_off=300.0, off_within=200.0),
)


class Machines:
    """Implements ports.PowerActuator over hosts of a cloud in memory.

    broken: hosts that do not boot; silent: hosts whose controller does not answer; orders: given, in order
    """

    acts = True

    def __init__(self, bed: 'PowerBed') -> None:
        self._bed = bed
        self.off: set[str] = set()
        self.due: dict[str, tuple[float, bool]] = {}
        self.broken: set[str] = set()
        self.silent: set[str] = set()
        self.orders: list[tuple[float, str, str]] = []

    def catch_up(self) -> None:
        now = self._bed.clock.wall()
        for host, (at, on) in sorted(self.due.items()):
            if now < at:
                continue
            del self.due[host]
            if not on:
                there = [one.id for one in self._bed.cloud.servers() if one.host == host]
                assert not there, f'{host} goes off with {there}'
                self.off.add(host)
            self._bed.change_host(host, answering=on and host not in self.broken)

    def state(self, host: HostName) -> PowerState:
        self._answer(host)
        return PowerState.OFF if host in self.off else PowerState.ON

    def power_on(self, host: HostName) -> None:
        self._answer(host)
        if host in self.off:
            self._order(host, 'on')
            self.off.discard(host)
            self.due[host] = (self._bed.clock.wall() + BOOT, True)

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        self._answer(host)
        if host not in self.off and host not in self.due:
            self._order(host, 'force-off' if force else 'off')
            self.due[host] = (self._bed.clock.wall() + SHUTDOWN, False)

    def _answer(self, host: str) -> None:
        if host in self.silent:
            raise PowerUnavailable(f'{host}: no answer')

    def _order(self, host: str, what: str) -> None:
        self.orders.append((self._bed.clock.wall(), host, what))


@dataclass
class PowerBed(LeaseBed):
    """power_settings: of the services that `another` makes; seen: what passes have done"""

    power_settings: PowerServiceSettings = POWER
    seen: list[PowerSeen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.machines = Machines(self)
        self.power = DatabasePower(self.database)
        super().__post_init__()

    def switching(self, around: Around) -> PowerPass:
        """Of a service that has just started."""
        power, states = around(self.power), around(self.states)
        return PowerPass(
            store=power,
            services=around(self.cloud),
            calls=ActuatorCalls(around(self.machines), lambda call: call(), self.clock.monotonic),
            states=states,
            leadership=SoleLeader(),
            clock=self.clock,
            settings=self.power_settings,
            boundary=self.database.boundary,
            sender=PowerNotices(
                power=power,
                states=states,
                notices=self.notices,
                clock=self.clock,
                boundary=self.database.boundary,
            ),
            observe=self.seen.append,
        )

    def run(self, seconds: float = 60.0, step: float = 60.0) -> None:
        """Passes for so long; machines boot and shut down in between."""
        for _ in range(max(round(seconds / step), 1)):
            self.machines.catch_up()
            self.service.tick()
            self.clock.advance(step)

    def phases(self) -> dict[str, Phase]:
        """Of hosts that are not in service."""
        stored = self.power.hosts()
        return {
            str(name): one.state.phase
            for name, one in stored.items()
            if one.state.phase is not Phase.SERVING
        }

    def change_power(self, **changed: Any) -> None:
        """Other settings, for a service that starts now."""
        self.power_settings = replace(self.power_settings, **changed)
        self.service = self.another()

    def cloud_host(self, name: str) -> Any:
        assert isinstance(self.cloud, MemoryCloud)
        return next(one for one in self.cloud.hosts() if one.name == name)
