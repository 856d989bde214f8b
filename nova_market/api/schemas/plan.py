# SPDX-License-Identifier: Apache-2.0
"""Schemas of migration plans."""

from nova_market.api.schemas.shape import NUMBER, PERIOD, SERVER_ID, TEXT, TIME, listed, wrapped
from nova_market.core.json_schema import Schema, described, nullable, record
from nova_market.core.rebalancing.plan import MoveState, PlanState

PLAN_STATE: Schema = {'type': 'string', 'enum': [str(state) for state in PlanState]}
MOVE = record(
    {
        'server_id': SERVER_ID,
        'source': described(TEXT, 'host'),
        'destination': described(TEXT, 'host'),
        'error_before': NUMBER,
        'error_after': NUMBER,
        'gain': described(NUMBER, 'micro-credits per period'),
        'cost': described(NUMBER, 'micro-credits'),
        'reason': TEXT,
        'state': {'type': 'string', 'enum': [str(state) for state in MoveState]},
        'outcome': TEXT,
        'changed_at': nullable(TIME),
    }
)
SUMMARY = {
    'id': TEXT,
    'period': PERIOD,
    'mode': TEXT,
    'state': PLAN_STATE,
    'created_at': TIME,
    'decided_by': described(TEXT, 'user'),
    'decided_at': nullable(TIME),
}
PLANS = listed('plans', record(SUMMARY))
PLAN = wrapped('plan', record({**SUMMARY, 'moves': {'type': 'array', 'items': MOVE}}))
