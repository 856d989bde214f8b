# SPDX-License-Identifier: Apache-2.0
"""Settings of rebalancing, as a frozen value."""

from dataclasses import dataclass, field

from nova_market.core.rebalancing.cool_down import CoolDown
from nova_market.core.rebalancing.move_order import MigrationSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings

OFF, ADVISE, AUTO = 'off', 'advise', 'auto'


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalancingSettings:
    """mode: OFF, ADVISE or AUTO; every: periods from search to search; the others seconds."""

    mode: str = ADVISE
    every: int = 5
    balance: BalanceSettings = field(default_factory=BalanceSettings)
    migration: MigrationSettings = field(default_factory=MigrationSettings)
    cool_down: CoolDown = field(default_factory=CoolDown)
    approval_valid: float = 3600.0
    begin_within: float = 120.0
    end_within: float = 7200.0
