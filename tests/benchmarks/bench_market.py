# SPDX-License-Identifier: Apache-2.0
"""What a round of the market and a rebalancing cost, against floors and baselines.

Round: `decide` (budgets, price, both allocation steps, errors, charges, reasons, for both resources)
against sorting the same arrays. Two floors are printed: `order`, the stable sorts by cap / bid, in the
cloud and on each host, that a water-filling by sorting can't do without; and `sort`, numpy's plain
sort of bids and caps, which needs no order and uses the widest vector instructions there are.

Rebalancing: random placements with caps 1.5 times the capacity; against a greedy baseline (best single move
off the worst host while it helps) and, for 15 hosts and 150 servers, a bound by an exact MILP.
CPU seconds of this process: the machine may be busy with other things.
"""

import time

import numpy as np
import pytest
from scipy import optimize, sparse

from nova_market.core.market.round import decide
from nova_market.core.rebalancing.layout import LayoutState, host_errors
from nova_market.core.rebalancing.tabu_search import BalanceSettings, balanced
from tests.support.layouts import unconstrained
from tests.support.market_builders import random_cloud

pytestmark = pytest.mark.benchmark


def best(call, times=5):
    """Least of several runs, CPU seconds."""
    found = []
    for _ in range(times):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


def placement_of(world):
    outcome = decide(world)
    return unconstrained(
        world.host, outcome.bids.astype(float), world.caps, outcome.ideal, world.capacity
    )


def ordered(world):
    """The orders that dividing by sorting needs: of all servers, and of those of each host."""
    for caps, bids in zip(world.caps, world.bids, strict=True):
        full_at = caps / np.maximum(bids, 1)
        np.argsort(full_at, kind='stable')
        np.lexsort((full_at, world.host))


def plainly_sorted(world):
    for row in (*world.caps, *world.bids):
        np.sort(row)


def test_round_against_sorting():
    """A round takes less than three times as long as ordering the same arrays."""
    print(f'\n{"hosts":>6} {"servers":>8} {"ms":>8} {"us/server":>10} {"x order":>8} {"x sort":>7}')
    ratio = {}
    for hosts in (100, 1000, 10_000):
        world = random_cloud(hosts, 20 * hosts)
        seconds, order, plain = (
            best(lambda call=call, world=world: call(world))
            for call in (decide, ordered, plainly_sorted)
        )
        ratio[hosts] = seconds / order
        print(
            f'{hosts:6d} {20 * hosts:8d} {1e3 * seconds:8.1f} {1e6 * seconds / 20 / hosts:10.2f} '
            f'{ratio[hosts]:8.2f} {seconds / plain:7.1f}'
        )
    assert ratio[10_000] < 3


def greedy(placement, limit):
    """Best single move off the worst host, while it makes that host's error smaller, at most `limit`."""
    layout, moves = LayoutState(placement), 0
    hosts = np.arange(placement.hosts)
    while True:
        worst = int(layout.errors.argmax())
        load = (layout.wanted / placement.capacity).max(axis=0)
        near = hosts[np.argsort(load, kind='stable')[:3]]
        here = np.repeat(layout.members[worst], len(near))
        targets = np.tile(near, len(layout.members[worst]))
        errors = layout.try_moves(here, targets)
        pick = int(errors.argmin())
        done = errors[pick] >= layout.errors[worst] - 1e-9 or layout.errors[worst] <= 0.01
        if done or moves >= limit:
            return float(layout.errors.max()), moves
        layout.move(int(here[pick]), int(targets[pick]))
        moves += 1


@pytest.mark.parametrize(
    ('hosts', 'servers', 'migrations'),
    [(15, 150, 10**6), (113, 15_769, 10**6), (5000, 30_000, 1000), (5000, 30_000, 10**6)],
)
def test_rebalancing_against_greedy(hosts, servers, migrations):
    """With as many migrations, the largest error is at most half a point above that of greedy moves.

    With few migrations allowed both work down the same list of hosts, and greedy, which computes more
    moves exactly, may be a little ahead; with enough of them it stops early and the search goes on.
    """
    placement = placement_of(random_cloud(hosts, servers))
    began = time.process_time()
    plan = balanced(placement, BalanceSettings(migrations=migrations))
    took = time.process_time() - began
    began = time.process_time()
    error, moves = greedy(placement, migrations)
    print(
        f'\n{hosts} hosts, {servers} servers: largest error {plan.before:.1%} -> {plan.after:.2%} with '
        f'{len(plan.moved)} migrations in {took:.1f} s ({plan.iterations} iterations); greedy '
        f'{error:.2%} with {moves} moves in {time.process_time() - began:.1f} s'
    )
    assert plan.after <= error + 0.005


def test_rebalancing_against_milp():
    """15 hosts, 150 servers: the largest error is at most two points above the MILP's bound."""
    placement = placement_of(random_cloud(15, 150))
    plan = balanced(placement, BalanceSettings(tolerated_error=0.0))
    bound, found = milp_error(placement, seconds=30.0)
    print(
        f'\n15 x 150: tabu {plan.after:.3%}, HiGHS found {found:.3%}, no placement below {bound:.3%}'
    )
    assert plan.after <= bound + 0.02


def milp_error(placement, seconds):
    """(lower bound of the largest error, error of the placement that HiGHS found).

    Minimise s, sum of ideal <= s * capacity on each host and resource: who gets (1 - e) of its ideal needs
    (1 - e) * ideal <= capacity in sum, so e >= 1 - 1 / s. Servers with ideal below their cap need no more.
    """
    hosts, servers = placement.hosts, placement.servers
    size = hosts * servers
    rows, limits = [], []
    for ideal, capacity in zip(placement.ideal, placement.capacity, strict=True):
        for host in range(hosts):
            columns = np.arange(servers) * hosts + host
            row = sparse.csr_array((ideal, (np.zeros(servers, int), columns)), shape=(1, size + 1))
            rows.append(row + sparse.csr_array(([-capacity[host]], ([0], [size])), row.shape))
            limits.append(0.0)
    once = sparse.hstack(
        [sparse.kron(sparse.eye_array(servers), np.ones((1, hosts))), np.zeros((servers, 1))]
    )
    result = optimize.milp(
        np.append(np.zeros(size), 1.0),
        integrality=np.append(np.ones(size), 0),
        bounds=optimize.Bounds(0, np.append(np.ones(size), np.inf)),
        constraints=[
            optimize.LinearConstraint(sparse.vstack(rows), -np.inf, np.array(limits)),
            optimize.LinearConstraint(once.tocsr(), 1, 1),
        ],
        options={'time_limit': seconds, 'mip_rel_gap': 1e-3},
    )
    host = result.x[:size].reshape(servers, hosts).argmax(axis=1)
    members = [np.flatnonzero(host == h) for h in range(hosts)]
    found = float(host_errors(placement, np.arange(hosts), members).max())
    return max(1.0 - 1.0 / result.mip_dual_bound, 0.0), max(found, 0.0)
