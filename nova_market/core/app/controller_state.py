# SPDX-License-Identifier: Apache-2.0
"""What a controller carries from one decision on an application to the next.

For Algorithm 2 of Merkat (INRIA RR-8648), section 2.3.2 (the last change of a bid), section 3.3.1 (servers
lost to the price), and section 3.2.1 (the time of the latest iterations). Units: micro-credits per period,
cores, MiB, seconds, core-seconds.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nova_market.core.row_check import checked

Pair = tuple[float, float]
"""cpu, memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentState:
    """Of one component, per server. most: what one can use, from its flavor; lost: the price took servers."""

    bid: Pair = (0.0, 0.0)
    change: Pair = (0.0, 0.0)
    most: Pair = (0.0, 0.0)
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerState:
    """counted: the last period whose charges and allocations are in `spent` and `given`

    given: core-seconds that hosts confirmed
    part:  of full CPU, in the last period that was counted
    at, done, each: of the newest progress report: when, how far, seconds for one at FULL allocation; each 0:
           not known yet
    began: when its first servers were intended
    servers: those it had at the last decision
    doubts, doubted: decisions in a row that found it too late, and `at` of the last of them
    """

    components: Mapping[str, ComponentState] = field(default_factory=dict)
    counted: int = 0
    spent: int = 0
    given: float = 0.0
    part: float = 1.0
    at: float = 0.0
    done: float = 0.0
    each: float = 0.0
    began: float = 0.0
    servers: tuple[str, ...] = ()
    doubts: int = 0
    doubted: float = 0.0

    def of(self, component: str) -> ComponentState:
        return self.components.get(component) or ComponentState()

    def document(self) -> Mapping[str, object]:
        """As JSON has it; StoredApp.memory."""
        return asdict(self)


def state_of(document: Mapping[str, Any]) -> ControllerState:
    """The state that `ControllerState.document` made JSON of; a first one of an empty document.

    :raises BadRow, KeyError, TypeError, ValueError: it is no such document.
    """
    given = dict(document)
    components = {
        str(name): checked(
            ComponentState(
                bid=_pair(one['bid']),
                change=_pair(one['change']),
                most=_pair(one['most']),
                lost=bool(one['lost']),
            )
        )
        for name, one in given.pop('components', {}).items()
    }
    servers = tuple(str(one) for one in given.pop('servers', ()))
    return checked(ControllerState(components=components, servers=servers, **given))


def _pair(given: Any) -> Pair:
    cpu, memory = given
    return float(cpu), float(memory)
