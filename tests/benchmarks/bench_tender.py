# SPDX-License-Identifier: Apache-2.0
"""What an answer of a tender costs, swept over PEs (T2).

Aim on an idle machine: all offers of 10,000 PEs in 20 ms, also when the workers have just changed and the
memory of each has to be looked at over time. Milliseconds are printed; asserted are ratios to a sort of as
many rows in the same run, which any grouping must do.
"""

import numpy as np
import pytest

from nova_market.core.tender.cost import Prices
from nova_market.core.tender.offer import Offers, offers_for
from nova_market.core.tender.place import Openings, places
from nova_market.core.tender.pool import Pool, Queued, WorkerFlavors, pool
from nova_market.core.tender.task import Task
from tests.benchmarks.bench_calendar import best

pytestmark = pytest.mark.benchmark

SIZES = (100, 1_000, 10_000, 100_000)
PES = 8
PRICES = Prices(work=100.0, memory_mib=1.0, disk_gib=1.0)
FLAVORS = WorkerFlavors(
    pes=np.array([PES], dtype=np.intp),
    speed=np.array([9000.0]),
    memory_mib=np.array([15_360.0]),
    disk_gib=np.array([1690.0]),
    start_cost=np.zeros(1, dtype=np.int64),
    start_seconds=np.ones(1),
)
OPENINGS = Openings(flavor=np.zeros(1, dtype=np.intp), host=np.zeros(1, dtype=np.intp))
EASY, TIGHT = Task(work=1e6, disk_gib=50.0), Task(work=1e6, disk_gib=1000.0)


def workers(pes: int, busy: float) -> Pool:
    """Two tasks on each PE of the busy workers, of any length."""
    rng = np.random.default_rng(2)
    count = pes // PES
    pe = np.repeat(np.arange(int(busy * count) * PES), 2)
    first = rng.exponential(100.0, len(pe) // 2)
    start = np.stack([np.zeros_like(first), first], axis=1)
    length = np.stack([first, rng.exponential(100.0, len(first))], axis=1)
    idle_since = rng.uniform(-600.0, 0.0, count)
    idle_since[: int(busy * count)] = np.nan
    return pool(
        FLAVORS,
        worker_flavor=np.zeros(count, dtype=np.intp),
        idle_since=idle_since,
        pe_worker=np.repeat(np.arange(count), PES),
        ready=np.full(count * PES, -1000.0),
        queued=Queued(
            pe=pe,
            start=start.ravel(),
            end=(start + length).ravel(),
            memory_mib=np.full(len(pe), 100.0),
            disk_gib=rng.choice([20.0, 200.0], len(pe)),
        ),
    )


def answer(whole: Pool, task: Task) -> Offers:
    """From a pool that has just changed."""
    return offers_for(task, places(whole, OPENINGS, 10.0), PRICES, 10.0)


def test_an_answer_costs_a_few_sorts():
    """All PEs idle; all busy; busy, and the task fits on some only. A second answer costs less."""
    print(
        f'\n{"PEs":>7} {"idle ms":>8} {"busy ms":>8} {"tight ms":>9} {"again ms":>9} {"x sort":>7}'
    )
    for pes in SIZES:
        idle, busy = workers(pes, 0.0), workers(pes, 1.0)
        assert len(answer(idle, EASY)) == 2
        assert len(answer(busy, EASY)) == pes + 1 and 1 < len(answer(busy, TIGHT)) < pes
        there = places(busy, OPENINGS, 10.0)
        calls = (
            lambda one=idle: answer(one, EASY),
            lambda one=busy: answer(one, EASY),
            lambda one=busy: answer(one, TIGHT),
            lambda one=there: offers_for(EASY, one, PRICES, 10.0),
        )
        seconds = [best(call, 7) for call in calls]
        keys = np.random.default_rng(1).uniform(size=(4, pes))
        sort = best(lambda keys=keys: np.lexsort(keys), 7)
        print(
            f'{pes:7d} '
            + ' '.join(f'{1e3 * one:8.2f}' for one in seconds)
            + f' {max(seconds) / sort:7.1f}'
        )
        if pes >= 10_000:
            assert max(seconds) < 40 * sort
