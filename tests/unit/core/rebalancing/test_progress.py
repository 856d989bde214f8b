# SPDX-License-Identifier: Apache-2.0
"""The life of a plan and its moves: what is next, what has become of a move, which plan begins."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.market.inventory import CloudMigration, MigrationState
from nova_market.core.rebalancing.cool_down import CoolDown, rests_until
from nova_market.core.rebalancing.cordon import cordon_plan
from nova_market.core.rebalancing.plan import MoveState, PlanState, StoredMove, StoredPlan
from nova_market.core.rebalancing.progress import (
    NextStep,
    choice,
    is_under_way,
    next_step,
    plan_end,
    taken_over,
    watched,
)
from nova_market.core.rebalancing.proposal import agreement, search_due
from nova_market.core.rebalancing.settings import OFF, RebalancingSettings
from nova_market.core.resource import HostName

SETTINGS = RebalancingSettings(begin_within=120.0, end_within=7200.0, approval_valid=3600.0)
MOVE = StoredMove(
    server_id='s',
    source='a',
    destination='b',
    error_before=0.2,
    error_after=0.0,
    gain=1.0,
    cost=0.0,
)
WAITING, MOVING, DONE, FAILED, DROPPED = (
    MoveState.WAITING, MoveState.MOVING, MoveState.DONE, MoveState.FAILED, MoveState.DROPPED,
)  # fmt: skip


def plan(name, *moves, created=0.0, **more):
    return StoredPlan(id=name, period=1, mode='advise', created_at=created, moves=moves, **more)


def migration(state=MigrationState.RUNNING, to='b', **more):
    return CloudMigration(
        id='2', server_id='s', source=HostName('a'), destination=HostName(to), state=state, **more
    )


@pytest.mark.parametrize(
    ('states', 'step'),
    [
        ([DONE, MOVING, WAITING], (NextStep.WATCH, 1)),
        ([DONE, WAITING, WAITING], (NextStep.START, 1)),
        ([DONE, DROPPED], (NextStep.END, 2)),
    ],
)
def test_one_move_after_the_other(states, step):
    """A move under way is watched before the next one starts."""
    assert next_step(states) == step


@pytest.mark.parametrize(
    ('states', 'end'),
    [
        ([DONE, DROPPED], PlanState.DONE),
        ([DONE, FAILED], PlanState.FAILED),
        ([DROPPED], PlanState.FAILED),
    ],
)
def test_how_a_plan_ends(states, end):
    """Done when something was moved and nothing failed."""
    assert plan_end(states) == end


def test_the_newest_young_plan_begins():
    """An old one is superseded, and so is what comes after the one that begins; an approval makes young."""
    approved = [
        plan('old', created=0.0),
        plan('new', created=0.0, decided_at=5000.0),
        plan('more', created=5000.0),
    ]
    found = choice(approved, 6000.0, SETTINGS)
    assert found.begins is approved[1]
    assert [one.id for one in found.superseded] == ['old', 'more']
    off = choice(approved, 6000.0, replace(SETTINGS, mode=OFF))
    assert off.begins is None and len(off.superseded) == 3


@pytest.mark.parametrize(
    ('found', 'waited', 'state', 'why'),
    [
        (None, 120.0, None, ''),
        (None, 121.0, FAILED, 'not begun it in 121 s'),
        (replace(migration(), id='1'), 121.0, FAILED, 'not begun'),
        (migration(), 7200.0, None, ''),
        (migration(), 7201.0, FAILED, 'has not ended in 7201 s'),
        (migration(to=''), 1.0, None, ''),
        (migration(to='c'), 1.0, FAILED, 'migrated to c'),
        (migration(MigrationState.DONE), 9.0, DONE, 'took 9 s'),
        (migration(MigrationState.FAILED, reason='no port'), 9.0, FAILED, 'no port'),
    ],
)
def test_what_has_become_of_a_move(found, waited, state, why):
    """Nova has its time to begin and to end; what somebody else does with the server is no success."""
    ended = watched(found, MOVE, '1', waited, SETTINGS)
    assert (ended.state if ended else None) == state
    assert ended is None or why in ended.outcome


def test_what_another_engine_has_begun():
    """Found by where the server is; requested again only when it never left."""
    assert taken_over(MOVE, HostName('b')).state == DONE
    assert taken_over(MOVE, None).outcome == 'the server is gone'
    assert taken_over(MOVE, HostName('c')).state == FAILED
    assert taken_over(MOVE, HostName('a')) is None
    assert is_under_way(migration(), MOVE) and not is_under_way(None, MOVE)
    assert not is_under_way(migration(to='c'), MOVE)
    assert not is_under_way(migration(MigrationState.DONE), MOVE)


def test_the_same_proposal_keeps_its_name():
    """Others end; a search that finds nothing ends all."""
    same, other = plan('p1', MOVE), plan('p2', replace(MOVE, destination='c'))
    again = plan('p3', replace(MOVE, gain=2.0))
    found = agreement(again, [other, same])
    assert found.proposed is same and found.superseded == (other,)
    assert agreement(again, [other]).proposed is again
    nothing = agreement(plan('p3'), [other, plan('p0')])
    assert nothing.proposed is None and len(nothing.superseded) == 2


def test_a_search_is_due_every_few_periods():
    """And at once when there was none."""
    settings = RebalancingSettings(every=5)
    assert [search_due(last, 10, settings) for last in (None, 5, 6)] == [True, True, False]


def test_a_server_rests_longer_after_each_failure():
    """Twice as long each time, up to the longest."""
    settings = CoolDown(rest=10.0, longest=35.0)
    assert [rests_until(100.0, failures, settings) for failures in (0, 1, 2)] == [
        110.0,
        120.0,
        135.0,
    ]


def test_few_hosts_change_at_a_time():
    """Those that are gone and those to open first, so that nothing stays closed for long."""
    names = [HostName(name) for name in 'abcd']
    after = np.array([True, False, True, True])
    found = cordon_plan(names, {HostName('z'), HostName('b'), HostName('c')}, after, 3)
    assert (found.opened, found.closed) == (('z', 'b'), ('a',))
    assert cordon_plan(names, {HostName('z'), HostName('b')}, after, 1).closed == ()
