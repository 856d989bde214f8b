# SPDX-License-Identifier: Apache-2.0
"""The policies `easy` and `conservative`, and expected starts: the cases by hand (J3, J6)."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.job.expected_start import expected_starts
from nova_market.core.job.policies.conservative import conservative
from nova_market.core.job.policies.easy import easy
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policy_interface import (
    HostChoice,
    JobPolicy,
    JobSettings,
    PolicyState,
    Selection,
)
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.selection import decide
from nova_market.core.job.started import after
from tests.support.calendar_builders import cloud, on
from tests.support.job_builders import HOUR, Job, Run, snapshot

NAN = float('nan')
BOTH = pytest.mark.parametrize('policy', [easy, conservative])


def expected(found: Selection) -> list[float | None]:
    assert found.expected_start is not None
    return [None if np.isnan(time) else float(time) for time in found.expected_start]


@BOTH
def test_a_job_that_would_delay_the_head_waits(policy: JobPolicy) -> None:
    """8 cores; 4 run until 3600. The head wants 8 then: of two jobs of 2 cores the shorter one may start."""
    seen = snapshot(
        [
            Job(cores=8),
            Job(queue=1, cores=2, limit=HOUR + 1),
            Job(queue=1, cores=2, limit=HOUR),
        ],
        [Run(hosts=[0], cores=4, queue=1)],
        shares=(1.0, 1.0),
    )
    found = policy(seen)
    assert found.starts.tolist() == [2]
    assert found.code.tolist() == [ReasonCode.ROOM, ReasonCode.RESERVED, ReasonCode.NONE]
    assert found.numbers[1, :2].tolist() == [HOUR, 0.0]
    assert expected(found)[0] == HOUR


@BOTH
def test_a_job_beside_the_head_starts_however_long_it_is(policy: JobPolicy) -> None:
    """The head leaves 2 of 8 cores."""
    seen = snapshot(
        [Job(cores=6), Job(cores=2, limit=np.inf), Job(cores=2, limit=np.inf)],
        [Run(hosts=[0], cores=4, queue=1)],
        shares=(1.0, 1.0),
    )
    assert policy(seen).starts.tolist() == [1]


def test_conservative_reserves_for_the_second_job_too() -> None:
    """Half of the host is free until 3600. The third job ends after that: the second would be delayed."""
    jobs = [
        Job(cores=8, limit=100),
        Job(cores=6, limit=HOUR),
        Job(cores=4, limit=HOUR),
        Job(cores=2, limit=np.inf),
    ]
    runs = [Run(hosts=[0], cores=4, queue=1)]
    assert expected(easy(snapshot(jobs, runs, shares=(1.0, 1.0)))) == [HOUR, None, None, None]
    assert expected(conservative(snapshot(jobs, runs, shares=(1.0, 1.0))))[:2] == [HOUR, HOUR + 100]
    beside = [Job(cores=5, limit=HOUR), Job(cores=8, limit=HOUR), Job(cores=3, limit=3 * HOUR)]
    assert easy(snapshot(beside, runs, shares=(1.0, 1.0))).starts.tolist() == [2]
    assert conservative(snapshot(beside, runs, shares=(1.0, 1.0))).starts.tolist() == []


@BOTH
def test_a_gang_gets_a_time_at_which_all_its_servers_start(policy: JobPolicy) -> None:
    """Two of three hosts are free from 1000 and from 2000 on."""
    seen = snapshot(
        [Job(cores=4, servers=2)],
        [Run(hosts=[n], cores=4, limit=limit) for n, limit in enumerate([HOUR, 1000.0, 2000.0])],
        hosts=(4, 4, 4),
    )
    assert expected(policy(seen)) == [2000.0]


def narrow_jobs_for_ever(policy: JobPolicy, passes: int) -> int | None:
    """Number of the pass in which a job of the whole host starts, while narrow ones keep arriving."""
    wide, step = Job(cores=4, limit=HOUR), 500.0
    runs = [Run(hosts=[0], cores=2, limit=500.0)]
    for number in range(passes):
        now = number * step
        runs = [one for one in runs if one.started + one.limit > now]
        jobs = [wide, *[Job(cores=2, limit=1000.0, submitted=now)] * 2]
        plan = decide(snapshot(jobs, runs, hosts=(4,), now=now), [policy])
        if 0 in plan.starts:
            return number
        runs += [Run(hosts=[0], cores=2, started=now, limit=1000.0) for _ in plan.starts]
    return None


def test_algorithm_1_starves_a_wide_job() -> None:
    """Half of the host is taken again before the other half is free."""
    assert narrow_jobs_for_ever(flexible, 60) is None


@BOTH
def test_a_reservation_keeps_a_wide_job_from_starving(policy: JobPolicy) -> None:
    """It starts when what ran at its first pass has ended."""
    assert narrow_jobs_for_ever(policy, 60) == 1


def leased(begin: float, end: float) -> Calendar:
    """One host of 8 cores that somebody has leased."""
    return booked(cloud(8), on(0, begin, end, 8))


@BOTH
def test_a_job_does_not_run_into_a_lease(policy: JobPolicy) -> None:
    """The host is leased from 1000 to 5000: what ends by then starts, the other behind it."""
    seen = snapshot(
        [Job(cores=2, limit=1001), Job(cores=2, limit=1000)], calendar=leased(1000, 5000)
    )
    found = policy(seen)
    assert found.starts.tolist() == [1]
    assert expected(found)[0] == 5000.0
    assert found.code[0] == ReasonCode.RESERVED


@BOTH
def test_placement_decides_about_now(policy: JobPolicy) -> None:
    """The calendar still has a lease that is over by Placement's count, which frees the host now."""
    seen = snapshot([Job(cores=8)], calendar=leased(-100, 50), now=0.0)
    assert policy(seen).starts.tolist() == [0]


