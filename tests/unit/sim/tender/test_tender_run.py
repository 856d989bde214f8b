# SPDX-License-Identifier: Apache-2.0
"""The simulated tender: workload, hosts, and a few users whose bargains can be followed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.tender.negotiation import NoDeal, Strategy
from nova_market.core.tender.price import PriceSettings
from nova_market.sim.tender.cloud import CloudSetting
from nova_market.sim.tender.cluster import CATALOGUE, CLUSTERS, Cluster, Hosts
from nova_market.sim.tender.tender_run import MarketSetting, TenderRun
from nova_market.sim.tender.workload import SLACKNESS, UserTasks, arrivals, random_tasks, users_of

ONE_PE = Cluster(hosts=1, cpus=1, mips=6000.0, memory_mib=2048.0, disks=1, disk_gib=200.0)
STILL = PriceSettings(floor=1.0, ceiling=1.0)
"""A price of 1 for each MI."""


def tasks(*rows: tuple[float, float, float]) -> UserTasks:
    """Of (arrival, MI, seconds until the deadline)."""
    arrival, work, slack = np.array(rows).T
    count = len(rows)
    return UserTasks(
        arrival=arrival,
        work=work,
        memory_mib=np.full(count, 10.0),
        disk_gib=np.full(count, 10.0),
        deadline=arrival + slack,
        importance=np.ones(count),
        high=np.zeros(count, dtype=np.bool_),
    )


def market(*users: UserTasks, clusters=(ONE_PE,), **changed) -> TenderRun:
    clouds = [
        CloudSetting(cluster=one, flavors=CATALOGUE, first_prices=(1.0, 0.0, 0.0), prices=STILL)
        for one in clusters
    ]
    given = {'clouds': clouds, 'strategy': Strategy(), 'budget': 1_000_000, **changed}
    return TenderRun(setting=MarketSetting(**given), tasks=users)


def test_a_task_is_run_and_paid():
    """4 hops up, 4 down, 1 to accept, 1 s to start the worker, 10 s to run: 60,000 MI at 6000 MIPS."""
    run = market(tasks((5.0, 60_000.0, 100.0)), message=0.5)
    outcome = run.run()
    assert outcome.done.all() and outcome.ended[0] == pytest.approx(5 + 9 * 0.5 + 1 + 10)
    assert outcome.paid == (60_000,)
    assert outcome.requests == 1 and outcome.gone == 0


def test_what_is_paid_comes_back_in_equal_parts():
    """Of the first task at 1000 s, of the second at 2000 s: half for each user."""
    run = market(tasks((5.0, 60_000.0, 100.0)), tasks((990.0, 70_000.0, 100.0)))
    run.run()
    # memory and disk have a price by then
    assert [user.paid for user in run.users] == [60_000, 70_020]
    half = (60_000 + 70_020) // 2
    assert [user.balance for user in run.users] == [940_000 + half, 929_980 + half]
    assert run.clouds[0].income == 0


def test_nothing_is_lost_in_a_crowd():
    """Hundreds of tasks, with refusals and retrials: money, tasks and hosts add up; and again the same."""
    users = users_of([40] * 6, [[(0.0, 20.0)]] * 6, 3)
    setting = CloudSetting(cluster=CLUSTERS['small'], flavors=CATALOGUE)
    given = MarketSetting(clouds=[setting, setting], strategy=Strategy(), message=0.4)
    run = TenderRun(setting=given, tasks=users)
    outcome = run.run()
    assert (outcome.done ^ outcome.failed).all() and outcome.gone > 0
    held = sum(user.balance for user in run.users) + sum(cloud.income for cloud in run.clouds)
    assert held == 6 * given.budget and not any(user.committed for user in run.users)
    assert all(not cloud.tasks.count for cloud in run.clouds)
    assert outcome.ended[outcome.done].tolist() == [
        end for user in run.users for end in user.ended[user.state == 4].tolist()
    ]
    late = np.concatenate([one.deadline for one in users]) < outcome.ended
    assert not (late & outcome.done).any()
    again = TenderRun(setting=given, tasks=users).run()
    assert again.ended.tolist() == outcome.ended.tolist() and again.samples == outcome.samples


def test_who_comes_second_takes_another_offer():
    """Both ask before either accepts; the PE is promised to the first, and the other waits in its queue."""
    both = [tasks((5.0, 60_000.0, 100.0)), tasks((5.0, 60_000.0, 100.0))]
    run = market(*both, strategy=Strategy(retry=False))
    outcome = run.run()
    assert outcome.gone == 1 and outcome.done.all()
    assert np.diff(outcome.ended) == pytest.approx(10.0)
    alone = market(*both, strategy=Strategy(retry=False, alternatives=False)).run()
    assert alone.done.tolist() == [True, False] and alone.refused == {NoDeal.GONE: 1}


def test_nobody_spends_what_is_committed():
    """500 is enough for one of two tasks at a time; the other waits for the result, and is paid then."""
    one = tasks((5.0, 400.0, 9000.0), (6.0, 400.0, 9000.0), (7.0, 1000.0, 3000.0))
    run = market(one, budget=500, clusters=(ONE_PE, ONE_PE))
    outcome = run.run()
    assert outcome.refused == {NoDeal.BUDGET: 2}
    assert outcome.done.tolist() == [True, True, False]
    assert outcome.failed_why == {NoDeal.OVERDUE: 1}


def test_an_idle_worker_goes_after_its_time():
    """600 s, looked at every 50 s [3.3.1]; the next task needs a new one."""
    run = market(tasks((5.0, 60_000.0, 100.0), (580.0, 60_000.0, 100.0), (1300.0, 6.0, 100.0)))
    outcome = run.run()
    assert run.clouds[0].started == 2
    allocated = {one.time: one.allocated for one in outcome.samples}
    assert allocated[1150.0] == 1 and allocated[1250.0] == 0 and allocated[1350.0] == 1


@pytest.mark.parametrize(
    ('cluster', 'workers', 'pes'),
    [
        ('small', {0: 16}, 16),
        ('standard', {2: 5}, 40),
        ('standard', {1: 20}, 80),
        ('powerful', {2: 30}, 240),
    ],
)
def test_how_many_workers_a_cluster_has_room_for(cluster, workers, pes):
    """Of one flavor; a Small host has two CPUs, so that only Normal fits. Then the CPUs are used up."""
    hosts = Hosts(CLUSTERS[cluster], CATALOGUE)
    first = hosts.usable_mips()
    seats = []
    for flavor, count in workers.items():
        while flavor in (found := hosts.openings().flavor.tolist()):
            seats.append(hosts.start(flavor, int(hosts.openings().host[found.index(flavor)])))
        assert len(seats) == count
    assert sum(CATALOGUE.pes[one.flavor] for one in seats) == pes
    assert sorted(one.host for one in seats) == [one.host for one in seats]
    for seat in seats:
        hosts.stop(seat)
    assert hosts.usable_mips() == first


def test_a_fragment_of_a_cpu_is_not_capacity():
    """Extra-large PEs leave half a GHz of a CPU of 2 GHz: no PE fits in there."""
    hosts = Hosts(CLUSTERS['standard'], CATALOGUE)
    assert hosts.usable_mips() == 5 * 8 * 12_000
    hosts.start(2, 0)
    assert hosts.usable_mips() == 4 * 8 * 12_000


def test_the_tasks_are_those_of_the_paper():
    """Sizes, slackness, and a fifth of high importance: N(100, 50) and N(10, 5)."""
    one = random_tasks(40_000, [(0.0, 30.0)], np.random.default_rng(1))
    assert one.work.mean() == pytest.approx(1e6, rel=0.02)
    assert np.diff(one.arrival).mean() == pytest.approx(30.0, rel=0.02)
    slack = (one.deadline - one.arrival) / one.work
    assert np.isin(np.round(slack, 6), SLACKNESS).all()
    assert one.high.mean() == pytest.approx(0.2, abs=0.01)
    for flags, mean, deviation in ((one.high, 100, 50), (~one.high, 10, 5)):
        assert one.importance[flags].mean() == pytest.approx(mean, rel=0.02)
        assert one.importance[flags].std() == pytest.approx(deviation, rel=0.03)
    assert set(one.memory_mib) == {10, 20, 30, 40, 50}
    assert set(one.disk_gib) == {10, 20, 30, 50, 60, 100}


def test_a_rate_that_changes():
    """Ten times as many in between; the same tasks come first at any rate."""
    gaps = [(0.0, 10.0), (1000.0, 1.0), (2000.0, 10.0)]
    times = arrivals(1500, gaps, np.random.default_rng(1))
    counts, _ = np.histogram(times, [0, 1000, 2000, 3000])
    assert counts == pytest.approx([100, 1000, 100], rel=0.3)
    plain = arrivals(1500, [(0.0, 10.0)], np.random.default_rng(1))
    early = plain < 1000
    assert times[early].tolist() == pytest.approx(plain[early].tolist())


def test_the_catalogue_fits_no_more_than_it_should():
    """A flavor with more PEs than a host has CPUs never starts there."""
    wide = replace(CLUSTERS['small'], mips=1e6)
    assert Hosts(wide, CATALOGUE).openings().flavor.tolist() == [0]
