# SPDX-License-Identifier: Apache-2.0
"""What a simulated job costs: against AccaSim on the same log, by number of jobs, on the market, on hosts.

AccaSim (PyPI, 1.1.3) runs with an interpreter of its own: ACCASIM_PYTHON names it. Both read the same SWF
file; reading is counted. Its EASYBackfilling discards its own reservation, so EASY is compared with a
dispatcher that is written against AccaSim's interface; see accasim_peer.py. SIM_LOG and SIM_PROCESSORS
name a log of the archive; without them jobs are generated. CPU seconds of each process.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.ledger.money import MICRO
from nova_market.sim.baseline.batch import easy, fcfs
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.hosts import HostKind, SimulatedHosts
from nova_market.sim.cloud.market import CloudSetting
from nova_market.sim.cloud.scheduler import PlacingSetting
from nova_market.sim.cloud.site import CloudParts, CloudSite
from nova_market.sim.cloud.vector_market import VectorMarket
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.batch_run import MarketRun
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.workload.job import Workload, fitting, offered_load, scaled, terms
from nova_market.sim.workload.lublin import JobKind, generate
from nova_market.sim.workload.swf import read_log

pytestmark = pytest.mark.benchmark

PEER = Path(__file__).with_name('accasim_peer.py')
DISCIPLINES = {'fcfs': fcfs, 'easy': easy}


def crowded(count, processors=128, load=0.9):
    """Generated jobs with queues that grow and empty again."""
    jobs = generate(count, JobKind(), np.random.default_rng(1))
    return scaled(jobs, offered_load(jobs, processors) / load)


def write_log(path, jobs):
    """Whole seconds, at least one; what AccaSim reads and we read is this file."""
    columns = (
        jobs.submit - jobs.submit[0] + 1,
        np.maximum(jobs.run, 1),
        np.maximum(jobs.estimate, 1),
    )
    submit, run, estimate = (c.astype(np.int64).tolist() for c in columns)
    with path.open('w', encoding='ascii') as stream:
        for row, (number, width) in enumerate(
            zip(jobs.number.tolist(), jobs.processors.tolist(), strict=True)
        ):
            stream.write(
                f'{number} {submit[row]} -1 {run[row]} {width} -1 -1 {width} {estimate[row]} '
                '-1 1 1 1 1 1 1 -1 -1\n'
            )
    return path


@pytest.fixture(scope='module')
def log(tmp_path_factory):
    """(path, processors)"""
    directory = tmp_path_factory.mktemp('log')
    given = os.environ.get('SIM_LOG')
    processors = int(os.environ.get('SIM_PROCESSORS', '128'))
    jobs = read_log(Path(given)).jobs if given else crowded(5000, load=0.5)
    return write_log(directory / 'log.swf', fitting(jobs, processors)), processors


def accasim(discipline, log, directory):
    """(start of each job, CPU seconds)"""
    python = os.environ.get('ACCASIM_PYTHON')
    if not python:
        reason = 'ACCASIM_PYTHON names no interpreter with accasim (pip install accasim==1.1.3)'
        pytest.fail(reason) if os.environ.get('CI') == 'true' else pytest.skip(reason)
    path, processors = log
    starts = directory / 'starts'
    done = subprocess.run(
        [python, str(PEER), str(path), str(processors), discipline, str(starts), str(directory)],
        check=True,
        capture_output=True,
        text=True,
        timeout=200,
    )
    lines = (line.split() for line in starts.read_text().splitlines())
    return {int(n): float(at) for n, at in lines}, json.loads(done.stdout.splitlines()[-1])['cpu']


@pytest.mark.parametrize('discipline', DISCIPLINES)
def test_the_same_schedule_as_accasim_ten_times_faster(discipline, log, tmp_path):
    """First the schedules: every job at the same second. Then the cost."""
    theirs, their_seconds = accasim(discipline, log, tmp_path)
    began = time.process_time()
    jobs = read_log(log[0]).jobs
    schedule = DISCIPLINES[discipline](jobs, log[1])
    seconds = time.process_time() - began
    ours = dict(zip(jobs.number.tolist(), schedule.start.tolist(), strict=True))
    assert ours == theirs
    waits = schedule.wait(jobs)
    print(
        f'\n{discipline}: {len(jobs)} jobs, mean wait {waits.mean():.0f} s; '
        f'{len(jobs) / seconds:,.0f} jobs/s against {len(jobs) / their_seconds:,.0f} '
        f'({their_seconds / seconds:.0f} x), reading included'
    )
    assert their_seconds / seconds > 10


def test_cost_by_number_of_jobs():
    """Twice the jobs cost about twice as much."""
    print(f'\n{"jobs":>8} {"fcfs us/job":>12} {"easy us/job":>12}')
    cost = {}
    for count in (10_000, 40_000, 160_000):
        jobs = crowded(count, load=0.7)
        cost[count] = []
        for discipline in DISCIPLINES.values():
            began = time.process_time()
            discipline(jobs, 128)
            cost[count].append(1e6 * (time.process_time() - began) / count)
        print(f'{count:8d} {cost[count][0]:12.2f} {cost[count][1]:12.2f}')
    assert cost[160_000][0] < 3 * cost[10_000][0]


def test_cost_of_a_round_by_applications():
    """Rounds of many applications at once: the cost per application falls."""
    print(f'\n{"applications":>12} {"ms/round":>9} {"us/application":>15}')
    each = {}
    for count in (10, 100, 1000, 10_000):
        jobs = generate(count, JobKind(), np.random.default_rng(2))
        jobs = scaled(jobs.take(np.argsort(jobs.submit, kind='stable')), 1e-9)
        wanted = terms(jobs, np.random.default_rng(3))
        run = undivided_run(jobs, wanted, (12.0 * count, 1e12), full_deadline, MarketSetting())
        rounds, began = 0, time.process_time()
        for _ in run.rounds():
            rounds += 1
            if rounds == 20:
                break
        seconds = (time.process_time() - began) / rounds
        each[count] = 1e6 * seconds / count
        print(f'{count:12d} {1e3 * seconds:9.2f} {each[count]:15.2f}')
    assert each[10_000] < each[100] < each[10]


def on_hosts(hosts, servers, each=8, cores=4):
    """A cloud where all servers, `each` of a job, come at once and work for hours."""
    count = servers // each
    rng = np.random.default_rng(4)
    run = rng.uniform(7200.0, 14400.0, count)
    jobs = Workload(
        number=np.arange(count),
        submit=np.zeros(count),
        run=run,
        processors=np.full(count, each),
        estimate=run,
        memory_mib=rng.choice([512.0, 1024.0, 2048.0], count),
    )
    wanted = terms(jobs, rng)
    simulated = SimulatedHosts(
        [HostKind(count=hosts, cores=cores, memory_mib=16384.0)], ratios=(4.0, 1.0)
    )
    setting = MarketSetting(memory=True)
    reserve = (setting.reserve[0] * MICRO, 0.0)
    project = rng.integers(0, 50, count)
    market = VectorMarket(
        simulated,
        CloudSetting(period=60.0, reserve=reserve, money=MoneySetting(projects=50)),
        (wanted.budget * MICRO).astype(np.int64),
        project,
        Costs().migration_rate,
    )
    parts = CloudParts(
        hosts=simulated,
        market=market,
        costs=Costs(),
        placing=PlacingSetting(),
        project=project,
        rng=rng,
    )
    return MarketRun(jobs, wanted, full_deadline, setting, CloudSite(jobs, setting, parts))


def test_twenty_thousand_hosts_and_forty_thousand_servers():
    """Placed by the scheduler's decisions, then run; the cost by hosts and servers."""
    print(f'\n{"hosts":>7} {"servers":>8} {"placed/s":>9} {"ms/round":>9} {"us/server":>10}')
    each = {}
    for hosts, servers in ((1000, 2000), (5000, 10_000), (20_000, 40_000)):
        run = on_hosts(hosts, servers)
        rounds = run.rounds()
        began = time.process_time()
        next(rounds)
        placed = time.process_time() - began
        assert run.site.log.servers[0] == servers and run.site.log.homeless == [0]
        began = time.process_time()
        for _ in range(10):
            next(rounds)
        seconds = (time.process_time() - began) / 10
        each[hosts] = 1e6 * seconds / servers
        print(
            f'{hosts:7d} {servers:8d} {servers / placed:9.0f} {1e3 * seconds:9.1f} {each[hosts]:10.2f}'
        )
    assert each[20_000] < 3 * each[1000]


def test_cost_of_a_round_on_hosts_by_jobs():
    """The same 20,000 servers on 5,000 hosts as few wide jobs or many narrow ones."""
    print(f'\n{"jobs":>7} {"ms/round":>9} {"us/job":>8}')
    cost = {}
    for each in (40, 10, 2):
        run = on_hosts(5000, 20_000, each, cores=8)
        rounds = run.rounds()
        next(rounds)
        began = time.process_time()
        for _ in range(10):
            next(rounds)
        seconds = (time.process_time() - began) / 10
        jobs = 20_000 // each
        cost[jobs] = seconds
        print(f'{jobs:7d} {1e3 * seconds:9.1f} {1e6 * seconds / jobs:8.1f}')
    assert cost[10_000] < 40 * cost[500]
