# SPDX-License-Identifier: Apache-2.0
"""What a round needs of the one before: prices, demand, allocations, charges to return, carried state.

Implements the state behind rules P2, P4, B5, M3, M4 and F2 of doc/source/specs/market.rst. Units: as in
core.market.record; times in periods.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.ledger.posting import BANK, AccountId, Totals, bare_id, kind_of
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.carried_state import CarriedState
from nova_market.core.market.enforced import Enforced, stated_hosts, stored_enforced
from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PriceRecord,
    RoundRecord,
)
from nova_market.core.resource import Array, HostName


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Past:
    """price, demand: (resources,), 0 before the first round
    allocated: server -> (cores, MiB), where they are needed
    paid:      project -> charges that are due to be returned now
    enforced:  what hosts enforced, as far as it was stored
    stated:    hosts that had confirmed something
    carried:   what this round's document has to carry on, before its own decisions
    economy:   as the round before has recorded it (P4); None when there was none
    """

    period: int = 0
    price: Array = field(default_factory=lambda: np.zeros(len(MARKET_RESOURCES)))
    demand: Array = field(default_factory=lambda: np.zeros(len(MARKET_RESOURCES)))
    allocated: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    paid: Mapping[str, int] = field(default_factory=dict)
    enforced: Enforced = field(default_factory=dict)
    stated: frozenset[HostName] = frozenset()
    carried: CarriedState = field(default_factory=CarriedState)
    economy: EconomyRecord | None = None


def past_of(
    before: RoundRecord,
    prices: Iterable[PriceRecord],
    allocated: Iterable[AllocationRecord],
    paid: Mapping[str, int],
    carried: CarriedState,
    economy: EconomyRecord | None = None,
) -> Past:
    """The past from what was stored of the round before and of the periods whose charges return."""
    price = {one.resource: one.price for one in prices}
    return Past(
        period=before.period,
        price=np.array([price.get(name, 0.0) for name in MARKET_RESOURCES]),
        demand=np.array(_per_resource(before.document.get('demand'))),
        allocated={a.server_id: (a.actual_cpu, a.actual_memory_mib) for a in allocated},
        paid=paid,
        enforced=stored_enforced(before.document),
        stated=stated_hosts(before.document),
        carried=carried,
        economy=economy,
    )


def paid_by_projects(
    charges: Iterable[Totals], project_of: Callable[[AccountId], str | None] = lambda budget: None
) -> dict[str, int]:
    """Project -> what it and its budgets paid, also those that were closed since.

    charges: of each period; project_of: the project of a budget, None when it is not known any more
    """
    paid: dict[str, int] = {}
    for totals in charges:
        for (debit, credit), amount in totals.items():
            if credit != BANK:
                continue
            own = kind_of(debit) == 'project'
            if owner := bare_id(debit) if own else project_of(debit):
                paid[owner] = paid.get(owner, 0) + amount
    return paid


def _per_resource(value: object) -> Sequence[float]:
    if isinstance(value, list) and len(value) == len(MARKET_RESOURCES):
        return [float(number) for number in value]
    return [0.0] * len(MARKET_RESOURCES)
