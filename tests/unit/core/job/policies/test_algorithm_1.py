# SPDX-License-Identifier: Apache-2.0
"""`flexible` and `rigid`: the rules of SVMSched, section 5, by example. Six hosts of eight cores."""

from dataclasses import replace

import numpy as np

from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policies.rigid import rigid
from nova_market.core.job.policy_interface import HostChoice, JobSettings, PolicyState
from nova_market.core.job.reason import ReasonCode, sentence
from tests.support.job_builders import HOUR, Job, Run, snapshot

GENEPI = (8.0,) * 6
THIRDS = (1 / 3, 1 / 3, 1 / 3)
SHORT = 1800.0
"""The longest limit of a short job."""


def reason(selection, job):
    return sentence(selection.code[job], selection.numbers[job])


def test_a_queue_may_use_all_of_its_share_and_no_more() -> None:
    """Two long jobs of eight cores are 16 of 48: exactly one third. The third one waits."""
    found = flexible(snapshot([Job(cores=8)] * 3, hosts=GENEPI, shares=THIRDS))
    assert found.starts.tolist() == [0, 1]
    assert reason(found, 2) == 'share: would be 0.5 of 0.333; a long job'


def test_the_share_binds_long_jobs_only() -> None:
    """A job of exactly half an hour is short, and starts over the share; under `rigid` it waits."""
    seen = snapshot([Job(cores=8, limit=SHORT)] * 3, hosts=GENEPI, shares=THIRDS)
    assert flexible(seen).starts.tolist() == [0, 1, 2]
    found = rigid(seen)
    assert found.starts.tolist() == [0, 1]
    assert reason(found, 2) == 'share: would be 0.5 of 0.333; a short job'


def test_a_job_without_a_time_limit_is_long() -> None:
    seen = snapshot([Job(cores=8, limit=np.inf)], hosts=GENEPI, shares=(0.1,))
    assert not len(flexible(seen).starts)


def test_short_jobs_count_as_use() -> None:
    """Short jobs that run hold the whole share, so that a long one waits though it would fit alone."""
    runs = [Run(hosts=(0,), cores=8, limit=600), Run(hosts=(1,), cores=8, limit=600)]
    seen = snapshot([Job(cores=1)], runs, hosts=GENEPI, shares=THIRDS)
    assert not len(flexible(seen).starts)


def test_best_effort_jobs_do_not_count_as_use() -> None:
    """[5.4.2]: they are outside the shares."""
    runs = [Run(hosts=(0,), cores=8, best_effort=True), Run(hosts=(1,), cores=8, best_effort=True)]
    seen = snapshot([Job(cores=8)], runs, hosts=GENEPI, shares=THIRDS)
    assert flexible(seen).starts.tolist() == [0]


def test_use_is_the_greater_of_memory_and_cores() -> None:
    """One core, but half of all memory, is half."""
    seen = snapshot([Job(memory=8192)], hosts=(8, 8), memory=8192, shares=(0.4,))
    assert reason(flexible(seen), 0) == 'share: would be 0.5 of 0.4; a long job'


def test_memory_of_several_jobs_adds_up() -> None:
    """Each takes a quarter of all memory and next to no cores; two are the share."""
    jobs = [Job(memory=4096)] * 3
    found = flexible(snapshot(jobs, hosts=(64, 64), memory=8192, shares=(0.5,)))
    assert found.starts.tolist() == [0, 1]


def test_compliance_goes_before_short_jobs_over_the_share() -> None:
    """A job within its share, in the second queue, is before a short one over the share in the first."""
    jobs = [Job(queue=0, cores=8, limit=600), Job(queue=1, cores=8)]
    found = flexible(snapshot(jobs, hosts=GENEPI, shares=(0.1, 0.9)))
    assert found.starts.tolist() == [1, 0]


def test_the_first_short_job_over_the_share_is_kept() -> None:
    """Line 12 of the algorithm as printed would take the last one."""
    jobs = [Job(cores=8, limit=600), Job(cores=8, limit=600)]
    found = flexible(snapshot(jobs, hosts=(8,), shares=(0.1,)))
    assert found.starts.tolist() == [0]


def test_the_queue_that_was_served_goes_to_the_end() -> None:
    """One job of each queue in turn, beginning with the order of the state."""
    jobs = [Job(queue=0), Job(queue=0), Job(queue=1), Job(queue=2)]
    state = PolicyState(order=np.array([1, 0, 2], dtype=np.intp))
    found = flexible(snapshot(jobs, shares=(1.0, 1.0, 1.0), state=state))
    assert found.starts.tolist() == [2, 0, 3, 1]
    assert found.state.order.tolist() == [1, 2, 0]


