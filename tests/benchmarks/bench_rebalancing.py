# SPDX-License-Identifier: Apache-2.0
"""What a search costs the engine, from a round to a plan with its reasons.

`search` is what runs beside the rounds: the placement from hosts and servers as Nova describes them, the tabu
search of bench_market, the order in which moves fit, gains and reasons. The ratio is to that tabu search
alone. CPU seconds of this process.
"""

import time

import pytest

from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.round import decide
from nova_market.core.rebalancing.problem import MarketView, placement_of
from nova_market.core.rebalancing.proposal import proposal, search
from nova_market.core.rebalancing.settings import RebalancingSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings, balanced
from nova_market.core.resource import HostName
from tests.support.market_builders import random_cloud

pytestmark = pytest.mark.benchmark


def view_of(world):
    """Room for everybody and a fifth more."""
    ram = world.caps[1].sum() / world.capacity.shape[1] * 1.2
    hosts = tuple(
        CloudHost(name=HostName(f'h{n:05d}'), cores=float(cores), memory_mib=4 * ram, zone='nova')
        for n, cores in enumerate(world.capacity[0])
    )
    servers = tuple(
        CloudServer(
            id=f'{n:08d}', project_id=f'p{world.payer[n]}', host=hosts[host].name,
            vcpus=int(world.caps[0, n]) + 1, memory_mib=int(world.caps[1, n]),
        )
        for n, host in enumerate(world.host.tolist())
    )  # fmt: skip
    return MarketView(period=1, snapshot=world, outcome=decide(world), hosts=hosts, servers=servers)


@pytest.mark.parametrize(
    ('hosts', 'servers', 'migrations'),
    [(113, 15_769, 10), (113, 15_769, 10**6), (5000, 30_000, 10), (5000, 30_000, 1000)],
)
def test_search_from_a_round_to_a_plan(hosts, servers, migrations):
    """Order, gains and reasons cost no more than twice the tabu search, and two seconds."""
    view = view_of(random_cloud(hosts, servers))
    settings = RebalancingSettings(balance=BalanceSettings(migrations=migrations))
    began = time.process_time()
    placement = placement_of(view)
    placed = time.process_time() - began
    began = time.process_time()
    balanced(placement, settings.balance)
    alone = time.process_time() - began
    began = time.process_time()
    found = search(view, frozenset(), settings)
    plan = proposal(found, settings, 0.0)
    whole = time.process_time() - began
    print(
        f'\n{hosts} hosts, {servers} servers, at most {migrations} migrations: largest error '
        f'{found.plan.before:.1%} -> {found.plan.after:.2%} in {len(plan.moves)} steps, '
        f'{len(found.plan.dropped)} dropped; {whole:.1f} s, of it tabu search {alone:.1f} s, '
        f'placement {placed:.2f} s'
    )
    assert whole < 3.0 * alone + 2.0
