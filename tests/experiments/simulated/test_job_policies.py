# SPDX-License-Identifier: Apache-2.0
"""Job policies side by side: the wide job that starves, and measures on a log that is made here."""

import json
from pathlib import Path

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.errors import BadWorkload
from nova_market.experiments.simulated.job_policies import (
    KEEPING,
    NARROW,
    POLICIES,
    STARVING,
    Setting,
    judge,
    starvation,
    submitted,
)
from nova_market.experiments.simulated.wide_job import GAP, RUN, stream
from nova_market.sim.workload.swf import read_log


@pytest.fixture
def log(tmp_path):
    """120 jobs of five users, more than the 16 processors can do at once; two are wider than those."""
    rng, lines = np.random.default_rng(3), []
    for number in range(1, 121):
        run, wide = int(rng.integers(20, 3600)), int(rng.integers(1, 13))
        wide = 40 if number in (50, 90) else wide
        user = int(rng.integers(1, 6))
        fields = [number, 250 * number, -1, run, wide, -1, -1, wide, 2 * run, -1, 1, user, *[1] * 6]
        lines.append(' '.join(map(str, fields)))
    path = tmp_path / 'small.swf'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


@pytest.fixture(scope='module')
def waited():
    return starvation(POLICIES)


def rows(**unfinished):
    return [{'policy': name, 'unfinished': unfinished.get(name, 0)} for name in POLICIES]


def test_a_wide_job_starves_under_algorithm_1(waited):
    """It starts when the stream has ended: after 50 narrow jobs, and after 100."""
    for policy in STARVING[:2]:
        assert waited[policy] == [narrow * GAP + GAP - 10.0 for narrow in NARROW]


@pytest.mark.parametrize('policy', KEEPING)
def test_a_wide_job_does_not_starve_where_room_is_kept(waited, policy):
    """It starts when the narrow job that runs has ended, however long the stream is."""
    assert waited[policy] == [RUN - 10.0, RUN - 10.0]


def test_the_host_is_never_empty_before_the_stream_ends():
    """Which is why the wide job starves: a narrow job begins while another runs."""
    jobs = stream(5)
    narrow = jobs.submit[jobs.cores == 4]
    assert (np.diff(narrow) < RUN).all() and len(jobs) == 6
    assert jobs.cores[jobs.queue == 1].tolist() == [8]


def test_the_judge_says_what_is_claimed(waited):
    """And says no when a policy does what it should not."""
    setting = Setting(log=Path())
    judged = judge(rows(), waited, setting)
    assert judged['passed'] is True and len(judged['holds']) == 2 * len(POLICIES)
    swapped = waited | {'easy': waited['flexible'], 'flexible': waited['easy']}
    holds = judge(rows(), swapped, setting)['holds']
    assert [name.split(':')[0] for name, true in holds.items() if not true] == ['flexible', 'easy']
    assert judge(rows(easy=1), waited, setting)['holds']['easy: every job ends'] is False


def test_jobs_that_wait_longer_than_the_limit_are_found(waited):
    """A constant wait is not enough when it is long."""
    late = waited | {'easy': [300.0, 300.0]}
    assert judge(rows(), late, Setting(log=Path()))['passed'] is False


def test_the_command_measures_every_policy(log, tmp_path, capsys):
    """A row each, the jobs that are too wide left out; exit code 0."""
    pytest.importorskip('matplotlib')
    output = tmp_path / 'out'
    given = ['--workload', str(log), '--hosts', '2', '--cores', '8', '--output', str(output)]
    assert experiment.main(['job-policies', *given]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary['jobs'], summary['left_out'], summary['queues']) == (118, 2, 5)
    table = {row['policy']: row for row in summary['table']}
    assert set(table) == set(POLICIES)
    for row in table.values():
        assert row['unfinished'] == 0 and 0.5 < row['utilisation'] <= 1.0
        assert row['wide_wait'] <= row['largest_wait'] and row['bounded_slowdown'] >= 1.0
    assert table['flexible']['mean_wait'] < table['fcfs']['mean_wait']
    assert table['rigid'] == table['flexible'] | {'policy': 'rigid'}
    assert (output / 'job-policies.png').stat().st_size > 5000
    assert len((output / 'job-policies.csv').read_text(encoding='utf-8').splitlines()) == 7


def test_shares_that_bind_are_not_judged(log, tmp_path, capsys):
    """A wide job may never start then; exit code 3."""
    few = ['--workload', str(log), '--cores', '16', '--shares', 'equal', '--policy', 'rigid']
    assert experiment.main(['job-policies', *few, '--output', str(tmp_path / 'out')]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary['holds']['rigid: every job ends'].startswith('not judged')
    assert summary['table'][0]['unfinished'] > 0


def test_time_between_arrivals_is_scaled(log):
    """Half of it is twice the load."""
    whole, _ = submitted(read_log(log), Setting(log=log, cores=16))
    half, _ = submitted(read_log(log), Setting(log=log, cores=16, scale=0.5, jobs=30))
    assert len(half) == 30 and (half.submit * 2).tolist() == whole.submit[:30].tolist()


@pytest.mark.parametrize('given', [{'jobs': -1}, {'shares': 'mine'}, {'cores': 0}, {'scale': 0.0}])
def test_nonsense_is_refused(log, given):
    """By what it is."""
    with pytest.raises(BadWorkload, match='give'):
        submitted(read_log(log), Setting(log=log, **given))
