# SPDX-License-Identifier: Apache-2.0
"""What switches hosts on and off (rule W3 of doc/source/specs/leases.rst).

Each method ends within a time that the actuator's own options set, and may be called by one thread at a time.
It may raise errors.PowerUnavailable (no answer, or busy: try again next period) or errors.PowerRefused (not
as things are: an operator has to do something).
"""

from typing import Protocol

from nova_market.core.power.host_step import PowerState
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
