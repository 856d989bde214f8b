# SPDX-License-Identifier: Apache-2.0
"""What the market keeps from round to round, as values: accounts, statements, bids, rounds, plans.

Implements the rows that rules M1, M2, B1, P3, A3 and A4 of doc/source/specs/market.rst speak of. Units:
amounts in whole micro-credits, bids in micro-credits per period, CPU in cores, memory in MiB, times in
seconds since the epoch, prices in micro-credits per unit and period (a float: a price is no money).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from nova_market.core.ledger import AccountId, Posting


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One account; `project_id` is whose it is ('' for bank, mint and escrow)."""

    id: AccountId
    project_id: str = ''
    name: str = ''
    weight: float = 1.0
    """Share of this project in what the operator hands out [2.1]."""

    renew_amount: int | None = None
    """A budget that renews by itself is filled up to this; None: by hand (M4)."""

    renew_every: int = 1
    """Periods from one renewal to the next."""

    balance: int = 0
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine:
    """One posting as the owner of one account sees it."""

    number: int
    """Grows with time; the marker for the next page."""

    posting: Posting
    posted_at: float
    by: str
    change: int
    """What it did to this account: positive when it gained."""

    balance: int
    """Of this account, after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBid:
    """What one server bids per period until it is changed (B1)."""

    server_id: str
    project_id: str
    payer: AccountId
    cpu: int
    memory: int
    max_cpu: float | None = None
    max_memory_mib: float | None = None
    source: str = 'tenant'
    """Where it came from: tenant, hint, flavor or price."""

    generation: int = 0
    """Grows with each change; 0: not stored yet."""


class RoundState(StrEnum):
    """How far a round has come. `planned` to `settled` in this order; `undone` ends it early."""

    PLANNED = 'planned'
    APPLIED = 'applied'
    SETTLED = 'settled'
    UNDONE = 'undone'


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRecord:
    """One period's round: whoever stores it first decides it, every later leader completes that one."""

    period: int
    leader: str
    started_at: float
    state: RoundState = RoundState.PLANNED
    document: Mapping[str, object]
    """Inputs, outcome and reasons (A4), as JSON has them."""


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
    """The host has said that it applied it; nobody pays for what was not (F2)."""


class PlanState(StrEnum):
    """A migration plan's life (A3)."""

    PROPOSED = 'proposed'
    APPROVED = 'approved'
    REJECTED = 'rejected'
    RUNNING = 'running'
    DONE = 'done'
    FAILED = 'failed'
    SUPERSEDED = 'superseded'


class MoveState(StrEnum):
    """A migration's life."""

    WAITING = 'waiting'
    MOVING = 'moving'
    DONE = 'done'
    FAILED = 'failed'
    DROPPED = 'dropped'


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMove:
    """One live migration and why (A4)."""

    server_id: str
    source: str
    destination: str
    error_before: float
    error_after: float
    gain: float
    cost: float
    reason: str = ''
    state: MoveState = MoveState.WAITING
    outcome: str = ''
    changed_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """Migrations that belong together, in the order in which they can be carried out."""

    id: str
    period: int
    mode: str
    created_at: float
    state: PlanState = PlanState.PROPOSED
    decided_by: str = ''
    decided_at: float | None = None
    moves: tuple[StoredMove, ...] = ()
