# SPDX-License-Identifier: Apache-2.0
"""What the market stores of each round, as values: itself, its prices, its allocations, the economy.

Implements rows of rules P1, P3, P4, A1 and A4 of doc/source/specs/market.rst. Units:
amounts in whole micro-credits, bids in micro-credits per period, CPU in cores, memory in MiB, times in
seconds since the epoch, prices in micro-credits per unit and period (a float: a price is no money).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from nova_market.core.ledger.money import MONEY
from nova_market.core.row_check import AMOUNT, TIME, Bounds


class RoundState(StrEnum):
    """How far a round has come. `planned` to `settled` in this order; `undone` ends it early."""

    PLANNED = 'planned'
    APPLIED = 'applied'
    SETTLED = 'settled'
    UNDONE = 'undone'


OPEN = frozenset({RoundState.PLANNED, RoundState.APPLIED})
"""States of a round that may still charge something, or be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRecord:
    """One period's round: whoever stores it first decides it, every later leader completes that one."""

    period: int
    leader: str
    started_at: float
    state: RoundState = RoundState.PLANNED
    document: Mapping[str, object]
    """Inputs, outcome and reasons (A4), as JSON has them."""


ROUND_BOUNDS: Bounds = {'period': (0, 2**62), 'started_at': TIME}


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRecord:
    """The price of one resource in one period (P1, P3)."""

    period: int
    resource: str
    price: float
    bid_price: float
    """Sum of bids / capacity, the paper's price [2.2.5]."""

    capacity: float
    allocated: float
    bids: int
    """Sum of the bids, micro-credits."""


PRICE_BOUNDS: Bounds = dict.fromkeys(('price', 'bid_price', 'capacity', 'allocated'), (0.0, 1e30))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRecord:
    """What one server got in one period, and what that costs (A1, A4)."""

    period: int
    server_id: str
    project_id: str
    host: str
    ideal_cpu: float
    actual_cpu: float
    ideal_memory_mib: float
    actual_memory_mib: float
    error: float
    charge_cpu: int
    charge_memory: int
    confirmed: bool = False
    """The host has reported that it applied it; an allocation that was not applied is free (F2)."""


ALLOCATION_BOUNDS: Bounds = {
    **dict.fromkeys(('charge_cpu', 'charge_memory'), MONEY),
    **dict.fromkeys(('ideal_cpu', 'actual_cpu', 'ideal_memory_mib', 'actual_memory_mib'), AMOUNT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EconomyRecord:
    """The economy when a round was decided (P4): where the credits were, before it held any."""

    period: int
    projects: int
    budgets: int
    escrow: int
    bank: int
    charged: int | None = None
    """What the round has charged so far; None until a payer of it is settled."""

    price_index: float | None
    base_rounds: int
    base_level: float
    base_cpu: float
    base_memory: float
    """The basket: cores and MiB times periods that were sold in the base window."""

    base_cpu_value: float
    base_memory_value: float
    """Micro-credits that they cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRecord:
    """What a project could spend in a period and go on for ever, and what that bought (B3, P4)."""

    period: int
    project_id: str
    wealth: int
    spend: int
    cores: float | None
    part: float | None
    real: float | None
