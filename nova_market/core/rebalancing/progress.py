# SPDX-License-Identifier: Apache-2.0
"""What is next for a migration plan, and what has become of a move.

Implements rule A3 of doc/source/specs/market.rst: one move after the other, each watched to its end. Times in
seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from nova_market.core.market.inventory import CloudMigration, MigrationState
from nova_market.core.rebalancing.plan import MoveState, PlanState, StoredMove, StoredPlan
from nova_market.core.rebalancing.settings import OFF, RebalancingSettings
from nova_market.core.resource import HostName


class NextStep(Enum):
    """What a running plan needs: a look at the move under way, the start of the next one, or its end."""

    WATCH = 'watch'
    START = 'start'
    END = 'end'


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A move that is over: how, and what is stored of it."""

    state: MoveState
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which approved plan begins, if one does, and which never will."""

    begins: StoredPlan | None
    superseded: tuple[StoredPlan, ...]


def next_step(states: Sequence[MoveState]) -> tuple[NextStep, int]:
    """(what comes next, the position of its move); states of the moves of a running plan."""
    if MoveState.MOVING in states:
        return NextStep.WATCH, states.index(MoveState.MOVING)
    if MoveState.WAITING in states:
        return NextStep.START, states.index(MoveState.WAITING)
    return NextStep.END, len(states)


def plan_end(states: Sequence[MoveState]) -> PlanState:
    """How a plan has ended: done when a move was made and none failed."""
    well = MoveState.DONE in states and MoveState.FAILED not in states
    return PlanState.DONE if well else PlanState.FAILED


def choice(approved: Sequence[StoredPlan], now: float, settings: RebalancingSettings) -> Choice:
    """The newest approved plan begins, if it is young enough. approved: newest first."""
    young = [
        plan
        for plan in approved
        if now - (plan.created_at if plan.decided_at is None else plan.decided_at)
        <= settings.approval_valid
    ]
    begins = young[0] if young and settings.mode != OFF else None
    return Choice(begins=begins, superseded=tuple(p for p in approved if p is not begins))


def is_for(found: CloudMigration, move: StoredMove) -> bool:
    """Is this migration the one of the move? Nova may report only later where it goes."""
    return found.destination in ('', move.destination)


def is_under_way(found: CloudMigration | None, move: StoredMove) -> bool:
    """Is the server on its way to where it should go? Another leader may have requested it."""
    return found is not None and found.state == MigrationState.RUNNING and is_for(found, move)


def watched(
    found: CloudMigration | None,
    move: StoredMove,
    newest: str,
    waited: float,
    settings: RebalancingSettings,
) -> Ended | None:
    """What has become of a move that was requested; None while it goes on.

    found: the server's newest migration; newest: id of the one before the request; waited: since then
    """
    if found is None or found.id == newest:
        late = waited > settings.begin_within
        return _failed(f'Nova has not begun it in {waited:.0f} s') if late else None
    if not is_for(found, move):
        return _failed(f'it is migrated to {found.destination} by somebody else')
    if found.state == MigrationState.DONE:
        return Ended(state=MoveState.DONE, outcome=f'took {waited:.0f} s')
    if found.state == MigrationState.FAILED:
        return _failed(found.reason or 'Nova gives no reason for its failure')
    late = waited > settings.end_within
    return _failed(f'has not ended in {waited:.0f} s; it is left to Nova') if late else None


def taken_over(move: StoredMove, host: HostName | None) -> Ended | None:
    """What has become of a move whose request is in doubt; None when it has to be requested (again).

    host: where the server is, None when it is gone; no migration of it goes on
    """
    if host == move.destination:
        return Ended(state=MoveState.DONE, outcome='had arrived when this engine took over')
    if host is None:
        return _failed('the server is gone')
    return None if host == move.source else _failed(f'the server is on {host}')


def _failed(outcome: str) -> Ended:
    return Ended(state=MoveState.FAILED, outcome=outcome)
