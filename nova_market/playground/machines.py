# SPDX-License-Identifier: Apache-2.0
"""The power of the hosts: they boot and shut down on the cloud's clock. Implements ports.PowerActuator."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.core.power.host_step import PowerState
from nova_market.core.resource import HostName
from nova_market.ports import Clock

SHUTDOWN, BOOT = 60.0, 180.0
"""Seconds, of a host."""


class Machines:
    """off: hosts without power; due: host -> (when it changes, whether it is on then)"""

    acts = True

    def __init__(self, cloud: MemoryCloud, clock: Clock) -> None:
        self._cloud = cloud
        self._clock = clock
        self.off: set[str] = set()
        self.due: dict[str, tuple[float, bool]] = {}

    def kept(self) -> dict[str, Any]:
        """As a JSON document, for `restore`."""
        return {'off': sorted(self.off), 'due': {name: list(at) for name, at in self.due.items()}}

    def restore(self, document: Mapping[str, Any]) -> None:
        """What `kept` gave."""
        self.off = set(document['off'])
        self.due = {name: (at, on) for name, (at, on) in document['due'].items()}

    def catch_up(self) -> None:
        """Hosts that have booted answer, those that have shut down do not."""
        now = self._clock.wall()
        for name, (at, on) in sorted(self.due.items()):
            if now < at:
                continue
            del self.due[name]
            if not on:
                self.off.add(name)
            for host in self._cloud.hosts():
                if host.name == name:
                    self._cloud.put_host(replace(host, answering=on))

    def state(self, host: HostName) -> PowerState:
        return PowerState.OFF if host in self.off else PowerState.ON

    def power_on(self, host: HostName) -> None:
        if host in self.off:
            self.off.discard(host)
            self.due[host] = (self._clock.wall() + BOOT, True)

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        if host not in self.off and host not in self.due:
            self.due[host] = (self._clock.wall() + SHUTDOWN, False)