def test_lower_priority_numbers_then_heavier_customers_then_older_jobs_go_first() -> None:
    """[5.2.2] and the requirement of Algorithm 1."""
    jobs = [
        Job(submitted=1),
        Job(submitted=0),
        Job(submitted=9, weight=2.0),
        Job(submitted=9, priority=50),
    ]
    assert flexible(snapshot(jobs)).starts.tolist() == [3, 2, 1, 0]


def test_a_job_without_room_is_passed_over() -> None:
    """Backfilling: six cores do not fit beside five, three do. The other host is full."""
    jobs = [Job(cores=5), Job(cores=6), Job(cores=3)]
    runs = [Run(hosts=(1,), cores=8, queue=1)]
    found = flexible(snapshot(jobs, runs, hosts=(8, 8), shares=(1.0, 1.0)))
    assert found.starts.tolist() == [0, 2]
    assert reason(found, 1) == 'room: 6 cores, at most 0 free on any host'


def test_a_server_fits_one_host() -> None:
    """Eight cores are free in all, but five on the larger part."""
    runs = [Run(hosts=(0,), cores=3), Run(hosts=(1,), cores=5)]
    found = flexible(snapshot([Job(cores=8)], runs, hosts=(8, 8)))
    assert reason(found, 0) == 'room: 8 cores, at most 5 free on any host'


def test_cores_on_one_host_and_memory_on_another_are_no_room() -> None:
    runs = [Run(hosts=(0,), cores=8), Run(hosts=(1,), cores=1, memory=4096)]
    found = flexible(snapshot([Job(cores=4, memory=1024)], runs, hosts=(8, 8), memory=4096))
    assert found.code[0] == ReasonCode.ROOM
    assert 'no host that has that has enough of the rest' in reason(found, 0)


def test_a_gang_starts_whole_or_not_at_all() -> None:
    """Five servers of three cores: two on each host of eight make four."""
    found = flexible(snapshot([Job(cores=3, servers=5)], hosts=(8, 8)))
    assert not len(found.starts)
    assert reason(found, 0) == 'room: 5 servers that start together, 4 would fit'
    found = flexible(snapshot([Job(cores=3, servers=4)], hosts=(8, 8)))
    assert found.placement.host.tolist() == [0, 1]
    assert found.placement.servers.tolist() == [2, 2]


def test_a_gang_counts_with_all_its_servers() -> None:
    """Four servers of three cores are 12 of 16."""
    seen = snapshot([Job(cores=3, servers=4)], hosts=(8, 8), shares=(0.5,))
    assert reason(flexible(seen), 0) == 'share: would be 0.75 of 0.5; a long job'


def test_what_fits_no_host_at_all_is_a_reason_of_its_own() -> None:
    found = flexible(snapshot([Job(cores=9)], [Run(hosts=(0,), cores=8)], hosts=(8,)))
    assert reason(found, 0) == 'size: 9 cores, and the largest host has 8 cores'
    found = flexible(snapshot([Job(cores=9)], hosts=(8,), shares=(0.5,)))
    assert found.code[0] == ReasonCode.NEVER


def test_hosts_are_filled_in_their_order_or_by_the_tightest() -> None:
    """The paper takes the first host with room; best fit keeps the empty one for wide jobs."""
    runs = [Run(hosts=(1,), cores=5)]
    seen = snapshot([Job(cores=3)], runs, hosts=(8, 8))
    assert flexible(seen).placement.host.tolist() == [0]
    best = JobSettings(host_choice=HostChoice.BEST_FIT)
    seen = snapshot([Job(cores=3)], runs, hosts=(8, 8), settings=best)
    assert flexible(seen).placement.host.tolist() == [1]


def test_a_queue_starts_on_hosts_of_its_aggregate_only() -> None:
    """Its share is a part of the aggregate, too: four of eight cores, not of sixteen."""
    seen = snapshot([Job(cores=4), Job(cores=4)], hosts=(8, 8), shares=(0.5,))
    hosts = replace(seen.hosts, aggregates=np.array([[True, True], [False, True]]))
    queues = replace(seen.queues, aggregate=np.array([1], dtype=np.intp))
    found = flexible(replace(seen, hosts=hosts, queues=queues))
    assert found.placement.host.tolist() == [1]
    assert reason(found, 1) == 'share: would be 1 of 0.5; a long job'


def test_without_jobs_or_hosts_nothing_starts() -> None:
    assert not len(flexible(snapshot([])).starts)
    found = flexible(snapshot([Job(limit=HOUR)], hosts=()))
    assert found.code[0] != ReasonCode.NONE
