# SPDX-License-Identifier: Apache-2.0
"""nova-market-sim: a scenario file in, jobs and a summary out; mistakes are named."""

import csv
import json

import pytest

from nova_market.cmd import experiment, sim

pytestmark = pytest.mark.functional

SCENARIO = """
format: 1
name: small
machine: {processors: 32}
workload: {lublin: {jobs: 60}}
scales: [0.05, 1]
seeds: [1, 2]
disciplines: [market, fcfs, edf]
market: {period: 900}
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / 'scenario.yaml'
    path.write_text(SCENARIO, encoding='utf-8')
    return path


def run(scenario, output):
    return sim.main(['run', str(scenario), '--output', str(output)])


def test_a_scenario_is_run(scenario, tmp_path, capsys):
    """Each scale, seed and discipline; every job of each in the table."""
    assert run(scenario, tmp_path / 'out') == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary == json.loads((tmp_path / 'out' / 'summary.json').read_text())
    runs = summary['runs']
    assert len(runs) == 12 and {r['discipline'] for r in runs} == {'market', 'fcfs', 'edf'}
    with (tmp_path / 'out' / 'jobs.csv').open(encoding='utf-8') as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum(r['jobs'] for r in runs)
    assert all(row['end'] == '' or float(row['end']) >= float(row['start']) for row in rows)
    first = [r for r in rows if (r['scale'], r['seed'], r['discipline']) == ('1', '1', 'fcfs')]
    assert sum(int(r['in_time']) for r in first) / len(first) == pytest.approx(
        next(
            r['in_time'] for r in runs if (r['scale'], r['seed'], r['discipline']) == (1, 1, 'fcfs')
        ),
        abs=1e-6,
    )


def test_a_scenario_gives_the_same_bytes_again(scenario, tmp_path, capsys):
    """Deterministic by seed."""
    for name in ('one', 'two'):
        assert run(scenario, tmp_path / name) == 0
    capsys.readouterr()
    one, two = ((tmp_path / name / 'jobs.csv').read_bytes() for name in ('one', 'two'))
    assert one == two


@pytest.mark.parametrize(
    ('old', 'new', 'complaint'),
    [
        ('format: 1', 'format: 2', 'format'),
        ('processors: 32', 'processors: 0', 'machine.processors'),
        ('processors: 32', 'processors: .nan', 'machine.processors'),
        ('seeds: [1, 2]', 'seeds: []', 'seeds'),
        ('scales: [0.05, 1]', 'scales: [-1]', 'scales.0'),
        ('disciplines: [market, fcfs, edf]', 'disciplines: [lottery]', 'disciplines.0'),
        ('name: small', 'colour: red', 'colour'),
        ('period: 900', 'policy: hope', 'hope'),
        ('name: small', 'terms: {factors: [3, 2]}', 'terms.factors'),
        ('lublin: {jobs: 60}', 'swf: nowhere.swf', 'nowhere.swf'),
        ('format: 1', 'format: [1', 'no YAML'),
    ],
)
def test_a_mistake_is_named(scenario, tmp_path, capsys, old, new, complaint):
    """Exit code 2, one line, no traceback, nothing written."""
    scenario.write_text(SCENARIO.replace(old, new), encoding='utf-8')
    assert run(scenario, tmp_path / 'out') == 2
    printed = capsys.readouterr().err
    assert complaint in printed and printed.startswith('nova-market-sim: ')
    assert not (tmp_path / 'out').exists()


def test_figure_5_is_computed_from_a_log(tmp_path, capsys):
    """CSV, PNG and a summary, from a log that is given; small, so only its form is looked at."""
    lines = [
        f'{n} {n * 40} -1 {200 + 37 * n % 900} {1 + n % 60} -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1'
        for n in range(1, 41)
    ]
    log = tmp_path / 'a.swf'
    log.write_text('\n'.join(lines), encoding='utf-8')
    output = tmp_path / 'fig5'
    arguments = ['--log', str(log), '--levels', '0.5', '1', '--repetitions', '2']
    code = experiment.main(['merkat-fig5', *arguments, '--output', str(output)])
    summary = json.loads(capsys.readouterr().out)
    assert code == (0 if summary['passed'] else 1)
    assert summary['levels'] == [0.5, 1.0] and len(summary['satisfaction']['market']) == 2
    assert {p.name for p in output.iterdir()} == {
        'merkat-fig5.csv',
        'merkat-fig5.png',
        'summary.json',
    }
    assert experiment.main(['merkat-fig5', '--log', str(tmp_path / 'no.swf')]) == 2
