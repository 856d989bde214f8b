# SPDX-License-Identifier: Apache-2.0
"""Figure 5 of Merkat on a small log that is made here: the command, its rows and its judgement."""

import json

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.errors import BadWorkload
from nova_market.experiments.simulated.merkat_fig5 import (
    DISCIPLINES,
    LEVELS,
    Setting,
    judge,
    means_of,
    measure,
)


@pytest.fixture
def log(tmp_path):
    """60 jobs of some minutes, one every half minute, by a fixed generator: SWF with 18 columns."""
    rng, lines = np.random.default_rng(7), []
    for number in range(1, 61):
        run, wide = int(rng.integers(120, 3600)), int(rng.integers(20, 120))
        fields = [number, 30 * number, -1, run, wide, -1, -1, wide, run, -1, 1, *[-1] * 7]
        lines.append(' '.join(map(str, fields)))
    path = tmp_path / 'small.swf'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def rows(**satisfaction):
    """A row for each level and discipline; what is not given is 0."""
    return [
        {'level': level, 'repetition': 0, 'discipline': name, 'success': 0.5}
        | {'satisfaction': satisfaction.get(name, 0.0) - (name == 'edf' and level > 0.1) * 0.4}
        for level in LEVELS
        for name in DISCIPLINES
    ]


def test_the_command_writes_a_table_a_figure_and_a_summary(log, tmp_path, capsys):
    """Two levels and two repetitions: a row for each discipline, and the checksum of the log."""
    pytest.importorskip('matplotlib')
    few = ['--log', str(log), '--levels', '.5', '1', '--repetitions', '2']
    assert experiment.main(['merkat-fig5', *few, '--output', str(tmp_path / 'out')]) in (1, 3)
    summary = json.loads(capsys.readouterr().out)
    contended = summary['holds']['EDF is above the market where contention is highest']
    assert contended == 'not judged: no level of 0.1'
    assert set(summary['satisfaction']) == set(DISCIPLINES) and len(summary['log_sha256']) == 64
    lines = (tmp_path / 'out' / 'merkat-fig5.csv').read_text(encoding='utf-8').splitlines()
    assert len(lines) == 1 + 2 * 2 * len(DISCIPLINES)
    assert (tmp_path / 'out' / 'merkat-fig5.png').stat().st_size > 1000


def test_more_load_satisfies_less(log):
    """With every discipline: levels differ by contention alone."""
    found = list(measure(Setting(log=log, levels=(0.2, 200.0), repetitions=1)))
    for name in DISCIPLINES:
        crowded, empty = means_of(found, name, 'satisfaction')
        assert crowded < empty and empty > 0.7


def test_the_same_seed_gives_the_same_rows(log):
    """With any number of processes."""
    setting = Setting(log=log, levels=(0.5,), repetitions=2)
    again = Setting(log=log, levels=(0.5,), repetitions=2, workers=2)
    assert list(measure(setting)) == list(measure(again))


def test_the_judge_says_what_the_paper_claims(log):
    """EDF above the market where contention is highest, the market above all others everywhere."""
    setting = Setting(log=log)
    good = {'market': 0.3, 'edf': 0.4, 'fcfs': -0.5, 'easy': -0.2, 'edf_keep': 0.1}
    assert judge(rows(**good), setting)['passed'] is True
    for name, claim in (
        ('fcfs', 'the market is above FCFS at every level'),
        ('easy', 'the market is above EASY at every level'),
        ('edf_keep', 'the market is above EDF that drops nothing at every level'),
        ('edf', 'the market is above EDF at medium contention'),
    ):
        judged = judge(rows(**good | {name: 0.8}), setting)
        assert judged['passed'] is False and judged['holds'][claim] is False


@pytest.mark.parametrize('given', [{'period': 0.1}, {'repetitions': 0}, {'jobs': 0}])
def test_nonsense_is_refused(log, given):
    """By its numbers."""
    with pytest.raises(BadWorkload, match='give'):
        list(measure(Setting(log=log, **given)))
