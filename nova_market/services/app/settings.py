# SPDX-License-Identifier: Apache-2.0
"""The settings of a controller, from groups [controller] and [market], frozen at its start.

Units: seconds, periods, micro-credits per core or MiB and period.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nova_market.core.app.decision import Rules
from nova_market.core.app.policies.price_smoothing import KEEP
from nova_market.core.app.policies.traits import Policy
from nova_market.core.app.template import Rest


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """interval: between two looks at the servers; period: of the market; reserve: its least prices

    settle_time: in which a server may still come whose making was asked for and not answered
    first_pause, longest_pause: before a server whose making failed is made again
    when_suspended: how servers rest, of applications whose template does not say
    price_memory: part of a price that still counts a round later (core.app.policies.price_smoothing)
    """

    name: str = 'controller'
    interval: float = 10.0
    period: int = 60
    reserve: tuple[float, float] = (1000.0, 1.0)
    rules: Rules = field(default_factory=Rules)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    settle_time: float = 120.0
    first_pause: float = 15.0
    longest_pause: float = 900.0
    price_memory: float = KEEP
    when_suspended: Rest = Rest.SUSPEND
