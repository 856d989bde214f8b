# SPDX-License-Identifier: Apache-2.0
"""A workload on hosts: what fits, what it costs to start, suspend and migrate, and who pays."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.policy_interface import PolicyState
from nova_market.core.ledger.money import MICRO
from nova_market.core.rebalancing.tabu_search import BalanceSettings
from nova_market.sim.cloud.accounts import MoneySetting
from nova_market.sim.cloud.costs import Costs
from nova_market.sim.cloud.hosts import HostKind
from nova_market.sim.cloud.migrations import MoveSetting
from nova_market.sim.cloud.scheduler import PlacingSetting, Weights
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.undivided import undivided_run
from tests.support.simulated_cloud import FREE, cloud_run, due, mixed, workload

ONE = [HostKind(count=1, cores=4, memory_mib=8192)]
PACKED = PlacingSetting(
    weights=Weights(cpu=0.0, ram=0.0, bid_load=0.0, allocation_error=0.0, packing=1.0)
)


def test_alone_a_job_is_as_fast_as_on_an_undivided_cloud():
    """One host as large as all, costs of nothing: the same ends."""
    jobs, wanted = mixed(count=12, widest=4)
    here = cloud_run(jobs, wanted, [HostKind(count=1, cores=8, memory_mib=1e6)], ratios=(99.0, 1.0))
    setting = MarketSetting(memory=True, reserve=(0.01, 0.0))
    there = undivided_run(jobs, wanted, (8.0, 1e6), full_deadline, setting).run()
    found = here[0].run()
    # bids are whole micro-credits of each server here, and of the whole job there
    assert np.allclose(found.schedule.end, there.schedule.end, rtol=5e-3, equal_nan=True)
    assert np.allclose(found.schedule.start, there.schedule.start, equal_nan=True)


def test_a_job_that_finds_no_room_waits():
    """RAM for one of two jobs of the same time: the second starts when the first has gone."""
    jobs = workload((0, 600, 2), (0, 600, 2), memory=4096.0)
    run, _ = cloud_run(jobs, due([9000, 9000], [100, 100]), ONE)
    found = run.run()
    start, end = found.schedule.start, found.schedule.end
    assert start[0] == 0.0 and start[1] >= end[0] and sum(run.site.log.homeless) > 0
    assert found.schedule.finished().all()


def test_ram_can_be_promised_twice():
    """With an allocation ratio of 2 both run at once, and with half of their memory at half the speed."""
    jobs = workload((0, 600, 2), (0, 600, 2), memory=4096.0)
    run, _ = cloud_run(jobs, due([9000, 9000], [100, 100]), ONE, ratios=(4.0, 2.0))
    start = run.run().schedule.start
    assert start.tolist() == [0.0, 0.0]
    kind = replace(FREE, working_set=0.5)
    fast, _ = cloud_run(jobs, due([9000, 9000], [100, 100]), ONE, ratios=(4.0, 2.0), costs=kind)
    assert fast.run().schedule.end.max() < run.apps.end.max()


def test_nothing_is_left_on_the_hosts():
    """After the run: no server, no vCPU, no MiB, no budget; every credit where it began."""
    jobs, wanted = mixed(count=25)
    moves = MoveSetting(every=2, rest=60.0)
    run, market = cloud_run(jobs, wanted, moves=moves, costs=Costs(), placing=PACKED)
    run.run()
    run.site.servers.free(np.inf)
    assert run.site.parts.hosts.servers.sum() == 0 and not run.site.parts.hosts.used.any()
    assert not [name for name in market.balances() if name.startswith('budget:')]
    assert sum(market.balances().values()) == 0


def test_no_host_gives_more_than_it_has():
    """In every round: allocations on a host add up to its cores, servers to its room."""
    jobs, wanted = mixed(count=25)
    run, market = cloud_run(jobs, wanted, moves=MoveSetting(every=2), costs=Costs())
    decide, looked = market.round, []

    def checking(period, offers):
        ruling = decide(period, offers)
        for r, room in enumerate(run.site.parts.hosts.room):
            given = np.bincount(offers.host, ruling.outcome.actual[r], len(room))
            assert (given <= run.site.parts.hosts.capacity[r] * (1 + 1e-9)).all()
            assert (np.bincount(offers.host, offers.size[r], len(room)) <= room * (1 + 1e-9)).all()
        looked.append(period)
        return ruling

    market.round = checking
    run.run()
    assert len(looked) > 20


def test_booting_and_resuming_take_their_time():
    """A minute and a half of boot; a suspended job comes back a minute and reads its RAM."""
    slow, _ = cloud_run(
        workload((0, 60, 1)), due([400], [100]), ONE, costs=replace(FREE, boot=90.0)
    )
    assert slow.run().schedule.end[0] >= 150.0
    quick, _ = cloud_run(workload((0, 60, 1)), due([400], [100]), ONE)
    assert quick.run().schedule.end[0] + 30.0 <= slow.apps.end[0]


def test_a_suspended_server_holds_its_ram_until_it_is_written():
    """And comes back only then: writing 4 GiB at 10 MiB/s takes seven minutes."""
    slow = replace(FREE, suspend_rate=10.0)
    run, _ = cloud_run(workload((0, 60, 1), memory=4096.0), due([400], [100]), ONE, costs=slow)
    next(run.rounds())
    suspended = np.array([int(PolicyState.SUSPENDED)])
    run.site.admit(run.apps, np.array([0]), suspended, 60.0)
    run.site.servers.free(400.0)
    assert run.site.servers.host[0] == 0 and not run.site.house(run.apps, 0)
    run.site.servers.free(480.0)
    assert run.site.servers.host[0] == -1 and run.site.parts.hosts.servers.sum() == 0


def test_migrations_even_out_a_packed_cloud():
    """Servers that were put together spread; what it costs is in the schedule, not in the ledger."""
    jobs = workload((0, 1500, 4), (0, 1500, 4), (0, 1500, 4))
    wanted = due([4000] * 3, [300] * 3)
    how = {'kinds': [HostKind(count=3, cores=4, memory_mib=65536)], 'placing': PACKED}
    still, _ = cloud_run(jobs, wanted, **how)
    moves = MoveSetting(every=1, balance=BalanceSettings(tolerated_error=0.01))
    moving, _ = cloud_run(
        jobs, wanted, moves=moves, costs=replace(FREE, migration_rate=500.0), **how
    )
    late, soon = still.run().schedule.in_time(wanted), moving.run().schedule.in_time(wanted)
    assert sum(moving.site.log.migrations) > 0 and sum(still.site.log.migrations) == 0
    assert soon.all() and not late.all()
    assert min(moving.site.log.error) < 0.01 < max(still.site.log.error)


def test_a_migration_slows_its_job_down():
    """The same moves, ten times the downtime: later."""
    jobs = workload((0, 1500, 4), (0, 1500, 4), (0, 1500, 4))
    wanted = due([4000] * 3, [300] * 3)
    ends = []
    for downtime in (0.0, 50.0):
        run, _ = cloud_run(
            jobs, wanted, [HostKind(count=3, cores=4, memory_mib=65536)], placing=PACKED,
            moves=MoveSetting(every=1), costs=replace(FREE, migration_downtime=downtime),
        )  # fmt: skip
        ends.append(run.run().schedule.end.max())
    assert ends[1] > ends[0]


def test_who_has_no_credits_does_not_run():
    """Two projects; the jobs of the one whose credits are spent wait until charges return."""
    jobs, wanted = mixed(count=20)
    poor = MoneySetting(total=300 * MICRO, return_delay=500, renew_every=500)
    rich, _ = cloud_run(jobs, wanted)
    run, market = cloud_run(jobs, wanted, money=poor)
    short, plenty = run.run(), rich.run()
    assert 0 < short.paid.sum() <= 300
    assert short.schedule.in_time(wanted).sum() < plenty.schedule.in_time(wanted).sum()
    assert sum(market.balances().values()) == 0


@pytest.mark.parametrize('seed', [1, 2])
def test_the_same_scenario_gives_the_same_run(seed):
    """To the last bit, migrations included."""
    jobs, wanted = mixed(count=15, seed=seed)
    first, second = (
        cloud_run(jobs, wanted, moves=MoveSetting(every=2), costs=Costs())[0].run()
        for _ in range(2)
    )
    assert np.array_equal(first.schedule.end, second.schedule.end, equal_nan=True)
    assert np.array_equal(first.paid, second.paid)
