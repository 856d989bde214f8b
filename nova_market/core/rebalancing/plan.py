# SPDX-License-Identifier: Apache-2.0
"""Migration plans and their moves, as values that are stored.

Implements rows of rules A3 and A4 of doc/source/specs/market.rst. Units: times in seconds since the epoch.
"""

from dataclasses import dataclass
from enum import StrEnum

from nova_market.core.notice.notice import Notice


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


def waiting_notice(plan: StoredPlan) -> Notice:
    """That a plan waits for an administrator; it is of no project."""
    return Notice(
        event='market.plan.waiting',
        project_id='',
        payload={
            'plan_id': plan.id,
            'moves': len(plan.moves),
            'reason': plan.moves[0].reason if plan.moves else '',
        },
        key=f'plan:{plan.id}',
        at=plan.created_at,
    )
