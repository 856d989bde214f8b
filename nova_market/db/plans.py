# SPDX-License-Identifier: Apache-2.0
"""Migration plans: proposed, approved or rejected, carried out move by move.

Implements rules A3 and A4 of doc/source/specs/market.rst. A state is set only where it is compared: of
an approval and a rejection at the same time, one wins and the other is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select, update

from nova_market.core.notice.notice import Notice
from nova_market.core.rebalancing.plan import MoveState, PlanState, StoredMove, StoredPlan
from nova_market.core.row_check import checked
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE
from nova_market.db.market_tables import plan_moves, plans
from nova_market.db.notice_queue import queue_notices
from nova_market.db.sound_rows import sound_page, sound_row, unknown_word
from nova_market.errors import Conflict
from nova_market.row_boundary import READ

MOVE = tuple(field.name for field in fields(StoredMove))
DECIDED = frozenset({PlanState.APPROVED, PlanState.REJECTED})
NEXT: Mapping[PlanState, frozenset[PlanState]] = {
    PlanState.PROPOSED: DECIDED | {PlanState.SUPERSEDED},
    PlanState.APPROVED: frozenset({PlanState.RUNNING, PlanState.SUPERSEDED}),
    PlanState.RUNNING: frozenset({PlanState.DONE, PlanState.FAILED}),
}
NEXT_MOVE: Mapping[MoveState, frozenset[MoveState]] = {
    MoveState.WAITING: frozenset({MoveState.MOVING, MoveState.DROPPED}),
    MoveState.MOVING: frozenset({MoveState.DONE, MoveState.FAILED}),
}


class DatabasePlans:
    """Implements ports.PlanStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def add(self, plan: StoredPlan, notices: Sequence[Notice] = ()) -> None:
        """Store a new plan; one that is stored stays as it is. notices: queued with it (notice_queue)"""
        self._database.write(_add, plan, tuple(notices))

    def plan(self, plan_id: str) -> StoredPlan | None:
        """A plan with its moves; None when there is none."""
        return self._database.read(_plan, plan_id)

    def list(
        self, state: PlanState | None = None, before: float | None = None, limit: int = 100
    ) -> Sequence[StoredPlan]:
        """Plans without their moves, newest first; `before`: creation time of the last one of a page."""
        return self._database.read(_list, state, before, min(limit, MAX_PAGE))

    def advance(self, plan_id: str, before: PlanState, after: PlanState, by: str = '') -> None:
        """Take a plan to its next state; nothing happens when it is there already.

        :raises Conflict: it is in another state, or there is no such step.
        """
        if after not in NEXT.get(before, ()):
            raise Conflict(f'plan {plan_id} cannot go from {before} to {after}')
        self._database.write(_advance, plan_id, before, after, by, self._wall())

    def move(
        self, plan_id: str, position: int, before: MoveState, after: MoveState, outcome: str = ''
    ) -> None:
        """The same for one move; `outcome` says what came of it.

        :raises Conflict: as in advance.
        """
        if after not in NEXT_MOVE.get(before, ()):
            raise Conflict(f'move {position} of {plan_id} cannot go from {before} to {after}')
        self._database.write(_move, plan_id, position, before, after, outcome[:1000], self._wall())


def _add(connection: Connection, plan: StoredPlan, notices: Sequence[Notice]) -> None:
    if _plan(connection, plan.id) is not None:
        return
    row = {
        'id': plan.id, 'period': plan.period, 'mode': plan.mode, 'state': str(plan.state),
        'created_at': plan.created_at, 'decided_by': plan.decided_by, 'decided_at': plan.decided_at,
    }  # fmt: skip
    connection.execute(insert(plans), row)
    moves = [
        {'plan_id': plan.id, 'position': position, **{name: getattr(one, name) for name in MOVE}}
        for position, one in enumerate(plan.moves)
    ]
    if moves:
        connection.execute(insert(plan_moves), moves)
    queue_notices(connection, notices)


def _plan(connection: Connection, plan_id: str) -> StoredPlan | None:
    row = connection.execute(select(plans).where(plans.c.id == plan_id)).first()
    if row is None:
        return None
    query = select(plan_moves).where(plan_moves.c.plan_id == plan_id)
    found = list(connection.execute(query.order_by(plan_moves.c.position)))
    return sound_row(connection, 'plan', (row, found), _whole, lambda one: str(one[0].id))


def _list(
    connection: Connection, state: PlanState | None, before: float | None, limit: int
) -> list[StoredPlan]:
    query = select(plans)
    if state is not None:
        # nobody asks for those whose state is not known: they are set aside here
        lost = unknown_word(plans.c.state, PlanState)
        query = query.where(or_(plans.c.state == str(state), lost))
    if before is not None:
        query = query.where(plans.c.created_at < before)
    newest, stage = query.order_by(plans.c.created_at.desc(), plans.c.id), f'{READ} in a list'
    return sound_page(connection, 'plan', newest, limit, lambda row: _stored(row, ()), stage=stage)


def _advance(
    connection: Connection, plan_id: str, before: PlanState, after: PlanState, by: str, now: float
) -> None:
    values: dict[str, object] = {'state': str(after)}
    if after in DECIDED:
        values |= {'decided_by': by, 'decided_at': now}
    change = update(plans).where(plans.c.id == plan_id, plans.c.state == str(before))
    if connection.execute(change.values(**values)).rowcount:
        return
    row = connection.execute(select(plans).where(plans.c.id == plan_id)).first()
    if row is None or row.state != after or (after in DECIDED and row.decided_by != by):
        state = row.state if row else 'not stored'
        raise Conflict(f'plan {plan_id} is {state}, not {before}: read it again')


def _move(
    connection: Connection, plan_id: str, position: int, before: MoveState, after: MoveState,
    outcome: str, now: float,
) -> None:  # fmt: skip
    here = (plan_moves.c.plan_id == plan_id, plan_moves.c.position == position)
    change = update(plan_moves).where(*here, plan_moves.c.state == str(before))
    values = {'state': str(after), 'outcome': outcome, 'changed_at': now}
    if connection.execute(change.values(**values)).rowcount:
        return
    found = connection.execute(select(plan_moves.c.state).where(*here)).scalar()
    if found != after:
        raise Conflict(f'move {position} of {plan_id} is {found or "not stored"}, not {before}')


def _whole(found: tuple[Row[Any], Sequence[Row[Any]]]) -> StoredPlan:
    """Of a row of plans and those of its moves: without one of them it would be another plan."""
    row, moves = found
    return _stored(row, tuple(_stored_move(move) for move in moves))


def _stored(row: Row[Any], moves: tuple[StoredMove, ...]) -> StoredPlan:
    made = StoredPlan(
        id=row.id,
        period=row.period,
        mode=row.mode,
        state=PlanState(row.state),
        created_at=row.created_at,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        moves=moves,
    )
    return checked(made)


def _stored_move(row: Row[Any]) -> StoredMove:
    values = {name: getattr(row, name) for name in MOVE}
    return checked(StoredMove(**{**values, 'state': MoveState(row.state)}))