@BOTH
def test_a_long_job_larger_than_the_share_gets_no_reservation(policy: JobPolicy) -> None:
    """It never keeps the share; the job behind it is the head."""
    seen = snapshot(
        [Job(cores=6), Job(cores=4), Job(queue=1, cores=8)],
        [Run(hosts=[0], cores=5, queue=1)],
        shares=(0.5, 1.0),
    )
    found = policy(seen)
    assert found.code.tolist()[:2] == [ReasonCode.SHARE, ReasonCode.ROOM]
    assert expected(found)[:2] == [None, HOUR]


@BOTH
def test_a_job_that_waits_for_its_share_has_a_reservation(policy: JobPolicy) -> None:
    """There is room, but the queue may have 4 of 8 cores, and has 2 until 1000: narrower jobs wait too."""
    seen = snapshot(
        [Job(cores=4), Job(cores=1, limit=2000), Job(cores=1, limit=1000)],
        [Run(hosts=[0], cores=2, limit=1000)],
        shares=(0.5,), short_below=0.0,
    )  # fmt: skip
    found = policy(seen)
    assert expected(found)[0] == 1000.0
    assert found.starts.tolist() == [2]
    assert found.code.tolist() == [ReasonCode.SHARE, ReasonCode.RESERVED, ReasonCode.NONE]


def test_room_and_share_are_had_at_the_same_time() -> None:
    """The second job keeps the share before 1000, when there is no room, and again behind the first one."""
    seen = snapshot(
        [Job(cores=4), Job(cores=4, limit=500)],
        [Run(hosts=[0], cores=8, limit=1000, queue=1)],
        shares=(0.5, 1.0), short_below=0.0,
    )  # fmt: skip
    assert expected(conservative(seen)) == [1000.0, 1000.0 + HOUR]


@BOTH
def test_a_short_job_over_the_share_does_not_delay_the_head_of_its_queue(policy: JobPolicy) -> None:
    """It would still have a part of the share when the head starts."""
    for limit, starts in ((1001.0, []), (1000.0, [1])):
        seen = snapshot(
            [Job(cores=4), Job(cores=3, limit=limit)],
            [Run(hosts=[0], cores=2, limit=1000)],
            shares=(0.5,),
        )
        assert policy(seen).starts.tolist() == starts


