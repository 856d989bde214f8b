# SPDX-License-Identifier: Apache-2.0
"""P4 over many periods: what the index and purchasing power show when credits are issued and prices move."""

from dataclasses import replace

import pytest

from nova_market.core.ledger.money import MICRO
from nova_market.core.market import economy
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.economy_record import supply_of, velocity_of
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.sim.market.economy import Economy

HOST = HostName('a')
SETTINGS = MarketSettings(
    total=300 * MICRO, renew_every=10, return_delay=10, host_reserve=(0.0, 0.0), new_weight=1.0
)


@pytest.fixture
def small_base(monkeypatch):
    """A base window that is over soon."""
    monkeypatch.setattr(economy, 'BASE_ROUNDS', 20)


def cloud():
    """Three projects with a server of 4 vCPUs each on 8 cores."""
    servers = [
        CloudServer(id=f's-{p}', project_id=p, host=HOST, vcpus=4, memory_mib=4096) for p in 'abc'
    ]
    return Economy([CloudHost(name=HOST, cores=8.0, memory_mib=8192.0)], servers, SETTINGS)


def pass_periods(made, count, stored=None):
    return [made.pass_period(stored)[1] for _ in range(count)]


def powers(plan):
    return {one.project_id: one for one in plan.powers}


def test_nothing_changes_while_nobody_acts(small_base):
    """The supply is what was issued, the index 100, and each project can have its third."""
    *_, last = pass_periods(cloud(), 60)
    assert supply_of(last.economy).issued == 300 * MICRO
    assert last.economy.price_index == pytest.approx(100.0)
    for one in powers(last).values():
        assert one.part == pytest.approx(1 / 3, rel=1e-3)
        assert one.wealth == 100 * MICRO
        # all of it is spent in each cycle, as B3 has it
        assert one.spend == 100 * MICRO // SETTINGS.cycle


def test_twice_the_credits_double_the_index_and_buy_the_same(small_base):
    """Inflation: what a project can spend doubles, what it buys does not."""
    made = cloud()
    *_, before = pass_periods(made, 40)
    made.settings = replace(SETTINGS, total=600 * MICRO)
    *_, after = pass_periods(made, 60)
    assert after.economy.price_index == pytest.approx(200.0, rel=1e-3)
    for name, one in powers(after).items():
        then = powers(before)[name]
        assert one.spend == pytest.approx(2 * then.spend, rel=1e-3)
        assert (one.cores, one.part) == (
            pytest.approx(then.cores, rel=1e-3),
            pytest.approx(then.part, rel=1e-3),
        )
        assert one.real == pytest.approx(then.real, rel=1e-3)


def test_velocity_is_one_over_the_cycle_while_all_is_spent(small_base):
    """And lower, when a project saves."""
    made, records = cloud(), []
    for _ in range(60):
        _, plan = made.pass_period()
        charged = sum(posting.amount for posting in plan.holds)
        records.append(replace(plan.economy, charged=charged))
    assert velocity_of(records[-20:]) == pytest.approx(1 / SETTINGS.cycle, rel=1e-3)
    saves = StoredBid(server_id='s-a', project_id='a', payer='project:a', cpu=0, memory=0)
    for _ in range(40):
        _, plan = made.pass_period({'s-a': saves})
        charged = sum(posting.amount for posting in plan.holds)
        records.append(replace(plan.economy, charged=charged))
    assert velocity_of(records[-20:]) < 0.8 / SETTINGS.cycle
    # it has not become poorer by that
    assert powers(plan)['a'].wealth == 100 * MICRO


def test_twice_the_cloud_halves_the_index(small_base):
    """Deflation: the same credits buy twice the cores, up to the servers' maximum."""
    made = cloud()
    made.hosts = (CloudHost(name=HOST, cores=4.0, memory_mib=4096.0),)
    *_, before = pass_periods(made, 40)
    made.hosts = (CloudHost(name=HOST, cores=8.0, memory_mib=8192.0),)
    *_, after = pass_periods(made, 40)
    assert after.economy.price_index == pytest.approx(50.0, rel=1e-3)
    assert powers(after)['a'].cores == pytest.approx(2 * powers(before)['a'].cores, rel=1e-3)
    assert powers(after)['a'].part == pytest.approx(powers(before)['a'].part, rel=1e-3)
