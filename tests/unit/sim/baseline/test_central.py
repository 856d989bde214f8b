# SPDX-License-Identifier: Apache-2.0
"""The central scheduler by worth, and the bound that no scheduler surpasses."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.value_density import value_density
from nova_market.sim.baseline.batch import easy, edf, fcfs
from nova_market.sim.baseline.bound import satisfaction_bound
from nova_market.sim.baseline.central import by_worth
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.workload.job import Terms, Workload, terms
from nova_market.sim.workload.lublin import generate, kind_for


def jobs(*rows):
    """(submit, run, processors) each."""
    submit, run, processors = (np.array(column) for column in zip(*rows, strict=True))
    run = run.astype(float)
    return Workload(
        number=np.arange(1, len(rows) + 1),
        submit=submit.astype(float),
        run=run,
        processors=processors.astype(np.int64),
        estimate=run,
        memory_mib=np.full(len(rows), np.nan),
    )


def wanted(deadline, budget):
    return Terms(deadline=np.array(deadline, dtype=float), budget=np.array(budget, dtype=float))


def test_the_small_job_goes_first():
    """At the same budget and urgency; the large one follows, and both are in time."""
    work = jobs((0, 6000, 4), (0, 600, 4))
    schedule = by_worth(work, 4, wanted([9000, 900], [10, 10]))
    assert schedule.end.tolist() == [6600.0, 600.0]


def test_who_began_is_not_driven_out_by_a_slightly_better_one():
    """But by one that is worth several times as much."""
    terms_of = wanted([9000, 9000], [10, 15])
    assert by_worth(jobs((0, 6000, 4), (60, 6000, 4)), 4, terms_of).end[0] == 6000.0
    short = by_worth(jobs((0, 6000, 4), (60, 60, 4)), 4, wanted([9000, 150], [10, 15]))
    assert short.end.tolist() == [6060.0, 120.0]


def test_what_is_lost_is_dropped():
    """One of two that cannot both be in time."""
    schedule = by_worth(jobs((0, 600, 1), (0, 600, 1)), 1, wanted([700, 700], [10, 10]))
    assert schedule.finished().tolist() == [True, False]


def test_the_bound_of_one_machine():
    """Both have 300 s of their own; half of the second fits into the 100 s that are left."""
    work, terms_of = jobs((0, 200, 1), (0, 200, 1)), wanted([300, 300], [10, 10])
    assert satisfaction_bound(work, 1, terms_of) == pytest.approx((2 * 15 - 20) / 20)


def test_the_bound_knows_windows_and_widths():
    """A machine of four does not help a job of one; nor does time before it comes."""
    alone = jobs((100, 200, 1))
    assert satisfaction_bound(alone, 4, wanted([300], [7])) == pytest.approx(1.0)
    late = satisfaction_bound(alone, 4, wanted([200], [7]))
    assert late == pytest.approx(2 * 0.5 - 1)


def test_nobody_is_above_the_bound():
    """Market, batch schedulers and the central one, where not all can be done; more slots only lower it."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        work = generate(40, kind_for(8), rng)
        # one after the other on one processor: there the best of them, EDF, comes within 0.25 of the bound
        work = replace(work, submit=work.submit / 400, processors=np.ones_like(work.processors))
        terms_of = terms(work, rng)
        bound = satisfaction_bound(work, 1, terms_of)
        assert bound < 0.96
        assert bound <= satisfaction_bound(work, 1, terms_of, 10) + 1e-9
        schedules = [
            fcfs(work, 1), easy(work, 1), edf(work, 1, terms_of), by_worth(work, 1, terms_of),
        ]  # fmt: skip
        for policy in (full_deadline, value_density):
            run = undivided_run(work, terms_of, (1.0, 1e9), policy, MarketSetting())
            schedules.append(run.run().schedule)
        found = [schedule.satisfaction(terms_of) for schedule in schedules]
        assert bound - 0.25 < max(found) <= bound + 1e-6


def test_nothing_is_bounded_by_nothing():
    """No jobs, no satisfaction."""
    none = jobs((0, 1, 1)).take(np.zeros(0, dtype=np.intp))
    assert satisfaction_bound(none, 4, wanted([], [])) == 0.0
    assert len(by_worth(none, 4, wanted([], [])).end) == 0
