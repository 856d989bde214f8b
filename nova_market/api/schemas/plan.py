# SPDX-License-Identifier: Apache-2.0
"""Schemas of migration plans."""

from nova_market.api.schemas.shape import (
    NUMBER,
    PERIOD,
    SERVER_ID,
    TEXT,
    TIME,
    Schema,
    listed,
    nullable,
    record,
    said,
    wrapped,
)
from nova_market.core.rebalancing.plan import MoveState, PlanState

PLAN_STATE: Schema = {'type': 'string', 'enum': [str(state) for state in PlanState]}
MOVE = record(
    {
        'server_id': SERVER_ID,
        'source': said(TEXT, 'host'),
        'destination': said(TEXT, 'host'),
        'error_before': NUMBER,
        'error_after': NUMBER,
        'gain': said(NUMBER, 'micro-credits per period'),
        'cost': said(NUMBER, 'micro-credits'),
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
    'decided_by': said(TEXT, 'user'),
    'decided_at': nullable(TIME),
}
PLANS = listed('plans', record(SUMMARY))
PLAN = wrapped('plan', record({**SUMMARY, 'moves': {'type': 'array', 'items': MOVE}}))
