# SPDX-License-Identifier: Apache-2.0
"""Workloads: the log format, deadlines and budgets, and the Lublin-Feitelson generator.

The quantiles of LUBLIN are those of samples of 20,000 jobs that the authors' program made: two of all jobs
together, for 128 and for 8 processors. The tolerances are what samples of that size differ by: the tail
of the gaps is heavy, so means and the last quantile are looser.
"""

import gzip
import tracemalloc

import numpy as np
import pytest

from nova_market.errors import BadWorkload
from nova_market.sim.workload import swf
from nova_market.sim.workload.job import fitting, offered_load, scaled, terms
from nova_market.sim.workload.lublin import JobKind, generate, kind_for
from nova_market.sim.workload.swf import read_log

PARTS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]

LUBLIN = {
    128: {
        'kind': JobKind(),
        'gap': [12.0, 18.0, 42.0, 116.0, 399.0, 1303.2, 2761.2],
        'run': [4.0, 7.0, 19.0, 104.0, 6782.25, 14425.8, 19597.25],
        'means': {'gap': 930.8, 'run': 4313.7, 'processors': 12.264},
        'serial': 0.2427,
        'power': 0.8699,
        'correlation': 0.2125,
        'night': 0.0447,
        'noon': 0.2819,
    },
    8: {
        'kind': JobKind(low=0.8, middle=1.5, high=3.0),
        'gap': [12.0, 18.0, 41.0, 114.0, 369.0, 1216.2, 2629.0],
        'run': [4.0, 6.0, 17.0, 77.0, 3851.5, 13309.2, 18474.1],
        'means': {'gap': 881.2, 'run': 3671.8, 'processors': 2.152},
        'serial': 0.2395,
        'power': 0.9411,
        'correlation': 0.0147,
        'night': 0.0409,
        'noon': 0.3132,
    },
}
"""night: part of the jobs that arrive in the first four hours of a day; noon: from eleven to three."""

LINE = '{0} {1} -1 {2} {3} -1 -1 {3} {4} {5} 1 1 1 1 1 1 -1 -1'


def write(path, *lines):
    text = '; Version: 2.2\n; Computer: A: B\n;\n' + '\n'.join(lines) + '\n'
    path.write_text(text, encoding='utf-8')
    return path


def test_a_log_is_read(tmp_path):
    """Run times, processors, estimates at least the run time, memory in KiB; unknown memory is NaN."""
    log = read_log(
        write(
            tmp_path / 'a.swf',
            LINE.format(1, 0, 50, 4, 100, 2048),
            LINE.format(2, 7, 60, 1, -1, -1),
        )
    )
    assert log.header['Computer'] == 'A: B' and log.left_out == 0
    jobs = log.jobs
    assert jobs.run.tolist() == [50.0, 60.0] and jobs.processors.tolist() == [4, 1]
    assert jobs.estimate.tolist() == [100.0, 60.0]
    assert jobs.memory_mib[0] == 2.0 and np.isnan(jobs.memory_mib[1])


def test_jobs_are_sorted_and_unknown_ones_left_out(tmp_path):
    """Jobs of one second keep the order of the log."""
    lines = [(1, 9, 5), (2, 3, -1), (3, 3, 5), (4, 3, 6)]
    text = [LINE.format(n, at, run, 2, 10, -1) for n, at, run in lines]
    log = read_log(write(tmp_path / 'a.swf', *text))
    assert log.jobs.number.tolist() == [3, 4, 1] and log.left_out == 1


def test_allocated_processors_are_used_and_requested_ones_where_they_are_unknown(tmp_path):
    """Fields 5 and 8."""
    given = '1 0 -1 5 3 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1'
    unknown = '2 0 -1 5 -1 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1'
    assert read_log(write(tmp_path / 'a.swf', given, unknown)).jobs.processors.tolist() == [3, 4]


def test_gzip_is_read_by_its_content(tmp_path):
    """Whatever the file is called."""
    plain = write(tmp_path / 'a.swf', LINE.format(1, 0, 50, 4, 100, -1)).read_bytes()
    path = tmp_path / 'log'
    path.write_bytes(gzip.compress(plain))
    assert len(read_log(path).jobs) == 1
    packed = gzip.compress(plain)
    for damaged in (packed[:-9], packed[:20] + b'\xff\xff' + packed[22:]):
        path.write_bytes(damaged)
        with pytest.raises(BadWorkload, match='damaged'):
            read_log(path)


def test_a_log_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    """It is not unpacked any further."""
    monkeypatch.setattr(swf, 'LARGEST', 2**20)
    path = tmp_path / 'log'
    path.write_bytes(gzip.compress(bytes(2**24)))
    with pytest.raises(BadWorkload, match='more than 1048576 bytes when it is unpacked'):
        read_log(path)


