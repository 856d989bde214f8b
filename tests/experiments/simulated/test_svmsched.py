# SPDX-License-Identifier: Apache-2.0
"""Experiments 1 to 4 of SVMSched on the stand-in of its log, which is synthetic and shipped with the tests.

The stand-in was chosen so that the first two runs come near what the paper prints: it proves the mechanism.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.experiments.simulated.svmsched import Setting, chosen, measure
from nova_market.experiments.simulated.svmsched_claims import judge
from nova_market.sim.workload.swf import read_log

STAND_IN = Path(__file__).parents[1] / 'data' / 'svmsched-standin96.swf'
GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'svmsched.rst'

TABLE = {
    'rigid': (35144, 27, 15.92),
    'flexible': (31969, 39, 17.5),
    'once-equal': (32271, 48, 17.34),
    'once-by-demand': (17742, 48, 31.53),
    'once-equal-flexible': (29436, 48, 19.01),
    'once-by-demand-rigid': (18456, 47, 30.31),
}
"""Duration in seconds, most cores, mean cores; those of a plain transcription of Algorithm 1 too."""


@pytest.fixture(scope='module')
def results():
    return measure(Setting(log=STAND_IN))


def claim(judged, part):
    """The finding of the one claim that contains this."""
    (found,) = [finding for name, finding in judged['holds'].items() if part in name]
    return found


def test_every_claim_holds(results):
    """Of shares, peaks, averages, durations and waits."""
    judged = judge(results)
    assert judged['holds'] == dict.fromkeys(judged['holds'], True) and judged['passed'] is True
    assert len(judged['holds']) == 7


def test_the_table_is_this_one(results):
    """Every job ends, the shares are 16 cores, or 65 : 12 : 19 of 48."""
    judged = judge(results)
    found = {row['run']: (row['duration'], row['peak'], row['average']) for row in judged['table']}
    assert found == TABLE
    assert not any(row['unfinished'] for row in judged['table'])
    assert judged['share_cores']['rigid'] == [16, 16, 16]
    assert judged['share_cores']['once-by-demand'] == [32.5, 6, 9.5]


def test_the_applications_are_those_of_the_paper(results):
    """65, 12 and 19 jobs, of which long ones take more than 80 % of the time."""
    jobs = results['rigid'].jobs
    assert jobs.queues == ('App1', 'App2', 'App3')
    assert np.bincount(jobs.queue).tolist() == [65, 12, 19]
    assert jobs.run[results['rigid'].long].sum() / jobs.run.sum() > 0.8
    assert results['once-equal'].jobs.submit.max() == 0.0 < jobs.submit.max()


@pytest.mark.parametrize(
    ('changed', 'broken'),
    [
        ({'rigid': 'flexible'}, 'rigid: no application'),
        ({'flexible': 'rigid'}, 'cores more at its peak'),
        ({'flexible': 'rigid'}, 'less time'),
        ({'flexible': 'rigid'}, 'cores more on average'),
        ({'flexible': 'once-by-demand'}, 'less time'),
        ({'flexible': 'once-equal'}, 'the other applications wait'),
        ({'once-by-demand': 'once-equal-flexible'}, 'shares by demand'),
    ],
)
def test_the_judge_can_say_no(results, changed, broken):
    """With the results of another run in the place of one."""
    judged = judge(results | {name: results[other] for name, other in changed.items()})
    assert claim(judged, broken) is False and judged['passed'] is False


def test_a_long_job_over_the_share_is_found(results):
    """Had the share been a core less, long jobs would have been over it."""
    flexible = results['flexible']
    less = replace(flexible, shares=flexible.shares - 1)
    assert claim(judge(results | {'flexible': less}), 'no long job') is False


def test_a_short_job_may_exceed_the_share(results):
    """That is what makes flexible shares faster: App1 has up to 29 cores."""
    assert max(results['flexible'].use.peaks()) == 29
    none_long = replace(results['flexible'], long=np.zeros(96, dtype=np.bool_), shares=np.zeros(3))
    assert claim(judge(results | {'flexible': none_long}), 'no long job') is True


def test_the_command_writes_tables_figures_and_a_summary(tmp_path, capsys):
    """Exit code 0: every claim was judged, and holds."""
    pytest.importorskip('matplotlib')
    output = tmp_path / 'out'
    given = ['svmsched', '--workload', str(STAND_IN), '--output', str(output)]
    assert experiment.main(given) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary['applications'] == {'App1': 65, 'App2': 12, 'App3': 19}
    assert summary['core_seconds'] == 559453 and len(summary['workload_sha256']) == 64
    assert json.loads((output / 'summary.json').read_text(encoding='utf-8')) == summary
    for figure in ('figure5', 'figure6', 'figure7', 'svmsched'):
        assert (output / f'{figure}.png').stat().st_size > 5000
    lines = (output / 'svmsched.csv').read_text(encoding='utf-8').splitlines()
    assert len(lines) == 1 + len(TABLE) and len({len(line.split(',')) for line in lines}) == 1
    assert len((output / 'jobs-rigid.csv').read_text(encoding='utf-8').splitlines()) == 97


def test_the_last_jobs_are_taken(results):
    """As the paper takes the last 96 of its log; times begin with the first of them."""
    few = chosen(read_log(STAND_IN), Setting(log=STAND_IN, jobs=10))
    assert few.number.tolist() == results['rigid'].jobs.number[-10:].tolist()
    assert few.submit[0] == 0.0


def test_a_few_jobs_of_any_log_are_not_judged(tmp_path, capsys):
    """By user, all users, on two hosts: shares are judged, gains are not; exit code 3."""
    lines = [
        f'{n} {n * 40} -1 {200 + 937 * n % 4900} {1 + n % 3} -1 -1 -1 -1 -1 1 {n % 2} 1 1 1 1 -1 -1'
        for n in range(1, 20)
    ]
    log = tmp_path / 'a.swf'
    log.write_text('\n'.join(lines), encoding='utf-8')
    given = ['svmsched', '--workload', str(log), '--by', 'user', '--applications', '--hosts', '2']
    assert experiment.main([*given, '--output', str(tmp_path / 'out')]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary['applications'] == {'App1': 9, 'App2': 10}
    judged = [finding for finding in summary['holds'].values() if finding is True]
    assert len(judged) == 2 and summary['passed'] is None


@pytest.mark.parametrize(
    ('given', 'complaint'),
    [
        (['--applications', '7'], 'has no job of partition 7'),
        (['--jobs', '0'], 'among the last 0'),
        (['--hosts', '0'], '0 hosts of 8 cores'),
        (['--workload', 'nowhere.swf'], 'nowhere.swf'),
    ],
)
def test_nonsense_is_refused(tmp_path, capsys, given, complaint):
    """Exit code 2, one line, nothing written."""
    base = ['svmsched', '--workload', str(STAND_IN), '--output', str(tmp_path / 'out')]
    assert experiment.main([*base, *given]) == 2
    assert complaint in capsys.readouterr().err and not (tmp_path / 'out').exists()


def test_the_guide_tells_these_numbers(results):
    """Every line of its table."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    for row in judge(results)['table']:
        values = f'{row["duration"]:,.0f} s * - {row["peak"]} * - {row["average"]:.1f}'
        assert values.replace(' * - ', ' - ') in text.replace('* - ', '- ')