@BOTH
def test_a_short_job_larger_than_its_share_waits_for_room_only(policy: JobPolicy) -> None:
    seen = snapshot(
        [Job(cores=8, limit=600)], [Run(hosts=[0], cores=4, queue=1)], shares=(0.5, 1.0)
    )
    assert expected(policy(seen)) == [HOUR]


@BOTH
def test_a_short_job_may_exceed_the_share(policy: JobPolicy) -> None:
    seen = snapshot([Job(cores=6, limit=600), Job(cores=6, limit=HOUR)], shares=(0.5,))
    found = policy(seen)
    assert found.starts.tolist() == [0]
    assert found.code[1] == ReasonCode.SHARE


@BOTH
def test_the_queue_of_a_waiting_head_comes_to_the_front(policy: JobPolicy) -> None:
    """Queue 0 starts a job behind its head and stays; queue 1 starts one in its turn and goes last."""
    jobs = [Job(cores=8), Job(cores=1, limit=100), Job(queue=1, cores=1, limit=100)]
    seen = snapshot(jobs, [Run(hosts=[0], cores=4)], shares=(1.0, 1.0))
    seen = replace(seen, state=PolicyState(order=np.array([1, 0])))
    found = policy(seen)
    assert sorted(found.starts.tolist()) == [1, 2]
    assert found.state.order.tolist() == [0, 1]


@BOTH
def test_a_job_that_never_fits_reserves_nothing(policy: JobPolicy) -> None:
    """Larger than any host, and a gang larger than the cloud: the job behind them is the head."""
    seen = snapshot(
        [Job(cores=9), Job(cores=8, servers=2), Job(cores=8)],
        [Run(hosts=[0], cores=4, queue=1)],
        shares=(1.0, 1.0),
    )
    found = policy(seen)
    assert expected(found) == [None, None, HOUR]
    assert found.code.tolist() == [ReasonCode.NEVER, ReasonCode.ROOM, ReasonCode.ROOM]


@BOTH
def test_a_job_past_its_limit_is_expected_to_end_within_a_minute(policy: JobPolicy) -> None:
    seen = snapshot([Job(cores=8)], [Run(hosts=[0], cores=4, limit=100)], now=150.0)
    assert expected(policy(seen)) == [210.0]


@BOTH
def test_room_of_jobs_that_leave_is_not_promised(policy: JobPolicy) -> None:
    """It is held for those for whom they leave."""
    seen = snapshot([Job(cores=8)], [Run(hosts=[0], cores=4, leaving=True, best_effort=True)])
    assert expected(policy(seen)) == [None]


@BOTH
def test_no_more_reservations_than_are_allowed(policy: JobPolicy) -> None:
    """Of two heads the one whose queue is served first has one."""
    seen = snapshot(
        [Job(cores=8), Job(queue=1, cores=8)], [Run(hosts=[0], cores=4)], shares=(1.0, 1.0),
        settings=JobSettings(most_reservations=1),
        state=PolicyState(order=np.array([1, 0])),
    )  # fmt: skip
    assert expected(policy(seen)) == [None, HOUR]


@BOTH
def test_best_fit_fills_the_fullest_host(policy: JobPolicy) -> None:
    best = JobSettings(host_choice=HostChoice.BEST_FIT)
    seen = snapshot([Job(cores=2)], [Run(hosts=[1], cores=5)], hosts=(8, 8), settings=best)
    assert policy(seen).placement.host.tolist() == [1]


@BOTH
def test_best_effort_jobs_go_for_a_head(policy: JobPolicy) -> None:
    """A reservation does not replace preemption (J4)."""
    seen = snapshot([Job(cores=8)], [Run(hosts=[0], cores=4, best_effort=True)])
    assert decide(seen, [policy]).preemptions.victim.tolist() == [0]


