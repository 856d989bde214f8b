# SPDX-License-Identifier: Apache-2.0
"""The cloud of a playground: where servers go, how it lives, and that all of it is kept."""

import json
import random

import pytest

from nova_market.adapters.clock import FastClock
from nova_market.core.app.record import APP_MARKS
from nova_market.core.market.owner_server import NewServer, OwnerAccess, ServerState
from nova_market.core.power.host_step import PowerState
from nova_market.core.resource import HostName
from nova_market.playground.life import HABITS, HOUR, Life, daylight
from nova_market.playground.machines import BOOT, SHUTDOWN
from nova_market.playground.people import ALICE, PROJECTS
from nova_market.playground.world import CORES, HOSTS, World


def made(wall: float = 1.8e9) -> World:
    return World(FastClock(wall), random.Random(1))


def where(world: World, server: str) -> str:
    world.look()
    return str(world.seen[server].host)


def test_servers_are_packed_as_long_as_there_are_cores() -> None:
    """Then they share cores, on the host with most room; then there is no room."""
    world = made()
    first = [world.boot('p', f's{n}', 'large', {}) for n in range(3)]
    assert {where(world, one) for one in first} == {HOSTS[0]}
    assert where(world, world.boot('p', 'next', 'large', {})) == HOSTS[1]
    assert where(world, world.boot('p', 'small', 'medium', {})) == HOSTS[0]
    count = 5
    while world.boot('p', f's{count}', 'large', {}):
        count += 1
        assert count < 1000
    assert world.boot('p', 'too much', 'large', {}) == ''
    world.look()
    assert sum(one.vcpus for one in world.seen.values()) > len(HOSTS) * CORES


def test_room_of_a_lease_is_for_its_servers() -> None:
    """Others go elsewhere; a host that sleeps gets none."""
    world = made()
    world.leased = {HOSTS[0]: (24.0, 98_304.0), HOSTS[1]: (12.0, 0.0)}
    assert where(world, world.boot('p', 'a', 'large', {})) == HOSTS[2]
    own = {'market:lease': 'l1'}
    assert where(world, world.boot('p', 'b', 'large', own, [HOSTS[0]])) == HOSTS[0]
    assert where(world, world.boot('p', 'c', 'medium', {})) == HOSTS[1]
    world.cloud.disable(HostName(HOSTS[2]), 'sleeps')
    assert where(world, world.boot('p', 'd', 'large', {})) == HOSTS[3]


def test_a_host_shuts_down_and_boots_on_the_clouds_clock() -> None:
    """It answers until it is off, and again when it has booted."""
    world = made()
    host = HOSTS[0]

    def answers() -> bool:
        world.catch_up()
        return next(one.answering for one in world.cloud.hosts() if one.name == host)

    world.machines.power_off(host)
    assert answers() and world.machines.state(host) is PowerState.ON
    world.clock.advance(SHUTDOWN)
    assert not answers() and world.machines.state(host) is PowerState.OFF
    world.machines.power_on(host)
    assert not answers()
    world.clock.advance(BOOT)
    assert answers()


def test_all_of_it_is_kept() -> None:
    """As JSON: servers, also those of applications that boot, hosts that sleep, trusts."""
    world = made()
    world.boot(ALICE.project_id, 'web', 'small', {'market:bid_cpu': '1'})
    world.trusts['t'] = ALICE.project_id
    access = OwnerAccess(project_id=ALICE.project_id, trust_id='t')
    wanted = NewServer(owner='app', place='solver-1', name='x', flavor='large', image='zephyr-4')
    server = world.apps.create(access, wanted)
    world.machines.power_off(HOSTS[5])
    world.clock.advance(SHUTDOWN)
    world.catch_up()
    document = json.loads(json.dumps(world.kept()))
    other = made(world.clock.wall())
    other.restore(document)
    other.catch_up()
    assert other.kept() == world.kept()
    assert other.cloud.hosts() == world.cloud.hosts()
    assert other.seen == world.seen and len(other.seen) == 2
    assert other.machines.state(HOSTS[5]) is PowerState.OFF
    other.clock.advance(60.0)
    found = other.apps.server(access, server)
    assert found is not None and found.state is ServerState.RUNNING and found.owner == 'app'
    assert other.apps.create(access, wanted) != server
    assert APP_MARKS.owner in other.apps.made[server].metadata


@pytest.mark.parametrize('hour', [0.0, 5.9, 20.1, 23.9])
def test_it_is_dark_at_night(hour: float) -> None:
    """And brightest at one o'clock in the afternoon."""
    assert daylight(hour * HOUR) == 0.0
    assert daylight(13 * HOUR) == pytest.approx(1.0)
    assert 0.5 < daylight(8 * HOUR) < daylight(11 * HOUR) < 1.0


def test_servers_come_by_day_and_go_by_night() -> None:
    """Of each project; what hosts report of them is of servers that are there."""
    reported: dict[str, int] = {}
    world = made(20_000 * 86_400.0)
    life = Life(world, lambda host, use: reported.update(dict.fromkeys(use.servers, use.at)))
    life.begin()
    night = len(world.seen)
    assert night == sum(one.night for one in HABITS.values())
    names = sorted(one.name for one in world.seen.values())
    assert len(set(names)) == len(names) and f'{PROJECTS[0]}-1' in names

    def until(hour: float) -> int:
        while world.clock.wall() % 86_400 < hour * HOUR:
            world.clock.advance(60.0)
            life.step(int(world.clock.wall()))
        return len(world.seen)

    noon = until(13)
    assert noon >= 2 * night
    assert set(world.seen) <= set(reported)
    assert until(23) < noon / 2
