# SPDX-License-Identifier: Apache-2.0
"""Which best-effort jobs make room, and what they lose (rule J4)."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.calendar.axes import amounts
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policy_interface import JobPlan, JobSettings, PreemptOrder
from nova_market.core.job.preemption import Victims
from nova_market.core.job.reason import ReasonCode, sentence
from nova_market.core.job.room import Room
from nova_market.core.job.selection import decide
from tests.support.job_builders import Job, Run, snapshot

NOW = 1000.0


def plan(jobs: list[Job], runs: list[Run], **more: object) -> JobPlan:
    return decide(snapshot(jobs, runs, now=NOW, **more), [flexible])


def best_effort(*hosts: int, cores: float = 4.0, started: float = 0.0, **more: object) -> Run:
    return Run(hosts=hosts, cores=cores, started=started, best_effort=True, **more)


def victims(found: JobPlan) -> list[int]:
    return found.preemptions.victim.tolist()


def test_the_newest_goes_first_and_only_as_many_as_needed() -> None:
    """Four cores are needed; of two jobs of four cores the one that was started last goes."""
    found = plan([Job(cores=4)], [best_effort(0, started=900.0), best_effort(0, started=100.0)])
    assert victims(found) == [0]
    assert found.preemptions.displacer.tolist() == [0]
    assert not len(found.starts)
    text = sentence(found.code[0], found.numbers[0])
    assert text == 'room: 1 best-effort job is being preempted for it'


def test_a_newer_job_that_does_not_help_is_spared() -> None:
    """The newest is on a host that stays too small; the two older ones on the other host go."""
    runs = [
        best_effort(0, started=100.0),
        best_effort(0, started=200.0),
        best_effort(1, cores=2.0, started=900.0),
    ]
    found = plan([Job(cores=8)], runs, hosts=(8, 2))
    assert victims(found) == [1, 0]


def test_who_helps_on_one_host_only_is_spared_where_another_host_does_without() -> None:
    """Both hosts have room when the older job has gone from both; the newer one on the first stays."""
    runs = [best_effort(0, cores=2.0, started=900.0), best_effort(0, 1, started=100.0)]
    found = plan([Job(cores=6)], runs, hosts=(6, 6))
    assert victims(found) == [1]


@pytest.mark.parametrize(
    ('order', 'victim'),
    [(PreemptOrder.NEWEST, 2), (PreemptOrder.OLDEST, 0), (PreemptOrder.LEAST_LOST, 1)],
)
def test_the_order_is_a_setting(order: PreemptOrder, victim: int) -> None:
    """The one in the middle has just written a checkpoint."""
    runs = [
        best_effort(0, started=100.0),
        best_effort(0, started=200.0, saved=990.0),
        best_effort(0, started=300.0),
    ]
    found = plan([Job(cores=4)], runs, hosts=(12,), settings=JobSettings(preempt_order=order))
    assert victims(found) == [victim]


def test_where_it_does_not_help_nothing_is_preempted() -> None:
    """A production job holds the other half of the host."""
    found = plan([Job(cores=8)], [Run(hosts=(0,), cores=4), best_effort(0)])
    assert victims(found) == []
    assert found.code[0] == ReasonCode.ROOM


def test_a_job_that_its_share_holds_back_displaces_nobody() -> None:
    found = plan([Job(cores=8)], [best_effort(0, cores=8)], shares=(0.5,))
    assert victims(found) == []
    assert found.code[0] == ReasonCode.SHARE


def test_two_jobs_of_a_queue_displace_no_more_than_its_share_allows() -> None:
    """Each of them alone would be within the share of one half; together they are not."""
    found = plan([Job(cores=4), Job(cores=4)], [best_effort(0), best_effort(0)], shares=(0.5,))
    assert len(victims(found)) == 1


def test_only_hosts_of_the_aggregate_are_made_free() -> None:
    """The newest job is on a host outside the aggregate of the queue: the older one goes, or none."""
    runs = [best_effort(0, cores=8, started=100.0), best_effort(1, cores=8, started=900.0)]
    seen = snapshot([Job(cores=8)], runs, now=NOW, hosts=(8, 8))
    for member, expected in (([True, False], [0]), ([False, True], [1]), ([False, False], [])):
        aggregates = np.array([[True, True], member])
        queues = replace(seen.queues, aggregate=np.ones_like(seen.queues.aggregate))
        inside = replace(seen, hosts=replace(seen.hosts, aggregates=aggregates), queues=queues)
        assert victims(decide(inside, [flexible])) == expected


@pytest.mark.parametrize('more', [{'best_effort': True}, {'by_offer': True}])
def test_who_displaces_nobody(more: dict) -> None:
    """Best-effort jobs, and accepted offers: their start was promised without that."""
    found = plan([Job(cores=4, **more)], [best_effort(0, cores=8)])
    assert victims(found) == [] and found.code[0] == ReasonCode.ROOM
    later = plan([Job(cores=4, **more), Job(cores=4)], [best_effort(0, cores=8)])
    assert later.preemptions.displacer.tolist() == [1]


@pytest.mark.parametrize(('least', 'preempted'), [(1000.0, 1), (1001.0, 0)])
def test_it_runs_for_its_least_time_first(least: float, preempted: int) -> None:
    """Started at 0, now is 1000."""
    found = plan([Job(cores=8)], [best_effort(0, cores=8, least_run_time=least)])
    assert len(victims(found)) == preempted


def test_a_gang_goes_from_all_its_hosts_and_a_gang_may_need_several() -> None:
    """Two servers of eight cores start together: each host must be empty."""
    found = plan(
        [Job(cores=8, servers=2)],
        [best_effort(0, 1, started=5.0), best_effort(0), best_effort(1)],
        hosts=(8, 8),
    )
    assert sorted(victims(found)) == [0, 1, 2]


@pytest.mark.parametrize(
    ('more', 'lost'),
    [({}, 8 * 900.0), ({'saved': 600.0}, 8 * 400.0), ({'keeps_work': True}, 0.0)],
)
def test_what_is_lost_since_the_start_or_the_last_checkpoint(more: dict, lost: float) -> None:
    """Two servers of four cores, started at 100."""
    found = plan([Job(cores=8)], [best_effort(0, 0, started=100.0, **more)])
    assert found.preemptions.lost.tolist() == [lost]


def test_nothing_is_preempted_for_a_job_whose_room_comes_free_anyhow() -> None:
    """One that leaves already makes enough room; the other one stays."""
    runs = [best_effort(0, leaving=True), best_effort(0, started=900.0)]
    found = plan([Job(cores=4), Job(cores=4, best_effort=True)], runs)
    assert victims(found) == []
    assert found.code.tolist() == [ReasonCode.ROOM, ReasonCode.ROOM]


def test_room_that_was_made_is_kept_for_the_job_with_the_claim() -> None:
    """The victim leaves still: neither an older production job nor a best-effort job gets the free half."""
    jobs = [Job(cores=8, submitted=5.0, claim=True), Job(cores=4), Job(cores=4, best_effort=True)]
    found = plan(jobs, [best_effort(0, leaving=True)])
    assert not len(found.starts)
    assert found.code[0] == ReasonCode.ROOM_IS_MADE
    assert found.numbers[0, 0] == 1


def test_a_job_with_a_claim_starts_before_all_others() -> None:
    jobs = [Job(cores=8, submitted=5.0, claim=True), Job(cores=4)]
    assert plan(jobs, []).starts.tolist() == [0]


def test_best_effort_jobs_fill_what_is_left_in_the_order_of_submission() -> None:
    """First come, first served, over all queues, backfilled, whatever shares and priorities are."""
    jobs = [
        Job(best_effort=True, queue=0, cores=2, submitted=3.0, priority=1),
        Job(best_effort=True, queue=1, cores=5, submitted=2.0),
        Job(best_effort=True, queue=0, cores=3, submitted=1.0),
        Job(cores=4, submitted=9.0),
    ]
    found = plan(jobs, [], hosts=(9,), shares=(1.0, 0.0))
    assert found.starts.tolist() == [3, 2, 0]
    assert found.code[1] == ReasonCode.ROOM


def test_queues_of_several_policies_are_served_in_the_order_of_their_queues() -> None:
    """Each policy gets the jobs of its queues only; the one of the first queue is first."""
    seen = snapshot(
        [Job(queue=0, cores=8), Job(queue=1, cores=8)], shares=(1.0, 1.0), policy=(0, 1)
    )
    asked = []

    def second(one):
        asked.append(one.candidates.tolist())
        return flexible(one)

    assert decide(seen, [flexible, second]).starts.tolist() == [0]
    assert asked == [[False, True]]


def test_jobs_that_the_caller_leaves_out_are_left_out() -> None:
    seen = snapshot([Job(), Job()])
    only = replace(seen, candidates=np.array([False, True]))
    assert decide(only, [flexible]).starts.tolist() == [1]


def test_a_job_that_leaves_is_not_preempted_again() -> None:
    """Its room counts already; the other one must go as well."""
    runs = [best_effort(0, started=900.0, leaving=True), best_effort(0, started=100.0)]
    assert victims(plan([Job(cores=8)], runs)) == [1]


def test_room_that_comes_free_anyhow_is_kept_from_best_effort_jobs() -> None:
    """Half of the host is free and half is left soon: a production job needs all of it."""
    jobs = [Job(cores=8), Job(cores=4, best_effort=True)]
    found = plan(jobs, [best_effort(0, leaving=True)])
    assert not len(found.starts)
    # and where nobody needs it, it is not kept
    assert plan(jobs[1:], [best_effort(0, leaving=True)]).starts.tolist() == [0]


def test_two_gangs_displace_for_the_first_only_when_there_is_no_room_for_both() -> None:
    """The second one finds what the first one took, and nobody goes for it in vain."""
    jobs = [Job(cores=8, servers=2, submitted=1.0), Job(cores=8, servers=2, submitted=2.0)]
    runs = [best_effort(0, cores=8), best_effort(1, cores=8), best_effort(2, cores=8)]
    found = plan(jobs, runs, hosts=(8, 8, 8))
    assert victims(found) == [2, 1]
    assert found.preemptions.displacer.tolist() == [0, 0]


def test_nobody_goes_when_all_of_them_would_not_be_enough() -> None:
    """Asked directly, for one server and for a gang; the room stays as it was."""
    seen = snapshot([], [best_effort(0, cores=4)], hosts=(8,))
    room = Room(seen.hosts.free, seen.hosts.aggregates, seen.settings.host_choice)
    asked = Victims(seen.running, np.array([0], dtype=np.intp))
    assert asked.needed(room, amounts(cores=9), 1, 0) is None
    assert asked.needed(room, amounts(cores=3), 3, 0) is None
    assert asked.needed(room, amounts(cores=4), 2, 0) == [0]
    assert asked.needed(room, amounts(cores=4), 1, 0) == []
    assert room.free[0].tolist() == [4.0]


def test_dependencies_and_times_hold_jobs_back() -> None:
    """Each has its reason, and the third one starts."""
    found = plan([Job(predecessors=2), Job(not_before=NOW + 90), Job(not_before=NOW)], [])
    assert found.starts.tolist() == [2]
    texts = [sentence(found.code[job], found.numbers[job]) for job in (0, 1)]
    assert texts == [
        'dependency: 2 jobs that it comes after have not ended',
        'time: it may start in 90 seconds',
    ]


def test_a_small_one_is_spared_when_a_larger_one_must_go_anyway() -> None:
    """The newest gives two cores of four; the next one gives four, so that the newest stays."""
    runs = [best_effort(0, cores=2, started=900.0), best_effort(0, cores=4, started=100.0)]
    assert victims(plan([Job(cores=4)], runs, hosts=(6,))) == [1]


def test_the_newest_goes_on_whatever_host_it_is() -> None:
    """Both hosts would do; the newer job is on the second one."""
    runs = [best_effort(0, cores=8, started=100.0), best_effort(1, cores=8, started=900.0)]
    assert victims(plan([Job(cores=8)], runs, hosts=(8, 8))) == [1]


def test_what_a_large_victim_leaves_is_taken_once() -> None:
    """A victim of four cores makes room for four jobs; the fifth displaces the other one in the same pass."""
    runs = [best_effort(0, started=900.0), best_effort(0, started=100.0)]
    found = plan([Job(submitted=float(n)) for n in range(6)], runs)
    assert victims(found) == [0, 1]
    assert found.preemptions.displacer.tolist() == [0, 4]


def test_nobody_is_preempted_twice_and_what_is_not_needed_goes_to_best_effort_jobs() -> None:
    """Two jobs displace one each; a victim of six cores leaves two, which are not free yet."""
    runs = [best_effort(0, cores=4, started=900.0), best_effort(0, cores=6, started=100.0)]
    jobs = [Job(cores=4), Job(cores=4, submitted=1.0), Job(cores=2, best_effort=True)]
    found = plan(jobs, runs, hosts=(12,))
    assert victims(found) == [0, 1]
    assert found.preemptions.displacer.tolist() == [0, 1]
    assert found.starts.tolist() == [2]