@pytest.mark.parametrize('pack', [bytes, gzip.compress])
def test_a_short_log_takes_little_memory(tmp_path, pack):
    """And not that of the longest one that may be given."""
    path = write(tmp_path / 'log', LINE.format(1, 0, 50, 4, 100, -1))
    path.write_bytes(pack(path.read_bytes()))
    tracemalloc.start()
    try:
        read_log(path)
        assert tracemalloc.get_traced_memory()[1] < swf.LARGEST / 16
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ('line', 'complaint'),
    [
        ('1 2 3', 'line 5: 3 fields'),
        (LINE.format(1, 'x', 50, 4, 100, -1), "line 5: 'x' is not a number"),
        (LINE.format(1, 'nan', 50, 4, 100, -1), "line 5: 'nan' is not a number"),
        (LINE.format(1, '1e300', 50, 4, 100, -1), r"line 5: '1e300' is not a number up to 2\^53"),
    ],
)
def test_a_line_that_is_no_job_is_named(tmp_path, line, complaint):
    """The file, the line, and what is wrong."""
    path = write(tmp_path / 'a.swf', LINE.format(1, 0, 50, 4, 100, -1), line)
    with pytest.raises(BadWorkload, match=complaint) as caught:
        read_log(path)
    assert str(path) in str(caught.value)


def test_an_empty_log_has_no_jobs(tmp_path):
    """Only comments."""
    assert len(read_log(write(tmp_path / 'a.swf')).jobs) == 0


def test_scaling_starts_at_nothing_and_multiplies_the_load():
    """.1 is ten times the load."""
    jobs = generate(500, JobKind(), np.random.default_rng(1))
    dense = scaled(jobs, 0.1)
    assert dense.submit[0] == 0.0
    assert offered_load(dense, 128) == pytest.approx(10 * offered_load(jobs, 128))
    with pytest.raises(BadWorkload, match='more than 0'):
        scaled(jobs, 0.0)


def test_terms_are_those_of_the_paper():
    """Deadlines of 1.5 to 10 run times; budget times factor is 2000."""
    jobs = generate(2000, JobKind(), np.random.default_rng(1))
    wanted = terms(jobs, np.random.default_rng(2))
    factor = (wanted.deadline - jobs.submit) / jobs.run
    assert 1.5 <= factor.min() < 1.6 and 9.9 < factor.max() <= 10.0
    assert wanted.budget * factor == pytest.approx(2000.0)
    assert 200 <= wanted.budget.min() <= wanted.budget.max() <= 2000 / 1.5


def test_jobs_that_no_machine_ran_are_refused():
    """Out of order, without a processor, of negative time."""
    jobs = generate(5, JobKind(), np.random.default_rng(1))
    with pytest.raises(BadWorkload, match='job 1 was submitted before'):
        jobs.take(np.array([4, 0]))
    with pytest.raises(BadWorkload, match='0 processors'):
        type(jobs)(**{n: getattr(jobs, n) * (n != 'processors') for n in jobs.__slots__})


@pytest.mark.parametrize('processors', LUBLIN)
def test_the_generator_is_the_authors(processors):
    """Gaps, run times, sizes, their correlation and the daily cycle."""
    wanted = LUBLIN[processors]
    jobs = generate(20000, wanted['kind'], np.random.default_rng(5))
    found = {'gap': np.diff(jobs.submit), 'run': jobs.run, 'processors': jobs.processors}
    for name in ('gap', 'run'):
        # 2 s: the first quantiles are a few whole seconds; 75 % of the run times lie between two humps
        assert np.quantile(found[name], PARTS) == pytest.approx(
            wanted[name], rel=0.13 if name == 'gap' else 0.22, abs=2.0
        )
    for name, mean in wanted['means'].items():
        assert found[name].mean() == pytest.approx(mean, rel=0.07), name
    assert (jobs.processors == 1).mean() == pytest.approx(wanted['serial'], abs=0.01)
    power = jobs.processors == 2 ** np.round(np.log2(jobs.processors)).astype(int)
    assert power.mean() == pytest.approx(wanted['power'], abs=0.01)
    related = np.corrcoef(jobs.processors, np.log(np.maximum(jobs.run, 1)))[0, 1]
    assert related == pytest.approx(wanted['correlation'], abs=0.03)
    hour = jobs.submit % 86400 / 3600
    assert (hour < 4).mean() == pytest.approx(wanted['night'], abs=0.015)
    assert ((hour >= 11) & (hour < 15)).mean() == pytest.approx(wanted['noon'], abs=0.04)


def test_the_generator_is_deterministic_by_seed():
    """And another seed is another workload."""
    one, same, other = (generate(50, JobKind(), np.random.default_rng(s)) for s in (1, 1, 2))
    assert (one.submit == same.submit).all() and (one.run == same.run).all()
    assert (one.submit != other.submit).any()


@pytest.mark.parametrize('processors', [2, 8, 70, 1000])
def test_no_job_is_wider_than_its_machine(processors):
    """high = log2(processors)."""
    jobs = generate(2000, kind_for(processors), np.random.default_rng(1))
    assert len(fitting(jobs, processors)) == len(jobs)
    assert jobs.processors.min() == 1


def test_a_machine_of_one_is_refused():
    """There is nothing to model."""
    with pytest.raises(BadWorkload, match='at least 2'):
        kind_for(1)
