# SPDX-License-Identifier: Apache-2.0
"""The algorithms of CloudAlloc on the smallest random family, and the judge of its claims."""

import json

import pytest

from nova_market.cmd import experiment
from nova_market.errors import BadLease
from nova_market.experiments.simulated.cloudalloc_algorithms import (
    ALGORITHMS,
    SIZES,
    Setting,
    judge,
)
from nova_market.experiments.simulated.lease_families import family

DISTANCES = {'greedy': 0.3, 'greedy_consistent': 0.1, 'search': 0.01, 'exact': 0.0}


def rows(**seconds):
    """As a run of all sizes would measure them: exact takes longer with workloads."""
    return [
        {
            'nodes': nodes, 'workloads': workloads, 'seed': 0, 'algorithm': name,
            'seconds': seconds.get(name, 0.01) * (workloads if name == 'exact' else 1),
            'joules': 100 * (1 + distance / workloads), 'placed': workloads, 'bound': 100.0,
            'distance': distance / workloads,
        }
        for nodes, workloads in SIZES
        for name, distance in DISTANCES.items()
    ]  # fmt: skip


def test_a_run_that_is_as_claimed_has_passed():
    """Exact is 4 times slower with 4 times the workloads, and not slower with twice the nodes."""
    assert judge(rows(exact=0.1), Setting())['passed'] is True


@pytest.mark.parametrize(
    ('changed', 'claim'),
    [
        ({'seconds': 0.2, 'algorithm': 'greedy'}, 'greedy takes less than 100 ms'),
        ({'placed': 3}, 'every workload is placed'),
        ({'joules': 500.0, 'algorithm': 'exact'}, 'exact <= search <= greedy'),
        ({'seconds': 7.0, 'algorithm': 'exact', 'workloads': 40}, 'exact is ten times faster'),
        ({'distance': 0.9, 'algorithm': 'greedy_consistent'}, 'greedy with the consistent key'),
    ],
)
def test_a_claim_that_fails_is_found(changed, claim):
    measured = rows(exact=0.1)
    which = {name: changed[name] for name in ('algorithm', 'workloads') if name in changed}
    for row in measured:
        if all(row[name] == value for name, value in which.items()):
            row |= changed
    holds = judge(measured, Setting())['holds']
    assert False in [holds[name] for name in holds if name.startswith(claim)]


def test_a_family_is_the_same_each_time():
    """And another one for another seed; models are repeated over the nodes."""
    (hosts, leases), (again, same) = family(1, 6, 4, models=2), family(1, 6, 4, models=2)
    assert hosts.base_w.tolist() == again.base_w.tolist() == 3 * hosts.base_w[:2].tolist()
    assert [one.earliest for one in leases] == [one.earliest for one in same]
    assert [one.earliest for one in leases] != [one.earliest for one in family(2, 6, 4)[1]]


def test_nonsense_is_refused():
    with pytest.raises(BadLease, match='give at least 1 seed'):
        Setting(seeds=0)


def test_the_command_measures_a_part(tmp_path, capsys):
    """Exit code 3 (what needs the large sizes is not judged), unless the machine is too busy for a claim."""
    pytest.importorskip('matplotlib')
    output = tmp_path / 'out'
    given = ['--part', '0.1', '--seeds', '1', '--seconds', '20', '--output', str(output)]
    code = experiment.main(['cloudalloc-algorithms', *given])
    summary = json.loads(capsys.readouterr().out)
    assert [row['algorithm'] for row in summary['table']] == list(ALGORITHMS)
    holds = summary['holds']
    assert holds['exact <= search <= greedy'] and holds['every workload is placed']
    assert holds['the greedy comes closer with more workloads'].startswith('not judged')
    assert code == (3 if holds['greedy takes less than 100 ms'] else 1)
    assert (output / 'cloudalloc-algorithms.png').stat().st_size > 5000
    assert len((output / 'cloudalloc-algorithms.csv').read_text(encoding='utf-8').splitlines()) == 5
