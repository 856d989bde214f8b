# SPDX-License-Identifier: Apache-2.0
"""The settings of an engine, read once at its start from group [market].

Units: period in seconds; other times in periods; prices in micro-credits per core or MiB and period; amounts
in micro-credits; rates in parts per million.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nova_market.core.ledger.currency import Currency, recharge
from nova_market.core.market.price import Pricing, clearing_price


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSettings:
    """reserve: least prices of a core and of a MiB; host_reserve: cores and MiB that a host keeps
    total, renew_every, return_delay, tax_rate, tax_floor: M3; return_delay 0: the bank's income is split
    new_weight: of a project for which nobody has set one (M7)
    notice: a payer whose credits last for fewer periods is notified (M4)
    breaker: largest factor between the prices of two periods (B4)
    """

    name: str = 'engine'
    """Of this engine, in rounds and in the log."""

    period: int = 60
    pricing: Pricing = clearing_price
    currency: Currency = recharge
    reserve: tuple[float, float] = (1000.0, 1.0)
    host_reserve: tuple[float, float] = (1.0, 1024.0)
    total: int = 0
    renew_every: int = 60
    return_delay: int = 60
    tax_rate: int = 0
    tax_floor: int = 0
    new_weight: float = 0.0
    breaker: float = 2.0
    notice: int = 60
    options: Mapping[str, object] = field(default_factory=dict)
    """What is written of the settings into a round's document."""

    @property
    def cycle(self) -> int:
        """Periods from one in which a credit is spent to the first in which it can be spent again (B3).

        What is returned or divided is posted when a round is settled, so it counts from the next one on.
        """
        return (self.return_delay or self.renew_every) + 1

    def shared_pool(self, bank: int) -> int:
        """What of the credits in the bank will be divided among all projects by weight."""
        return 0 if self.return_delay else bank
