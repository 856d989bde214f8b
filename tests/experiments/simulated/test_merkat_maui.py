# SPDX-License-Identifier: Apache-2.0
"""160 applications on ten nodes: what `nova-market-experiment merkat-maui` wrote, and its first run anew.

data/merkat-maui.json is the summary of the command without options.
"""

import json
from pathlib import Path

import pytest

from nova_market.cmd import experiment
from nova_market.errors import BadWorkload
from nova_market.experiments.simulated.merkat_maui import (
    BUDGETS,
    DISCIPLINES,
    Setting,
    judge,
    measure,
    workload,
)

DATA = Path(__file__).parents[1] / 'data'
GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'merkat.rst'


@pytest.fixture(scope='module')
def stored():
    return json.loads((DATA / 'merkat-maui.json').read_text(encoding='utf-8'))


@pytest.fixture(scope='module')
def one_run():
    return measure(Setting(runs=1))


def test_each_policy_has_a_row_and_a_verdict(stored):
    """The paper's claims hold with our policy, not with the paper's; which of the two it is, is named."""
    assert set(stored['verdicts']) == {'full_deadline', 'value_density'} <= set(stored['in_time'])
    ours, papers = (stored['verdicts'][name] for name in ('value_density', 'full_deadline'))
    assert ours['holds'] == dict.fromkeys(ours['holds'], True) and len(ours['holds']) == 3
    assert ours['passed'] is True and papers['passed'] is False
    assert set(papers['holds']) == set(ours['holds'])
    assert (stored['applications'], stored['runs']) == (160, 4)


def test_the_run_has_passed_when_the_policy_that_was_asked_for_has(one_run, stored):
    """By default the paper's."""
    assert (stored['policy'], stored['passed']) == ('full_deadline', False)
    judged = judge(one_run, Setting(runs=1))
    assert judged['passed'] is judged['verdicts']['full_deadline']['passed'] is False
    assert judge(one_run, Setting(runs=1, policy='value_density'))['passed'] is True


def test_the_papers_policy_passes_where_run_times_are_skewed(tmp_path):
    """As those of the model that the paper names; the exit code is its verdict."""
    pytest.importorskip('matplotlib')
    skewed = [
        'merkat-maui',
        '--work',
        'lublin',
        '--runs',
        '2',
        '--seed',
        '2',
        '--output',
        str(tmp_path),
    ]
    assert experiment.main(skewed) == 0


def test_the_judge_can_say_no(one_run):
    """A market that is no better than EASY."""
    easy = {row['run']: row for row in one_run if row['discipline'] == 'easy'}
    rows = [
        row | {k: easy[row['run']][k] for k in ('in_time', 'satisfaction')}
        if row['discipline'] == 'value_density'
        else row
        for row in one_run
    ]
    judged = judge(rows, Setting(runs=1, policy='value_density'))
    assert judged['passed'] is False
    assert not next(iter(judged['verdicts']['value_density']['holds'].values()))


def test_the_workload_is_the_papers():
    """160 applications of 1 to 8 processes, budgets of 1000 to 28700, at the load that was asked for."""
    jobs, wanted = workload(Setting(), 0)
    assert len(jobs) == 160 and (jobs.processors.min(), jobs.processors.max()) == (1, 8)
    assert BUDGETS[0] <= wanted.budget.min() and wanted.budget.max() <= BUDGETS[1]
    assert jobs.run.mean() == pytest.approx(2479, rel=0.1)
    span = jobs.submit[-1] - jobs.submit[0]
    assert (jobs.run * jobs.processors).sum() / (70 * span) == pytest.approx(4.0)
    lublin, _ = workload(Setting(work='lublin'), 0)
    assert lublin.run.min() == 600.0 and lublin.processors.max() <= 8


def test_the_same_seed_gives_the_same_rows(one_run):
    """To the last digit."""
    assert measure(Setting(runs=1)) == one_run


@pytest.mark.parametrize('given', [{'load': 0.0}, {'runs': 0}, {'applications': 1}])
def test_nonsense_is_refused(given):
    """By its numbers."""
    with pytest.raises(BadWorkload, match='give at least 2 applications'):
        measure(Setting(**given))


def test_the_command_writes_a_table_a_figure_and_a_summary(tmp_path, capsys):
    """Twenty applications of the other kind."""
    pytest.importorskip('matplotlib')
    few = ['--applications', '20', '--runs', '1', '--work', 'lublin']
    assert experiment.main(['merkat-maui', *few, '--output', str(tmp_path)]) in (0, 1)
    assert set(json.loads(capsys.readouterr().out)['in_time']) == set(DISCIPLINES)
    assert {'merkat-maui.csv', 'merkat-maui.png'} <= {p.name for p in tmp_path.iterdir()}


def test_the_guide_tells_these_numbers(stored):
    """Parts in time and credits."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    for name in DISCIPLINES:
        assert f'{stored["in_time"][name]:.1%}'.replace('%', ' %') in text
        assert f'{stored["credits"][name]:+d}' in text
