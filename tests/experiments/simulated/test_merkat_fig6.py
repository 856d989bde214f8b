# SPDX-License-Identifier: Apache-2.0
"""Figures 6 and 7 of Merkat: two elastic frameworks with equal budgets, whole; it takes seconds."""

import json
from pathlib import Path

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.errors import BadWorkload
from nova_market.experiments.simulated import merkat_fig6
from nova_market.experiments.simulated.merkat_fig6 import Setting, judge, simulate, workload

GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'merkat.rst'
PLAIN = Setting()


@pytest.fixture(scope='module')
def ran():
    return simulate(PLAIN)


def test_what_the_paper_says_holds(ran):
    """Half each while both want more, all that is free for Condor otherwise, and all jobs are done."""
    judged = judge(*ran, PLAIN)
    assert judged['holds'] == dict.fromkeys(judged['holds'], True)
    assert len(judged['shared_minutes']) == 2


def test_it_holds_for_other_jobs():
    """Another seed."""
    setting = Setting(seed=3)
    assert judge(*simulate(setting), setting)['passed'] is True


@pytest.mark.parametrize('part', [0.1, 0.2, 0.3])
def test_a_small_part_does_not_fail_for_being_small(part):
    """What it cannot show is not judged, and why is named; what it can show holds."""
    setting = Setting(part=part)
    judged = judge(*simulate(setting), setting)
    assert judged['passed'] is None
    assert judged['holds']['all jobs are done'] is True
    for finding in judged['holds'].values():
        assert finding is True or finding.startswith('not judged: too small: ')


def test_a_part_that_shows_all_claims_passes():
    """Less than half of the cloud, with jobs that give both enough to do."""
    setting = Setting(part=0.5)
    assert judge(*simulate(setting), setting)['passed'] is True


def test_a_claim_that_a_part_can_show_can_fail(monkeypatch):
    """Condor has half of Torque's budget, and not its half of the cloud."""
    plain, setting = merkat_fig6.bidders_of, Setting(part=0.2)

    def poorer(frameworks, bid):
        found = plain(frameworks, bid)
        found.budget[0] /= 2
        return found

    monkeypatch.setattr(merkat_fig6, 'bidders_of', poorer)
    judged = judge(*simulate(setting), setting)
    assert judged['passed'] is False
    assert judged['holds']['each has 45 to 55 % while both want more than they have'] is False


def test_a_whole_run_in_which_a_claim_cannot_show_has_failed(ran):
    """At the paper's size the phases have to be there."""
    recording, frameworks = ran
    idle = merkat_fig6.Recording()
    for row in recording.rows:
        values = {k: v for k, v in row.items() if k != 'time'}
        idle.add(row['time'], values | {'torque.waiting': 0.0})
    assert judge(idle, frameworks, PLAIN)['passed'] is False


def test_who_forgets_prices_waits_longer(ran):
    """Why controllers remember: both ask for far more than the cloud as soon as a server is idle.

    Since servers that drain are no capacity, growth begins at those that stay, and the halves hold even so.
    """
    setting = Setting(price_memory=0.0)
    judged = judge(*simulate(setting), setting)
    assert judged['mean_wait']['torque'] > 1.3 * judge(*ran, PLAIN)['mean_wait']['torque']


def test_without_draining_work_is_done_in_vain(ran):
    """The halves stay; each server that is deleted takes what was done of its job with it."""
    assert judge(*ran, PLAIN)['work_lost'] == 0.0
    setting = Setting(drain_timeout=0.0)
    judged = judge(*simulate(setting), setting)
    assert judged['passed'] is True and 0.01 < judged['work_lost'] < 0.05


def test_twice_the_budget_is_twice_the_part(ran, monkeypatch):
    """The halves come from the budgets: Condor with half of Torque's gets a third."""
    plain = merkat_fig6.bidders_of

    def poorer(frameworks, bid):
        found = plain(frameworks, bid)
        found.budget[0] /= 2
        return found

    monkeypatch.setattr(merkat_fig6, 'bidders_of', poorer)
    judged = judge(*simulate(PLAIN), PLAIN)
    for condor in judged['part_while_shared']['condor']:
        assert condor == pytest.approx(1 / 3, abs=0.05)


def test_the_work_is_the_papers():
    """8000 single jobs and 61 of up to 8 processors, with its means (Condor's is cut off at a minute)."""
    condor, torque = workload(PLAIN)
    assert len(condor.work) == 8000 and len(torque.work) == 61
    assert (condor.width == 1).all() and torque.width.max() == 8
    assert 478 <= condor.work.mean() <= 600 and condor.work.min() >= 60
    assert torque.work.mean() == pytest.approx(2479, rel=0.2)


def test_the_same_seed_gives_the_same_run(ran):
    """To the last digit."""
    again, _ = simulate(PLAIN)
    assert again.rows == ran[0].rows
    assert not np.array_equal(workload(PLAIN)[0].work, workload(Setting(seed=2))[0].work)


def test_nonsense_is_refused():
    """By its numbers."""
    for wrong in ({'part': 0.0}, {'price_memory': 1.0}):
        with pytest.raises(BadWorkload, match=r'part [01], price memory (0\.9|1): give'):
            simulate(Setting(**wrong))


def test_the_command_writes_a_table_a_figure_and_a_summary(tmp_path, capsys):
    """A quarter of the cloud and of the jobs."""
    pytest.importorskip('matplotlib')
    assert experiment.main(['merkat-fig6', '--part', '.25', '--output', str(tmp_path)]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert (summary['servers'], summary['passed']) == (56, None)
    assert {'merkat-fig6.csv', 'merkat-fig6.png', 'summary.json'} <= {
        p.name for p in tmp_path.iterdir()
    }


def test_the_guide_tells_these_numbers(ran):
    """Parts while both want more."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    judged = judge(*ran, PLAIN)
    for parts in judged['part_while_shared'].values():
        for part in parts:
            assert f'{part:.1%}'.replace('%', ' %') in text
    setting = Setting(drain_timeout=0.0)
    lost = judge(*simulate(setting), setting)['work_lost']
    assert f'{lost:.1%} of all work'.replace('%', ' %') in text