def test_expected_starts_under_a_policy_without_reservations() -> None:
    """J6: one after the other, in turn; a job that waits for its share has none."""
    seen = snapshot(
        [Job(cores=8), Job(cores=8, limit=500), Job(queue=1, cores=8), Job(queue=1, cores=4)],
        [Run(hosts=[0], cores=8, queue=2)],
        shares=(1.0, 0.6, 1.0),
    )
    plan = flexible(seen)
    found = expected_starts(seen, plan.starts, plan.placement, plan.code).starts
    np.testing.assert_array_equal(found, [HOUR, 3 * HOUR, NAN, 2 * HOUR])


def test_expected_starts_keep_what_is_reserved() -> None:
    """The head's time stays, and the jobs behind it get one."""
    seen = snapshot(
        [Job(cores=8), Job(cores=8)], [Run(hosts=[0], cores=4, queue=1)], shares=(1.0, 1.0)
    )
    plan = easy(seen)
    found = expected_starts(
        seen, plan.starts, plan.placement, plan.code, plan.expected_start
    ).starts
    assert found.tolist() == [HOUR, 2 * HOUR]


def test_expected_starts_are_behind_what_starts_now() -> None:
    seen = snapshot([Job(cores=8, limit=700), Job(queue=1, cores=8)], shares=(1.0, 1.0))
    plan = easy(seen)
    assert plan.starts.tolist() == [0]
    found = expected_starts(seen, plan.starts, plan.placement, plan.code).starts
    np.testing.assert_array_equal(found, [NAN, 700.0])


def test_expected_starts_are_computed_for_the_first_of_each_queue() -> None:
    few = JobSettings(reservations_per_queue=1)
    seen = snapshot(
        [Job(cores=8)] * 3, [Run(hosts=[0], cores=8, queue=1)], shares=(1.0, 1.0), settings=few
    )
    plan = flexible(seen)
    found = expected_starts(seen, plan.starts, plan.placement, plan.code).starts
    np.testing.assert_array_equal(found, [HOUR, NAN, NAN])


def test_a_head_starts_when_its_time_has_come() -> None:
    """The pass at that time starts it, whoever else waits."""
    jobs, runs = [Job(cores=8), Job(cores=2, limit=HOUR)], [Run(hosts=[0], cores=4)]
    first = easy(snapshot(jobs, runs))
    backfilled = after(snapshot(jobs, runs), first.placement, first.starts)
    assert len(backfilled.running) == 2
    assert easy(snapshot(jobs[:1], now=HOUR)).starts.tolist() == [0]


@BOTH
@pytest.mark.parametrize('behind', [[], [Job(cores=4, limit=2 * HOUR)]])
def test_a_short_head_over_the_share_whose_room_is_taken_has_a_reservation(
    policy: JobPolicy, behind: list[Job]
) -> None:
    """It starts after all others: a job within the share of another queue takes the room meanwhile.

    A long job behind it, which waits for the share, has its own.
    """
    seen = snapshot(
        [Job(cores=6, limit=600), Job(queue=1, cores=6), *behind],
        [Run(hosts=[0], cores=2, limit=2 * HOUR)],
        shares=(0.5, 0.75) if behind else (0.25, 0.75),
    )
    found = policy(seen)
    assert found.starts.tolist() == [1]
    assert found.code[0] == ReasonCode.ROOM
    assert expected(found)[0] == HOUR


@BOTH
@pytest.mark.parametrize('host', [2.0**20, 2.0**31])
def test_shares_of_an_aggregate_of_any_size_are_kept(policy: JobPolicy, host: float) -> None:
    """Eight hosts of 2 PiB each have 16 PiB together: more than one row of a calendar takes."""
    seen = snapshot(
        [
            Job(cores=0, memory=host, servers=2, limit=2 * HOUR),
            Job(cores=0, memory=host, servers=3, limit=2 * HOUR),
            Job(cores=0, memory=host, servers=64, limit=2 * HOUR),
        ],
        [Run(hosts=[0, 1], cores=0, memory=host)],
        hosts=[8.0] * 8,
        memory=host,
        shares=(0.5, 0.5),
    )
    found = policy(seen)
    assert found.starts.tolist() == [0]
    assert expected(found) == [None, 2 * HOUR, None]
