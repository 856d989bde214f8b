# SPDX-License-Identifier: Apache-2.0
"""CPU seconds of a pass that reserves room, as a ratio to one numpy lexsort of the same jobs.

The clouds of bench_jobs, full and in use, in which running jobs end over the next day. Aim: 100,000 waiting
jobs in 1,000 queues in under 100 ms on an idle machine, which the bounds of JobSettings hold.
"""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.job.columns import Placement, RunningJobs
from nova_market.core.job.expected_start import expected_starts
from nova_market.core.job.policies.conservative import conservative
from nova_market.core.job.policies.easy import easy
from nova_market.core.job.policy_interface import JobSnapshot
from tests.benchmarks.bench_jobs import HOSTS, cloud, full, in_use, seconds

pytestmark = [pytest.mark.benchmark, pytest.mark.alone]

PER_HOST = 4


def with_running(seen: JobSnapshot) -> JobSnapshot:
    """What is not free is held by four jobs on each host, which end over a day."""
    rng = np.random.default_rng(5)
    host = np.repeat(np.arange(HOSTS), PER_HOST)
    count = len(host)
    held = (seen.hosts.capacity - seen.hosts.free)[:, host] / PER_HOST
    started = np.full(count, seen.now - 1000.0)
    running = RunningJobs(
        queue=rng.integers(0, len(seen.queues), count, dtype=np.intp),
        owner=np.zeros(count, np.intp), best_effort=np.ones(count, np.bool_),
        servers=np.ones(count, np.int64), amount=held, started=started,
        ends=seen.now + rng.random(count) * 86_400.0, least_run_time=np.zeros(count), saved=started,
        keeps_work=np.zeros(count, np.bool_), leaving=np.zeros(count, np.bool_),
        placement=Placement(job=np.arange(count), host=host, servers=np.ones(count, np.int64)),
    )  # fmt: skip
    candidates = ~seen.waiting.best_effort & (seen.waiting.predecessors == 0)
    return replace(seen, running=running, candidates=candidates)


def test_a_pass_with_reservations() -> None:
    """At most 20 times the sort at 100,000 jobs; the growth from 10,000 is printed."""
    print()
    for free in (full, in_use):
        for jobs in (10_000, 100_000):
            seen = with_running(cloud(jobs, free))
            w = seen.waiting
            sort = seconds(lambda w=w: np.lexsort((w.submitted, -w.weight, w.priority, w.queue)))
            for policy in (easy, conservative):
                spent = seconds(lambda seen=seen, policy=policy: policy(seen))
                plan = policy(seen)
                given = (plan.starts, plan.placement, plan.code, plan.expected_start)
                more = seconds(lambda seen=seen, given=given: expected_starts(seen, *given))
                reserved = int((~np.isnan(plan.expected_start)).sum())
                print(
                    f'{free.__name__:>7}, {jobs:>7} jobs, {policy.__name__:>12}: {spent * 1e3:6.1f} ms, '
                    f'{len(plan.starts):>4} started, {reserved:>3} reserved, expected starts '
                    f'{more * 1e3:6.1f} ms; {spent / sort:5.1f} x a lexsort of {sort * 1e3:.1f} ms'
                )
                if jobs == 100_000:
                    assert spent < 20 * sort
