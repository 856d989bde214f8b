# SPDX-License-Identifier: Apache-2.0
"""A cloud in memory, plans in a database, and rounds between: what tests of rebalancing stand on."""

from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.round import decide
from nova_market.core.rebalancing.move_order import MigrationSettings
from nova_market.core.rebalancing.problem import MarketView
from nova_market.core.rebalancing.settings import RebalancingSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings
from nova_market.core.resource import HostName
from nova_market.services.market.rebalancing import Rebalancing
from tests.support.market_builders import snapshot

MIB = 4096
"""RAM of a server; its migration takes four seconds."""

SETTINGS = RebalancingSettings(
    mode='auto',
    every=1,
    balance=BalanceSettings(idle_iterations=10, inflow=3),
    migration=MigrationSettings(copy_rate=1000.0),
)
"""Copies are made as fast as those of the cloud in memory."""


class Inline(Executor):
    """Does at once what it is asked to do."""

    def submit(self, work, /, *arguments, **named):
        done = Future()
        try:
            done.set_result(work(*arguments, **named))
        except Exception as error:
            done.set_exception(error)
        return done


def host(name, cores=4.0, mib=65536.0, **more):
    return CloudHost(name=HostName(name), cores=cores, memory_mib=mib, zone='nova', **more)


def server(name, where, vcpus=4, mib=MIB, **more):
    return CloudServer(
        id=name, project_id='p', host=HostName(where), vcpus=vcpus, memory_mib=mib, **more
    )


def view_of(hosts, servers, period=1, bids=None):
    """A round in which everybody bids the same for CPU unless `bids` says else, and for all RAM."""
    taking_part = [one for one in servers if one.running]
    row = {one.name: number for number, one in enumerate(hosts)}
    made = snapshot(
        [(one.cores, one.memory_mib) for one in hosts],
        [
            (row[one.host], (bids or {}).get(one.id, 10**6), 1000, float(one.vcpus),
             float(one.memory_mib))
            for one in taking_part
        ],
        answering=[one.answering for one in hosts],
    )  # fmt: skip
    others = tuple(one for one in servers if not one.running)
    return MarketView(
        period=period, snapshot=made, outcome=decide(made), hosts=tuple(hosts),
        servers=tuple(taking_part), others=others,
    )  # fmt: skip


class Bed:
    """Two hosts of four cores; the first has three busy servers, the second none."""

    def __init__(self, plans, clock=None, hosts=None, servers=None):
        self.plans = plans
        self.clock = clock or ManualClock()
        self.cloud = MemoryCloud(
            self.clock,
            hosts or [host('h1'), host('h2')],
            servers or [server(name, 'h1') for name in ('a', 'b', 'c')],
        )
        self.period = 0

    def engine(self, **settings):
        return Rebalancing(
            self.plans, self.cloud, self.clock, replace(SETTINGS, **settings), Inline()
        )

    def round(self, engine, bids=None):
        """A round, and a look at what the search found."""
        self.period += 1
        engine.consider(self.view(bids))
        engine.tick()

    def view(self, bids=None):
        return view_of(self.cloud.hosts(), self.cloud.servers(), self.period, bids)

    def ticks(self, engine, seconds):
        """Time goes by, with a look every second."""
        for _ in range(int(seconds)):
            self.clock.advance(1.0)
            engine.tick()

    def where(self):
        return {one.id: one.host for one in self.cloud.servers()}

    def error(self):
        return float(np.max(self.view().outcome.largest_error))

    def found(self, plan_id):
        return self.plans.plan(plan_id)
