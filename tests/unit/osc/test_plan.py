# SPDX-License-Identifier: Apache-2.0
"""A plan as an administrator reads it who has to approve it."""

from types import SimpleNamespace

from nova_market.osc.v1.columns import shown
from nova_market.osc.v1.plan import SHOW

MOVE = {
    'server_id': 'web-1',
    'source': 'h1',
    'destination': 'h2',
    'error_before': 0.105566,
    'error_after': 0.0,
    'gain': 23_429_200.3,
    'cost': 3_644_700.0,
    'reason': 'h1 is crowded, ' * 20,
    'state': 'proposed',
    'outcome': '',
    'changed_at': None,
}
PLAN = SimpleNamespace(
    id='p1', period=1, mode='advise', state='proposed', created_at='', decided_by='', decided_at=None,
    moves=[MOVE],
)  # fmt: skip


def test_moves_are_in_credits_and_percent():
    """In lines that fit a terminal; what was not decided is empty; programs get what the API has."""
    names, cells = shown(SHOW, PLAN)
    cell = dict(zip(names, cells, strict=True))
    lines = cell['moves'].human_readable().splitlines()
    assert lines[:3] == [
        'web-1 from h1 to h2: proposed',
        '  largest error on h1: 10.6 %, then 0.0 %',
        '  gain: 23.4292 credits a period; the copy costs 3.6447 credits',
    ]
    assert lines[3].startswith('  h1 is crowded') and max(map(len, lines)) <= 100
    assert cell['decided_at'].human_readable() == ''
    assert cell['moves'].machine_readable() == [MOVE]


def test_the_outcome_of_a_move_follows_its_reason():
    moved = SimpleNamespace(**{**vars(PLAN), 'moves': [{**MOVE, 'outcome': 'it took 9 s'}]})
    assert '  it took 9 s' in str(
        dict(zip(*shown(SHOW, moved), strict=True))['moves'].human_readable()
    )
