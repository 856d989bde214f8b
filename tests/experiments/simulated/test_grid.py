# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 9 of grid-cloud, in parts that take seconds; the whole takes minutes and is in the guide."""

import json
from dataclasses import replace

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.experiments.simulated import grid_fig5, grid_fig6, grid_fig7, grid_fig8
from nova_market.experiments.simulated.grid_setting import Setting

PART = Setting(part=0.01)


def judged(holds, part):
    """The finding of the one claim that contains this."""
    (found,) = [finding for name, finding in holds['holds'].items() if part in name]
    return found


@pytest.fixture(scope='module')
def orders():
    return grid_fig6.measure(Setting(part=0.02))


@pytest.mark.parametrize('name', ['grid-fig5', 'grid-fig6', 'grid-fig7', 'grid-fig8', 'grid-fig9'])
def test_a_part_writes_table_figure_and_summary(name, tmp_path, capsys):
    """What it cannot show is not judged: exit code 3."""
    pytest.importorskip('matplotlib')
    part = '0.1' if name == 'grid-fig7' else '0.01'
    given = [name, '--part', part, '--output', str(tmp_path)]
    if name == 'grid-fig5':
        given += ['--runs', '1']
    assert experiment.main(given) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary['experiment'] == name and summary['passed'] is None
    assert json.loads((tmp_path / 'summary.json').read_text(encoding='utf-8')) == summary
    assert (tmp_path / f'{name}.png').stat().st_size > 5000
    lines = (tmp_path / f'{name}.csv').read_text(encoding='utf-8').splitlines()
    assert len(lines) > 2 and len({len(line.split(',')) for line in lines}) == 1


@pytest.mark.parametrize(
    ('given', 'complaint'),
    [
        (['--part', '0'], 'a part of 0 of the tasks'),
        (['--part', '1.5'], 'a part of 1.5 of the tasks'),
        (['--message', 'nan'], 'a message takes nan s'),
    ],
)
def test_nonsense_is_refused(given, complaint, tmp_path, capsys):
    output = tmp_path / 'out'
    assert experiment.main(['grid-fig6', *given, '--output', str(output)]) == 2
    assert complaint in capsys.readouterr().err and not output.exists()


def test_by_risk_more_is_done_even_in_a_part(orders):
    """The gap of figure 6 opens as soon as tasks wait."""
    assert orders['risk'].success > orders['importance'].success
    assert orders['risk'].lost < orders['importance'].lost


def test_the_claims_of_figure_6_can_fail(orders):
    """With the results of the wrong order, all claims that compare fail."""
    whole = Setting()
    wrong = {'risk': orders['importance'], 'importance': orders['risk']}
    found = grid_fig6.judge(wrong, whole)
    assert found['passed'] is False
    for part in ('7 points', '4 % higher', '20 % lower', 'more of the high'):
        assert judged(found, part) is False


def test_the_claims_of_figure_5_can_fail():
    """Where retrials bring nothing, and nobody is refused for the budget."""
    results = grid_fig5.measure(PART, runs=1)
    same = dict.fromkeys(results, results['none'])
    found = grid_fig5.judge(same, Setting())
    assert judged(found, '25 points') is False and judged(found, 'is least') is False
    assert judged(found, 'at most 3 points') is True
    none = {name: [replace(one, refused={}) for one in runs] for name, runs in results.items()}
    assert judged(grid_fig5.judge(none, Setting()), 'for the budget') is False


def test_the_claims_of_figure_7_can_fail():
    """Fewer PEs than run, PEs that stay, and steps of another width."""
    setting = Setting(part=0.1)
    tasks, outcome = grid_fig7.measure(setting)
    good = grid_fig7.judge(tasks, outcome, setting)
    assert judged(good, 'no fewer') is True and judged(good, 'come and go') is True
    stay = replace(
        outcome, samples=[replace(one, allocated=7 + int(one.time)) for one in outcome.samples]
    )
    found = grid_fig7.judge(tasks, stay, Setting())
    assert judged(found, 'come and go') is False and judged(found, 'allocated again') is False
    none = replace(outcome, samples=[replace(one, allocated=0) for one in outcome.samples])
    assert judged(grid_fig7.judge(tasks, none, setting), 'no fewer') is False


def test_the_claims_of_figures_8_and_9_can_fail():
    """Everybody fails everywhere; and nothing is run after the medium users."""
    results = {
        name: grid_fig8.measure(PART, name, 600.0) for name in ('small', 'standard', 'powerful')
    }
    bad = {
        name: replace(one, done=np.zeros_like(one.done), failed=~np.isnan(one.ended))
        for name, one in results.items()
    }
    found = grid_fig8.judge(bad, Setting())
    assert judged(found, 'nobody fails') is False and judged(found, 'run most') is False
    whole = grid_fig8.measure(PART, 'small', float('inf'))
    assert judged(grid_fig8.judge_whole(whole, PART), 'all tasks are over') is True
    still = replace(whole, ended=np.where(whole.user >= 20, 0.5, whole.ended))
    found = grid_fig8.judge_whole(still, PART)
    assert found['high_per_1000_s'][1] == 0.0 and found['medium_issued'] < found['medium_over']
