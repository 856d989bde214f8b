# SPDX-License-Identifier: Apache-2.0
"""Economies in which nobody acts (B3): prices stay, nobody is at nothing, shares follow weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import recharge, redistribute
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import MINT, Posting, Reason, account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.core.share import fair_shares
from nova_market.sim.market.economy import Economy

CORES, MIB = 8.0, 16_384.0
TOTAL = 1000 * MICRO
FIRST = 3
"""Periods until prices are constant: one for the entitlements, one for the first bids."""


@dataclass(frozen=True, kw_only=True)
class World:
    """sizes: of each project's servers, in cores; wanted: all of them together, per core of the host"""

    weights: Sequence[int]
    sizes: Sequence[Sequence[int]]
    wanted: float
    delay: int
    renew_every: int

    def economy(self, currency=recharge) -> Economy:
        """`recharge` divides TOTAL by weight; with `redistribute` it is granted by weight."""
        whole = sum(map(sum, self.sizes))
        settings = MarketSettings(
            total=TOTAL, currency=currency, renew_every=self.renew_every,
            return_delay=0 if currency is redistribute else self.delay,
            host_reserve=(0.0, 0.0), reserve=(1.0, 0.001), new_weight=1.0,
        )  # fmt: skip
        host = CloudHost(name=HostName('h'), cores=whole / self.wanted, memory_mib=MIB)
        made = Economy(
            [host],
            [
                CloudServer(
                    id=f'{project}-{number}', project_id=f'p{project}', host=host.name,
                    vcpus=size, memory_mib=int(MIB * size / whole),
                )
                for project, sizes in enumerate(self.sizes)
                for number, size in enumerate(sizes)
            ],
            settings,
            [
                Account(id=account('project', f'p{n}'), project_id=f'p{n}', weight=float(weight))
                for n, weight in enumerate(self.weights)
            ],
        )  # fmt: skip
        if currency is redistribute:
            for n, weight in enumerate(self.weights):
                amount = TOTAL * weight // sum(self.weights)
                made.grant(_grant(f'p{n}', amount))
        return made

    @property
    def periods(self) -> int:
        """Until credits have come back twice."""
        return FIRST + 2 * (max(self.delay, self.renew_every) + 1)


def _grant(project, amount):
    return Posting(
        key=f'grant:0:{project}', reason=Reason.GRANT, debit=MINT,
        credit=account('project', project), amount=amount,
    )  # fmt: skip


def _run(economy, periods, stored=None):
    """(prices (periods, resources), cores (periods, projects)), without the first periods."""
    prices, cores = [], []
    for _ in range(periods):
        inputs, plan = economy.pass_period(stored)
        prices.append(plan.outcome.price)
        row = dict.fromkeys(sorted({one.project_id for one in economy.servers}), 0.0)
        for server, given_ in zip(inputs.servers, plan.outcome.ideal[0], strict=True):
            row[server.project_id] += given_
        cores.append(list(row.values()))
        assert sum(economy.book.balances().values()) == 0
        assert not len(plan.outcome.short), 'default bids never exceed what is there'
        assert not plan.notices
    return np.array(prices[FIRST - 1 :]), np.array(cores[FIRST - 1 :])


SIZES, PROJECTS = st.integers(1, 8), st.integers(1, 4)


@st.composite
def worlds(draw, sizes=SIZES, projects=PROJECTS):
    count = draw(projects)
    return World(
        weights=draw(st.lists(st.integers(1, 5), min_size=count, max_size=count)),
        sizes=draw(
            st.lists(st.lists(sizes, min_size=1, max_size=3), min_size=count, max_size=count)
        ),
        wanted=draw(st.sampled_from([0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 4.0])),
        delay=draw(st.integers(1, 6)),
        renew_every=draw(st.integers(1, 6)),
    )


@settings(max_examples=30)
@given(worlds())
def test_prices_are_constant_and_shares_follow_the_weights(world):
    """`recharge`, any demand: each project has the part of its weight, or all that it can use."""
    prices, cores = _run(world.economy(), world.periods)
    np.testing.assert_allclose(prices, np.broadcast_to(prices[0], prices.shape), rtol=1e-9)
    caps = np.array([float(sum(sizes)) for sizes in world.sizes])
    share = fair_shares(np.array(world.weights, dtype=float), caps, caps.sum() / world.wanted)
    np.testing.assert_allclose(cores, np.broadcast_to(share, cores.shape), rtol=1e-4)


@settings(max_examples=30)
@given(worlds(sizes=st.just(16), projects=st.integers(2, 4)), st.sampled_from([1.5, 2.0, 4.0]))
def test_prices_are_constant_where_the_income_is_divided(world, wanted):
    """`redistribute`, equal weights: everybody pays what comes back, and has the same."""
    count = len(world.weights)
    equal = World(
        weights=[1] * count, sizes=[world.sizes[0]] * count, wanted=wanted,
        delay=world.delay, renew_every=world.renew_every,
    )  # fmt: skip
    prices, cores = _run(equal.economy(redistribute), equal.periods)
    np.testing.assert_allclose(prices, np.broadcast_to(prices[0], prices.shape), rtol=1e-6)
    np.testing.assert_allclose(cores, cores.mean(), rtol=1e-4)


@settings(max_examples=30)
@given(worlds(), st.sampled_from([recharge, redistribute]))
def test_nobody_who_does_nothing_is_ever_at_nothing(world, currency):
    """Any weights, sizes and demand, either currency, through several distributions."""
    _, cores = _run(world.economy(currency), 2 * world.periods)
    assert cores.min() > 0


@settings(max_examples=30)
@given(worlds(projects=st.integers(2, 4)), st.floats(0.05, 0.95))
def test_a_fixed_bid_buys_the_same_while_others_do_nothing(world, part):
    """Within 5 %: what a part of one project's sustainable spending buys for one of its servers."""
    economy = world.economy()
    server = economy.servers[0]
    own = TOTAL * world.weights[0] // sum(world.weights)
    bid = StoredBid(
        server_id=server.id, project_id=server.project_id,
        payer=account('project', server.project_id),
        cpu=int(part * own / (world.delay + 1)), memory=0,
    )  # fmt: skip
    bought = []
    for period in range(world.periods):
        _, plan = economy.pass_period({server.id: bid})
        if period >= FIRST - 1:
            bought += [a.ideal_cpu for a in plan.allocated if a.server_id == server.id]
    assert max(bought) <= 1.05 * min(bought)
    assert min(bought) > 0


@pytest.mark.parametrize('currency', [recharge, redistribute])
def test_a_project_that_arrives_later_has_its_share_two_periods_later(currency):
    """Not a whole renewal period of 50 later; in its first one hosts give it the average of the others."""
    world = World(weights=[1, 1], sizes=[[8], [8]], wanted=2.0, delay=50, renew_every=50)
    economy = world.economy(currency)
    for _ in range(5):
        economy.pass_period()
    host = economy.hosts[0].name
    economy.servers += (
        CloudServer(id='new', project_id='p9', host=host, vcpus=8, memory_mib=1024),
    )
    inputs, _ = economy.pass_period()
    assert [one.id for one in inputs.others] == ['new']
    _, plan = economy.pass_period()
    cores = {one.server_id: one.actual_cpu for one in plan.allocated}
    assert cores['new'] > 0.1
    if currency is recharge:
        assert cores['new'] == pytest.approx(cores['0-0'], rel=0.01)
