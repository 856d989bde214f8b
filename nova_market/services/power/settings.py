# SPDX-License-Identifier: Apache-2.0
"""The settings of power, from group [power], frozen at start. Seconds."""

from dataclasses import dataclass, field

from nova_market.core.power.host_step import StepSettings
from nova_market.core.power.plan import PowerSettings
from nova_market.core.power.record import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerServiceSettings:
    """plan: which hosts go and come; steps: how"""

    mode: Mode = Mode.OFF
    plan: PowerSettings = field(default_factory=PowerSettings)
    steps: StepSettings = field(default_factory=StepSettings)

    @property
    def lead(self) -> float:
        """From an order to wake a host until it is surely there."""
        return self.plan.wake + self.plan.margin
