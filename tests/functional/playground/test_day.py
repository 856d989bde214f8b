# SPDX-License-Identifier: Apache-2.0
"""A day in a playground: it lives."""

import re
from pathlib import Path
from statistics import mean

import pytest

from nova_market.core.power.host_step import Phase
from nova_market.db.power import DatabasePower
from nova_market.playground.life import HOUR
from nova_market.playground.playground import Playground
from tests.support.playground import BEGINS, asked, pass_time, playing

pytestmark = [pytest.mark.functional, pytest.mark.nightly, pytest.mark.timeout(3000)]

NOON, NIGHT = (11 * HOUR, 15 * HOUR), (23 * HOUR, 27 * HOUR)
"""From and until, in seconds since midnight of the first day."""


class Seen:
    """What was there at some time of a day."""

    def __init__(self) -> None:
        self.prices: dict[float, int] = {}
        self.servers: list[frozenset[str]] = []
        self.reasons: set[str] = set()
        self.leases: set[str] = set()
        self.power: list[tuple[str, str]] = []
        self.actions: set[str] = set()

    def look(self, made: Playground, since_midnight: float) -> None:
        prices = {
            one['resource']: one['price'] for one in asked(made, 'bob', '/v1/prices')['prices']
        }
        self.prices[since_midnight] = prices['cpu']
        self.servers.append(frozenset(made.world.created))
        jobs = asked(made, 'operator', '/v1/jobs?all_projects=true&state=waiting')['jobs']
        self.reasons |= {one['reason']['code'] for one in jobs if one['reason']}
        found = asked(made, 'operator', '/v1/leases?all_projects=true')['leases']
        self.leases |= {one['state'] for one in found}
        events = DatabasePower(made.services.database).events_since(0)
        self.power = [(one.host, one.action) for one in events]
        for app in asked(made, 'alice', '/v1/apps')['apps']:
            events = asked(made, 'alice', f'/v1/apps/{app["id"]}/events')['events']
            self.actions |= {one['action'] for one in events}

    def price(self, span: tuple[float, float]) -> float:
        return mean(one for at, one in self.prices.items() if span[0] <= at <= span[1])


@pytest.fixture(scope='module')
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """From seven in the morning until the next morning."""
    found = Seen()
    with playing(tmp_path_factory.mktemp('day') / 'here', BEGINS - 2 * HOUR) as made:
        hours = 7.0
        while hours < 30:
            pass_time(made, HOUR / 2)
            hours += 0.5
            found.look(made, hours * HOUR)
        assert asked(made, 'operator', '/v1/set-aside')['set_aside'] == []
    return found


def test_servers_come_and_go(seen: Seen) -> None:
    """More by day than by night; at the end hardly one is there of those of the first morning."""
    by_day, by_night = seen.servers[10], seen.servers[36]
    assert len(by_day) > 1.3 * len(by_night)
    assert by_night - by_day and by_day - by_night


def test_prices_differ_by_day_and_night(seen: Seen) -> None:
    """What is scarce at noon costs little at midnight."""
    assert seen.price(NOON) > 1.5 * seen.price(NIGHT)


def test_a_job_waits_with_a_reason(seen: Seen) -> None:
    """One that users know."""
    assert seen.reasons & {'share', 'room'}
    assert all(re.fullmatch('[a-z]+', one) for one in seen.reasons)


def test_a_lease_begins_and_ends(seen: Seen) -> None:
    """And another one is planned meanwhile."""
    assert seen.leases >= {'planned', 'active', 'ended'}


def test_a_host_sleeps_and_wakes(seen: Seen) -> None:
    """One that was off serves again."""
    slept = {host for host, action in seen.power if action == Phase.OFF}
    assert slept
    steps = [[action for one, action in seen.power if one == host] for host in sorted(slept)]
    assert any(
        Phase.SERVING in one[one.index(Phase.WAKING) :] for one in steps if Phase.WAKING in one
    ), steps


def test_an_application_with_a_deadline_is_scaled(seen: Seen) -> None:
    """By its bids, from its start to its end."""
    assert {'started', 'bid', 'finished'} <= seen.actions


def test_a_day_is_kept(tmp_path: Path) -> None:
    """What is there after an hour is as large as it was: nothing grows without an end."""
    with playing(tmp_path / 'here') as made:
        pass_time(made, HOUR)
        made.save()
        assert (tmp_path / 'here/world.json').stat().st_size < 5_000_000
