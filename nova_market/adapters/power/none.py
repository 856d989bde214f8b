# SPDX-License-Identifier: Apache-2.0
"""The power actuator `none`: switches nothing, for clouds that only want advice."""

from oslo_config import cfg

from nova_market.core.power.host_step import PowerState
from nova_market.core.resource import HostName


class NoPower:
    """Implements ports.PowerActuator."""

    acts = False

    def state(self, host: HostName) -> PowerState:
        return PowerState.UNKNOWN

    def power_on(self, host: HostName) -> None:
        """Nothing."""

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        """Nothing."""


def none(conf: cfg.ConfigOpts) -> NoPower:
    """Plug-in `none`; has no options."""
    return NoPower()
