# SPDX-License-Identifier: Apache-2.0
"""nova-market-sim on clouds with hosts: tables, sweeps, processes and clusters, all with the same results."""

import csv
import json
import os
from pathlib import Path

import pytest

from nova_market.cmd import sim

pytestmark = pytest.mark.functional

SCENARIO = """
format: 1
name: cloud
workload: {lublin: {jobs: 30, processors: 16}}
scales: [0.02]
seeds: [1, 2]
disciplines: [market, edf]
market: {period: 900}
cloud:
  hosts: [{count: 6, cores: 4, memory_mib: 8192}, {count: 2, cores: 8, memory_mib: 8192}]
  rebalancing: {every: 2}
money: {projects: 3}
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / 'scenario.yaml'
    path.write_text(SCENARIO, encoding='utf-8')
    return path


def rows(path):
    with path.open(encoding='utf-8') as stream:
        return list(csv.DictReader(stream))


def tables(directory, *names):
    return {name: (directory / name).read_bytes() for name in names}


def test_a_cloud_is_simulated(scenario, tmp_path, capsys):
    """Jobs, runs and rounds; batch schedulers have the cores of all hosts and no rounds."""
    assert sim.main(['run', str(scenario), '--output', str(tmp_path / 'out'), '--plot']) == 0
    summary = json.loads(capsys.readouterr().out)
    runs, rounds = rows(tmp_path / 'out' / 'runs.csv'), rows(tmp_path / 'out' / 'rounds.csv')
    assert [(r['seed'], r['discipline']) for r in runs] == [
        ('1', 'market'), ('1', 'edf'), ('2', 'market'), ('2', 'edf'),
    ]  # fmt: skip
    assert {r['discipline'] for r in rounds} == {'market'} and int(rounds[0]['servers']) >= 0
    assert max(float(r['used']) for r in rounds) <= 40.0 + 1e-6
    assert runs[1]['paid'] == '' and float(runs[0]['paid']) > 0
    assert summary['runs'][0]['migrations'] >= 0 and 'migrations' not in summary['runs'][1]
    assert {p.suffix for p in (tmp_path / 'out').iterdir()} == {'.csv', '.json', '.png'}


def test_processes_change_nothing(scenario, tmp_path, capsys):
    """One or two at a time: the same bytes, in the same order, CSV and Parquet."""
    names = [
        f'{table}.{form}' for table in ('jobs', 'runs', 'rounds') for form in ('csv', 'parquet')
    ]
    scenario.write_text(SCENARIO.replace('jobs: 30', 'jobs: 10'), encoding='utf-8')
    found = []
    for jobs in ('1', '2'):
        output = tmp_path / jobs
        arguments = ['--output', str(output), '--jobs', jobs, '--format', 'csv,parquet']
        assert sim.main(['run', str(scenario), *arguments]) == 0
        found.append(tables(output, *names))
    capsys.readouterr()
    assert found[0] == found[1]


def test_parquet_holds_what_csv_holds(scenario, tmp_path, capsys):
    """With types, and nothing where nothing is known."""
    import pyarrow.parquet

    arguments = ['--output', str(tmp_path / 'out'), '--format', 'csv,parquet']
    assert sim.main(['run', str(scenario), *arguments]) == 0
    capsys.readouterr()
    table = pyarrow.parquet.read_table(tmp_path / 'out' / 'jobs.parquet')
    plain = rows(tmp_path / 'out' / 'jobs.csv')
    assert table.num_rows == len(plain) and table.column_names == list(plain[0])
    assert str(table.schema.field('end').type) == 'double'
    for one, two in zip(table.to_pylist(), plain, strict=True):
        assert str(one['job']) == two['job']
        assert (
            two['end'] == '' if one['end'] is None else abs(float(two['end']) - one['end']) < 1e-6
        )


def test_a_sweep_varies_settings(scenario, tmp_path, capsys):
    """Every combination; the first columns say which."""
    vary = ['--vary', 'cloud.hosts.0.count=1,6', '--vary', 'market.period=900,1800']
    output = tmp_path / 'out'
    assert sim.main(['sweep', str(scenario), *vary, '--output', str(output), '--plot']) == 0
    capsys.readouterr()
    runs = rows(output / 'runs.csv')
    assert list(runs[0])[:2] == ['cloud.hosts.0.count', 'market.period'] and len(runs) == 16
    assert len({(r['cloud.hosts.0.count'], r['market.period']) for r in runs}) == 4
    few, many = (
        [r for r in runs if r['cloud.hosts.0.count'] == n and r['discipline'] == 'edf']
        for n in '16'
    )
    assert sum(float(r['mean_wait']) for r in few) > sum(float(r['mean_wait']) for r in many)


def test_the_services_decide_the_same(scenario, tmp_path, capsys):
    """engine: services, through the command: the same jobs to the last digit."""
    small = SCENARIO.replace('jobs: 30', 'jobs: 8').replace('seeds: [1, 2]', 'seeds: [2]')
    scenario.write_text(small, encoding='utf-8')
    arguments = ['--vary', 'cloud.engine=arrays,services', '--output', str(tmp_path / 'out')]
    assert sim.main(['sweep', str(scenario), *arguments]) == 0
    capsys.readouterr()
    found = {
        engine: [
            {k: v for k, v in row.items() if k != 'cloud.engine'}
            for row in rows(tmp_path / 'out' / 'jobs.csv')
            if row['cloud.engine'] == engine
        ]
        for engine in ('arrays', 'services')
    }
    assert found['arrays'] and found['arrays'] == found['services']


@pytest.mark.parametrize(
    ('old', 'new', 'complaint'),
    [
        (
            'name: cloud',
            'machine: {processors: 4}',
            'give one of machine, cloud; found machine, cloud',
        ),
        ('cores: 4', 'cores: 0', 'cloud.hosts.0.cores'),
        ('money: {projects: 3}', 'money: {tax_rate: 2}', 'money.tax_rate'),
        ('money: {projects: 3}', 'costs: {working_set: 0}', 'costs.working_set'),
        ('money: {projects: 3}', 'money: {currency: shells}', 'shells'),
        ('rebalancing: {every: 2}', 'reserve: {cores: 99}', 'cloud.reserve'),
        ('rebalancing: {every: 2}', 'unknown_memory: [0.5, 0.1]', 'cloud.unknown_memory'),
        ('market: {period: 900}', 'market: {period: 0.75}', 'whole seconds'),
    ],
)
def test_a_mistake_is_named(scenario, tmp_path, capsys, old, new, complaint):
    """Exit code 2, one line, nothing written."""
    text = SCENARIO.replace(old, new)
    if 'seconds' in complaint:
        text = text.replace('cloud:\n', 'cloud:\n  engine: services\n')
    scenario.write_text(text, encoding='utf-8')
    assert sim.main(['run', str(scenario), '--output', str(tmp_path / 'out')]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize(
    ('arguments', 'complaint'),
    [
        (['--vary', 'market.period'], 'setting=value'),
        (['--vary', 'market.period=often'], 'market.period'),
        (['--vary', 'cloud.hosts.9.count=1'], 'there is no'),
        (['--vary', 'market.period=1,2', '--vary', 'market.period=3'], 'twice'),
        (['--vary', 'market.period=60', '--jobs', '0'], '0 jobs'),
        (['--vary', 'market.period=60', '--cluster', 'slurm://a:1'], 'slurm'),
        (['--vary', 'market.period=60', '--format', 'xls'], 'xls'),
    ],
)
def test_a_wrong_sweep_is_named(scenario, tmp_path, capsys, arguments, complaint):
    """The same for what the command line says."""
    output = ['--output', str(tmp_path / 'out')]
    assert sim.main(['sweep', str(scenario), *arguments, *output]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.clock
def test_a_dask_cluster_gives_the_same(scenario, tmp_path, capsys):
    """A scheduler and two workers on loopback, by its address; skipped where Dask is not installed."""
    if os.environ.get('CI') != 'true':
        pytest.importorskip('distributed')
    from distributed import LocalCluster

    assert sim.main(['run', str(scenario), '--output', str(tmp_path / 'here')]) == 0
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host='127.0.0.1', dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace('tcp://', 'dask://')
        output = ['--output', str(tmp_path / 'there'), '--cluster', address]
        assert sim.main(['run', str(scenario), *output]) == 0
    capsys.readouterr()
    names = ('jobs.csv', 'runs.csv', 'rounds.csv', 'summary.json')
    assert tables(tmp_path / 'here', *names) == tables(tmp_path / 'there', *names)


def test_no_cluster_is_reported(scenario, tmp_path, capsys, monkeypatch):
    """An address where nobody listens: one line, exit code 2."""
    if os.environ.get('CI') != 'true':
        pytest.importorskip('distributed')
    output = ['--output', str(Path(tmp_path) / 'out')]
    assert sim.main(['run', str(scenario), *output, '--cluster', 'dask://127.0.0.1:9']) == 2
    assert '127.0.0.1:9' in capsys.readouterr().err
