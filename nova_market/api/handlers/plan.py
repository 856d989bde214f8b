# SPDX-License-Identifier: Apache-2.0
"""Migration plans: shown, approved, rejected (rule A3)."""

from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.columns import columns
from nova_market.api.schemas import plan as schemas
from nova_market.api.schemas.shape import LIMIT, marker
from nova_market.core.json_schema import described
from nova_market.core.rebalancing.plan import PlanState, StoredMove, StoredPlan
from nova_market.core.timestamp import stamp
from nova_market.errors import Conflict


@takes_query(
    state=described(schemas.PLAN_STATE, 'only these'),
    limit=LIMIT,
    marker=marker({'type': 'number', 'minimum': 0, 'maximum': 2**53}),
)
@gives(200, schemas.PLANS)
def index(call: Call) -> Any:
    """Plans without their moves, newest first."""
    call.authorize('plans:list')
    state = PlanState(call.query['state']) if 'state' in call.query else None
    found = call.stores.plans.list(state, call.query.get('marker'), call.limit + 1)
    return call.page(
        'plans', [_summary(plan) for plan in found], found, lambda one: f'{one.created_at:.9f}'
    )


@gives(200, schemas.PLAN)
def show(call: Call) -> Any:
    """A plan with its moves and their reasons."""
    call.authorize('plans:show')
    return {'plan': _whole(_found(call))}


@gives(200, schemas.PLAN)
def approve(call: Call) -> Any:
    """Have a plan carried out."""
    call.authorize('plans:approve')
    return _decided(call, PlanState.APPROVED)


@gives(200, schemas.PLAN)
def reject(call: Call) -> Any:
    """Put a plan away."""
    call.authorize('plans:reject')
    return _decided(call, PlanState.REJECTED)


def _decided(call: Call, after: PlanState) -> dict[str, object]:
    plan = _found(call)
    try:
        call.stores.plans.advance(plan.id, PlanState.PROPOSED, after, by=call.user_id[:64])
    except Conflict as error:
        raise ApiError(409, 'market.plan.state', str(error)) from None
    return {'plan': _whole(_found(call))}


def _found(call: Call) -> StoredPlan:
    found = call.stores.plans.plan(call.path['plan_id'])
    if found is None:
        raise not_found('plan', call.path['plan_id'])
    return found


def _summary(plan: StoredPlan) -> dict[str, object]:
    return {
        'id': plan.id,
        'period': plan.period,
        'mode': plan.mode,
        'state': str(plan.state),
        'created_at': stamp(plan.created_at),
        'decided_by': plan.decided_by,
        'decided_at': None if plan.decided_at is None else stamp(plan.decided_at),
    }


def _whole(plan: StoredPlan) -> dict[str, object]:
    return {**_summary(plan), 'moves': [_move(move) for move in plan.moves]}


def _move(move: StoredMove) -> dict[str, object]:
    changed = stamp(move.changed_at) if move.changed_at else None
    return {**columns(move), 'state': str(move.state), 'changed_at': changed}
