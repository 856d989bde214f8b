# SPDX-License-Identifier: Apache-2.0
"""What switches hosts on and off, and what is kept of them (rule W3 of doc/source/specs/leases.rst).

Each method of an actuator ends within a time that the actuator's own options set, and may be called by
several threads at a time, for different hosts. It may raise errors.PowerUnavailable (no answer, or busy: try
again next period) or errors.PowerRefused (not as things are: an operator has to do something).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nova_market.core.market.inventory import CloudHost
from nova_market.core.power.host_step import HostState, PowerState
from nova_market.core.power.record import PowerEvent, StoredPower
from nova_market.core.resource import HostName


class PowerActuator(Protocol):
    """Plug-ins of `nova_market.power`: functions of a cfg.ConfigOpts that return one of these."""

    @property
    def acts(self) -> bool:
        """Does it switch anything? False: its orders do nothing, and every state is UNKNOWN."""

    def state(self, host: HostName) -> PowerState:
        """What the host is now; UNKNOWN too while it changes, where the actuator can tell that."""

    def power_on(self, host: HostName) -> None:
        """Begin to switch it on; nothing when it is on. It does not wait until the host is up."""

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        """Begin to shut it down; nothing when it is off.

        force: its power is taken away, for a host that does not shut down.
        """


class ComputeServices(Protocol):
    """Compute services of hosts. Any method may raise errors.CloudUnavailable."""

    def users(self, host: CloudHost) -> int | None:
        """Servers and migrations that hold room on it, also those on their way; None: not known."""

    def disable(self, host: HostName, reason: str) -> bool:
        """Nova puts no more servers there; False: it is gone, or disabled already."""

    def enable(self, host: HostName, reason: str) -> bool:
        """Nova puts servers there again; False: it is gone, or not disabled with this reason."""


class PowerStore(Protocol):
    """Where hosts are on their way. Any method may raise errors.DatabaseUnavailable."""

    def hosts(self) -> Mapping[HostName, StoredPower]:
        """All hosts on which a step was taken."""

    def change(
        self, host: HostName, before: StoredPower, state: HostState, event: PowerEvent | None
    ) -> bool:
        """Keep the next state of a host and its event; False: it was changed since `before` was read."""

    def events(
        self, host: str, before: int | None = None, limit: int = 100
    ) -> Sequence[PowerEvent]:
        """Newest first; `before`: number of the last one of a page."""

    def events_since(self, after: int, limit: int = 1000) -> Sequence[PowerEvent]:
        """Of all hosts, oldest first: what notifications are made of."""
