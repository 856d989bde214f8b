# SPDX-License-Identifier: Apache-2.0
"""O2, T2, T3: what a simulated cloud promises over time, with tasks that hardly fit beside each other."""

import heapq
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.tender.acceptance import terms_of
from nova_market.core.tender.task import Task
from nova_market.core.tender.utility import cheapest, cost_time, fastest
from nova_market.sim.tender.cloud import Accepted, Cloud, CloudSetting
from nova_market.sim.tender.cluster import Cluster
from tests.support.tender_builders import Flavor, flavor_columns

FLAVORS = (
    Flavor(pes=1, speed=1.0, memory=10.0, disk=10.0),
    Flavor(pes=3, speed=2.0, memory=12.0, disk=14.0, start_cost=3),
)
CLUSTER = Cluster(hosts=2, cpus=4, mips=2.0, memory_mib=30.0, disks=2, disk_gib=20.0)

TASKS = st.builds(
    Task,
    work=st.integers(1, 40).map(float),
    memory_mib=st.integers(0, 12).map(float),
    disk_gib=st.integers(0, 14).map(float),
)
ASKED = st.lists(
    st.tuples(TASKS, st.floats(0.0, 30.0), st.sampled_from([0.0, 0.5, 40.0]), st.integers(0, 9)),
    max_size=25,
)


@dataclass
class Played:
    """Asks, waits, accepts; tasks end when they were promised to. spans: where each one ran, and when."""

    cloud: Cloud
    ends: list = field(default_factory=list)
    spans: list = field(default_factory=list)
    now: float = 0.0

    def until(self, time: float) -> None:
        while self.ends and self.ends[0][0] <= time:
            end, key, cost = heapq.heappop(self.ends)
            self.cloud.finish(key, cost, end)
            self.cloud.stop_idle(end)
        self.now = time

    def ask(self, key: int, task: Task, pause: float, pick: int, utility) -> None:
        offers = self.cloud.offers(task, self.now)
        if not len(offers):
            return
        terms = terms_of(offers, pick % len(offers))
        self.until(self.now + pause)
        answer = self.cloud.accept(key, task, terms, utility, self.now)
        if isinstance(answer, Accepted):
            assert answer.cost <= terms.cost and answer.end <= self.now + terms.seconds + 1e-9
            heapq.heappush(self.ends, (answer.end, key, answer.cost))


@settings(max_examples=60)
@given(asked=ASKED, utility=st.sampled_from((cost_time, fastest, cheapest)))
def test_what_is_promised_fits(asked, utility):
    """No worker's memory or disk, no PE and no host is ever used twice; a refused task leaves no trace."""
    setting = CloudSetting(
        cluster=CLUSTER,
        flavors=flavor_columns(FLAVORS),
        first_prices=(1.0, 0.0, 0.0),
        idle_off=20.0,
    )
    played = Played(Cloud(setting))
    for key, (task, gap, pause, pick) in enumerate(asked):
        played.until(played.now + gap)
        played.ask(key, task, pause, pick, utility)
        _check(played.cloud)
        if pick == 0:
            played.cloud.adapt_prices()
    played.until(1e6)
    played.cloud.stop_idle(1e6)
    assert not played.cloud.tasks.count and not played.cloud.seats
    whole = played.cloud.hosts
    assert (whole.cpu == CLUSTER.mips).all() and not whole.servers.any()
    assert (whole.memory == CLUSTER.memory_mib).all() and (whole.disk == CLUSTER.disk_gib).all()


def _check(cloud: Cloud) -> None:
    assert (cloud.hosts.cpu >= 0).all() and (cloud.hosts.memory >= 0).all()
    assert (cloud.hosts.disk >= 0).all()
    tasks = cloud.tasks.queued()
    # some columns are read from the places, which are made for the last request
    worker = cloud.places(0.0).pool.pe_worker[tasks.pe] if len(tasks) else np.zeros(0)
    flavor = [cloud.seats[int(one)].flavor for one in worker]
    for row, at in enumerate(tasks.start.tolist()):
        there = (tasks.start <= at) & (tasks.end > at)
        mine = there & (worker == worker[row])
        assert tasks.memory_mib[mine].sum() <= FLAVORS[flavor[row]].memory
        assert tasks.disk_gib[mine].sum() <= FLAVORS[flavor[row]].disk
        assert (there & (tasks.pe == tasks.pe[row])).sum() == 1
