# SPDX-License-Identifier: Apache-2.0
"""Figures 8 and 9 of Merkat: a deadline is moved, and bid, allocation and time per iteration follow.

An arithmetic check from the paper's own numbers is in `test_the_workload_is_the_papers`; the rest is computed
here, whole: it takes a moment.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.policy_interface import PolicyOutput, PolicyState
from nova_market.errors import BadWorkload
from nova_market.experiments.simulated.merkat_fig8 import Setting, judge, simulate

GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'merkat.rst'
PLAIN = Setting()


@pytest.fixture(scope='module')
def ran():
    return simulate(PLAIN)


def test_what_the_paper_says_holds(ran):
    """Every sentence."""
    judged = judge(*ran)
    assert judged['holds'] == dict.fromkeys(judged['holds'], True)
    assert judged['passed'] is True


def test_the_workload_is_the_papers():
    """2.66 of 4 cores end in time at first, and need nearly all four once the deadline is moved."""
    left = PLAIN.work - PLAIN.moved * 2.66 / 4
    assert left / 2.66 * 4 < PLAIN.deadline - PLAIN.moved
    assert 0.9 < left / (PLAIN.deadline_then - PLAIN.moved) < 1.0


def test_without_the_move_bids_never_rise():
    """Once they have settled; towards the end, with time to spare, they fall."""
    recording, run = simulate(Setting(deadline_then=12000.0))
    bids = recording.column('deadline.bid', 1200.0)
    assert (np.diff(bids) <= 0.0).all() and run.ended <= 12000.0
    assert judge(recording, run)['passed'] is False


def test_a_policy_that_does_not_react_misses_the_deadline():
    """What is judged is the controller's doing: bids that rest after the start are not enough."""

    def stubborn(seen):
        if seen.state[0] == PolicyState.WAITING:
            return full_deadline(seen)
        none = seen.state * 0
        return PolicyOutput(
            state=seen.state, count=seen.count, bid=seen.bid, change=seen.change, why=none
        )

    _, run = simulate(PLAIN, stubborn)
    assert not run.ended <= PLAIN.deadline_then


def test_a_deadline_that_cannot_be_met_is_given_up():
    """Half of the work is left when a tenth of its time is."""
    _, run = simulate(Setting(deadline_then=4500.0))
    assert run.state == PolicyState.DROPPED and run.actions[-1][1].startswith('not even full')


@pytest.mark.parametrize('given', [{'work': 0.0}, {'work': 13000.0}, {'moved': -1.0}])
def test_nonsense_is_refused(given):
    """By its numbers."""
    with pytest.raises(BadWorkload, match='move it between'):
        simulate(Setting(**given))


def test_the_command_writes_a_table_a_figure_and_a_summary(tmp_path, capsys):
    """And ends with 0: all holds."""
    pytest.importorskip('matplotlib')
    assert experiment.main(['merkat-fig8', '--output', str(tmp_path / 'out')]) == 0
    summary = json.loads((tmp_path / 'out' / 'summary.json').read_text(encoding='utf-8'))
    assert summary == json.loads(capsys.readouterr().out)
    assert {'merkat-fig8.csv', 'merkat-fig8.png'} <= {p.name for p in (tmp_path / 'out').iterdir()}


def test_the_guide_tells_these_numbers(ran):
    """Cores before and after, and when it ended."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    judged = judge(*ran)
    cores = judged['cores']
    for value in (
        f'{cores["before"]:.2f} cores',
        f'{cores["after"]:.2f} cores',
        f'{judged["finished"]:.0f} s',
    ):
        assert value in text
