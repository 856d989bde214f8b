# SPDX-License-Identifier: Apache-2.0
"""How long a server rests: after a move, twice as long after each failure in a row, never for ever."""

from nova_market.core.rebalancing.cool_down import CoolDown, resting
from nova_market.core.rebalancing.plan import MoveState, StoredMove

RULE = CoolDown(rest=100.0, longest=1000.0)


def came(state, at, server='a'):
    return StoredMove(
        server_id=server, source='h1', destination='h2', error_before=0.1, error_after=0.0, gain=1.0,
        cost=0.0, state=state, changed_at=at,
    )  # fmt: skip


def rests(moves, now):
    return resting(moves, now, RULE)


def test_a_server_rests_after_it_moved():
    """For the whole time, and not a second more; others do not."""
    moves = [came(MoveState.DONE, 0.0), came(MoveState.DONE, -100.0, 'b')]
    assert rests(moves, 99.0) == {'a'}
    assert rests(moves, 100.0) == frozenset()


def test_failures_in_a_row_double_the_rest():
    """200, 400, 800, and then the longest; a success begins anew. The order of the moves is their time."""
    failed = [came(MoveState.FAILED, float(at)) for at in (0, 1000, 2000, 3000)]
    for count, pause in enumerate((200.0, 400.0, 800.0, 1000.0), start=1):
        last = failed[count - 1].changed_at
        assert rests(failed[count - 1 :: -1], last + pause - 1.0) == {'a'}
        assert rests(failed[count - 1 :: -1], last + pause) == frozenset()
    assert rests([*failed, came(MoveState.DONE, 4000.0)], 4101.0) == frozenset()


def test_moves_that_were_not_tried_do_not_count():
    """Dropped or waiting: nothing has happened to the server."""
    states = (MoveState.DROPPED, MoveState.WAITING, MoveState.MOVING)
    assert rests([came(state, 0.0) for state in states], 1.0) == frozenset()


def test_a_thousand_failures_are_a_number():
    assert rests([came(MoveState.FAILED, float(n)) for n in range(1000)], 1998.0) == {'a'}
