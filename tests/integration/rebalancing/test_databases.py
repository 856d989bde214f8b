# SPDX-License-Identifier: Apache-2.0
"""A migration plan from its search to its end on every database that the market can be kept in."""

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.rebalancing.plan import MoveState, PlanState
from nova_market.db.plans import DatabasePlans
from tests.support.rebalancing_bed import Bed


def test_a_plan_is_found_approved_and_carried_out(database):
    """What is read back is what was proposed, reasons and numbers included."""
    clock = ManualClock()
    bed = Bed(DatabasePlans(database, clock.wall), clock)
    engine = bed.engine(mode='advise')
    bed.round(engine)
    proposed = bed.found('p1')
    assert 0.0 < proposed.moves[0].error_after < proposed.moves[0].error_before
    assert 'falls from' in proposed.moves[0].reason
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    bed.ticks(engine, 10)
    done = bed.found('p1')
    assert (done.state, done.decided_by) == (PlanState.DONE, 'admin')
    assert [move.state for move in done.moves] == [MoveState.DONE]
    assert done.moves[0].gain == proposed.moves[0].gain
