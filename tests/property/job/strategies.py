# SPDX-License-Identifier: Apache-2.0
"""Small clouds with jobs of all kinds, for the properties of selection."""

import numpy as np
from hypothesis import strategies as st

from nova_market.core.job.policy_interface import (
    HostChoice,
    JobSettings,
    JobSnapshot,
    PolicyState,
    PreemptOrder,
)
from tests.support.job_builders import HOUR, Job, Run, snapshot

NOW = 10_000.0
QUEUES = 3
HOSTS = 4

_CORES = st.sampled_from([0.0, 1.0, 2.0, 3.0, 8.0])
_MEMORY = st.sampled_from([0.0, 512.0, 1024.0, 4096.0])
_QUEUE = st.integers(0, QUEUES - 1)

jobs = st.builds(
    Job,
    queue=_QUEUE,
    cores=_CORES,
    memory=_MEMORY,
    servers=st.sampled_from([1, 1, 1, 2, 5]),
    limit=st.sampled_from([600.0, 1800.0, HOUR, np.inf]),
    best_effort=st.booleans(),
    priority=st.sampled_from([50, 100]),
    weight=st.sampled_from([1.0, 2.0]),
    submitted=st.integers(0, 5).map(float),
    predecessors=st.sampled_from([0, 0, 0, 1]),
    not_before=st.sampled_from([-np.inf, -np.inf, NOW, NOW + 1]),
    claim=st.sampled_from([False, False, False, True]),
    value=st.sampled_from([0.0, 1e3, 1e6]),
)

runs = st.builds(
    Run,
    hosts=st.lists(st.integers(0, HOSTS - 1), min_size=1, max_size=2),
    queue=_QUEUE,
    cores=st.sampled_from([1.0, 2.0]),
    memory=st.sampled_from([0.0, 512.0]),
    best_effort=st.sampled_from([True, True, False]),
    started=st.integers(0, 9).map(lambda n: n * 1000.0),
    least_run_time=st.sampled_from([0.0, 5000.0]),
    leaving=st.sampled_from([False, False, True]),
    keeps_work=st.booleans(),
)


@st.composite
def snapshots(draw: st.DrawFn, *, first_fit: bool = False) -> JobSnapshot:
    """A cloud of four hosts and three queues; what runs always fits (hosts are made as large as needed)."""
    choice = HostChoice.FIRST_FIT if first_fit else draw(st.sampled_from(HostChoice))
    running = draw(st.lists(runs, max_size=6))
    least = [0.0] * HOSTS
    for one in running:
        for host in one.hosts:
            least[host] += one.cores
    hosts = [draw(st.sampled_from([0.0, 4.0, 8.0])) + held for held in least]
    return snapshot(
        draw(st.lists(jobs, max_size=10)),
        running,
        hosts=hosts,
        memory=8192.0,
        shares=draw(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 1.0]), min_size=3, max_size=3)),
        now=NOW,
        settings=JobSettings(host_choice=choice, preempt_order=draw(st.sampled_from(PreemptOrder))),
        state=PolicyState(order=np.array(draw(st.permutations(range(QUEUES))), dtype=np.intp)),
    )


_BEST_EFFORT = st.builds(
    Run,
    hosts=st.lists(st.integers(0, 2), min_size=1, max_size=2),
    cores=st.sampled_from([1.0, 2.0, 3.0]),
    memory=st.sampled_from([0.0, 512.0]),
    best_effort=st.just(True),
    started=st.integers(0, 9).map(lambda n: n * 1000.0),
)

_WIDE = st.builds(
    Job,
    queue=st.integers(0, 1),
    cores=st.sampled_from([1.0, 2.0, 4.0]),
    memory=st.sampled_from([0.0, 512.0]),
    servers=st.sampled_from([1, 1, 2, 3]),
    submitted=st.integers(0, 5).map(float),
)


@st.composite
def crowded(draw: st.DrawFn, *, most_jobs: int = 3) -> JobSnapshot:
    """Hosts that best-effort jobs fill almost, and production jobs that are within their share."""
    running = draw(st.lists(_BEST_EFFORT, min_size=2, max_size=7))
    held = [sum(list(one.hosts).count(host) * one.cores for one in running) for host in range(3)]
    return snapshot(
        draw(st.lists(_WIDE, min_size=1, max_size=most_jobs)),
        running,
        hosts=[cores + draw(st.sampled_from([0.0, 0.0, 1.0, 2.0])) for cores in held],
        memory=8192.0,
        shares=(1.0, 1.0),
        now=NOW,
        settings=JobSettings(
            host_choice=draw(st.sampled_from(HostChoice)),
            preempt_order=draw(st.sampled_from(PreemptOrder)),
        ),
    )
