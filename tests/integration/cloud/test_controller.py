# SPDX-License-Identifier: Apache-2.0
"""Applications on a real Nova: a deadline that is moved, servers by price, draining, suspension.

Merkat (INRIA RR-8648), section 3.4: one deadline application and four best-effort neighbours on host h1. The
tests build on each other, in this order.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openstack
import pytest
import requests

from nova_market.experiments.guests.service_process import Daemon
from tests.integration.cloud.conftest import ROOT, Cloud
from tests.integration.cloud.deployed_market import PERIOD, MarketBed
from tests.integration.cloud.waiting import until

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

NEIGHBOURS = ('n1', 'n2', 'n3', 'n4')
WORK = 300.0
"""Core-seconds: five minutes of the one core that h1 has, of which a guest can take two to boot."""

FIRST = 1500.0
"""Seconds to the deadline, before it is moved."""

HURRY = 1.6
"""Times the share of CPU that it has when its deadline is moved: what it needs from then on. The same number
of seconds for all would be easy for one whose guest took long to boot, and used the whole core for it."""

BAND = {'low': 0.05, 'reference': 0.8, 'high': 0.9}
"""Of the lateness: done when a tenth of the time is left. A `low` of 0.75 gives CPU back on the last metres,
for which a period of ten seconds is too coarse: its end would be at the deadline, or a period after it."""

JOB = 120
"""Seconds of the job on a server that is given up: twelve periods."""

LIMIT = 0.2
"""Cores that a server of the flavor `fifth` can use at most."""

Json = dict[str, Any]


@pytest.fixture(scope='module')
def neighbours(cloud: Cloud) -> Iterator[dict[str, str]]:
    """name -> id of four busy servers of emil's on h1; nothing new goes to h2."""
    cloud.openstack('admin', 'compute', 'service', 'set', '--disable', 'h2', 'nova-compute')
    make = ('flavor', 'create', '--vcpus', '1', '--ram', '128', '--disk', '1')
    limit = ('--property', f'market:max_cpu={LIMIT}', 'fifth')
    if (
        'fifth'
        not in cloud.openstack('admin', 'flavor', 'list', '-f', 'value', '-c', 'Name').split()
    ):
        cloud.openstack('admin', *make, *limit)
    made = {name: cloud.boot('emil', f'market-{name}', 'h1') for name in NEIGHBOURS}
    for name in made:
        cloud.order(f'market-{name}', 'burn 1')
    yield made
    cloud.openstack('admin', 'compute', 'service', 'set', '--enable', 'h2', 'nova-compute')


@pytest.fixture(scope='module')
def bed(
    cloud: Cloud,
    environment: dict[str, str],
    neighbours: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[MarketBed]:
    made = MarketBed(cloud, environment, tmp_path_factory.mktemp('market'))
    try:
        made.start()
        accounts = {name: f'project:{cloud.project_id(name)}' for name in ('dora', 'emil')}
        first = cloud.create('dora', 'market-d', 'h1')
        until(lambda: {*accounts.values()} <= opened(made))
        cloud.openstack('dora', 'server', 'delete', '--wait', first)
        for name in accounts.values():
            made.market('admin', 'account', 'grant', name, '5000')
        yield made
    finally:
        made.close()


@pytest.fixture(scope='module')
def controller(bed: MarketBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    options = bed.options() | {'controller': {'interval': 2, 'first_pause': 2, 'report_life': 600}}
    made = Daemon('controller', tmp_path_factory.mktemp('controller'), options)
    made.launch()
    yield made
    made.stop()


def opened(bed: MarketBed) -> set[str]:
    return {one['ID'] for one in bed.market('admin', 'account', 'list', '--all-projects')}


def say(text: str) -> None:
    """A figure for whoever reads the output."""
    sys.stderr.write(f'{text}\n')


def bid(bed: MarketBed, servers: dict[str, str], amount: float) -> None:
    for server in servers.values():
        bed.market('emil', 'bid', 'set', '--cpu', str(amount), '--memory', '0', server)


def in_seconds(seconds: float) -> str:
    at = datetime.fromtimestamp(time.time() + seconds, UTC)
    return at.isoformat(timespec='seconds').replace('+00:00', 'Z')


def create(bed: MarketBed, directory: Path, template: Json) -> Json:
    path = directory / f'{template["name"]}.yaml'
    path.write_text(json.dumps(template))
    return dict(bed.market('dora', 'app', 'create', str(path)))


def show(bed: MarketBed, name: str) -> Json:
    return dict(bed.market('dora', 'app', 'show', name))


def own(bed: MarketBed, name: str) -> dict[str, Json]:
    """Servers of an application in Nova, by name."""
    return {n: one for n, one in bed.cloud.servers().items() if n.startswith(f'{name}-')}


def active(bed: MarketBed, name: str, count: int) -> bool:
    found = own(bed, name).values()
    return len(found) == count and {one['Status'] for one in found} == {'ACTIVE'}


def weight(bed: MarketBed, name: str) -> float:
    """Part of h1's core that is in force for its servers."""
    weights, ids = bed.weights(), [one['ID'] for one in own(bed, name).values()]
    return sum(weights[i][1] for i in ids if i in weights) / 1024.0


def rests(bed: MarketBed, name: str) -> bool:
    """Its part did not change in a period."""
    before = weight(bed, name)
    time.sleep(PERIOD)
    return weight(bed, name) == pytest.approx(before, rel=0.02)


def gone(bed: MarketBed, name: str) -> bool:
    """With its servers, its row and what it had."""
    return not own(bed, name) and name not in {
        one['Name'] for one in bed.market('dora', 'app', 'list')
    }


def cluster(bed: MarketBed, name: str) -> Json:
    return dict(show(bed, name)['clusters'][0])


def report(environment: dict[str, str], app: Json, **values: object) -> None:
    """As an application does, which has a credential and no token."""
    answer = requests.post(
        f'{environment["NOVA_MARKET_API_URL"]}/v1/apps/{app["id"]}/reports',
        json=values,
        headers={'X-App-Credential': app['credential']},
        timeout=30,
    )
    assert answer.status_code == 204, answer.text


def component(flavor: str, least: int, most: int) -> Json:
    return {
        'name': 'worker', 'flavor': flavor, 'image': 'guest', 'networks': ['guests'],
        'least_count': least, 'most_count': most, 'least': {'cpu': 0.05},
    }  # fmt: skip


def test_a_deadline_that_is_moved_is_met(
    bed: MarketBed,
    neighbours: dict[str, str],
    controller: Daemon,
    environment: dict[str, str],
    tmp_path: Path,
):
    """Its bid and its share of the CPU follow; killed on the way, the controller goes on after a start."""
    bid(bed, neighbours, 1)
    template = {
        'name': 'zephyr', 'policy': 'full_deadline', 'components': [component('tiny', 1, 1)],
        'slo': {'deadline': in_seconds(FIRST), 'work_core_seconds': WORK, **BAND},
        'budget': {'renew_amount': 40},
    }  # fmt: skip
    made = create(bed, tmp_path, template)
    say(f'its server is there after {until(lambda: active(bed, "zephyr", 1)):.1f} s')
    bed.cloud.wait_until_obeying('zephyr-worker-1')
    bed.cloud.order('zephyr-worker-1', 'burn 1')
    until(lambda: weight(bed, 'zephyr') < 0.9)
    time.sleep(4 * PERIOD)
    calm, share = cluster(bed, 'zephyr'), weight(bed, 'zephyr')
    controller.kill()
    left = show(bed, 'zephyr')['remaining'] / (HURRY * share)
    due = time.time() + left
    bed.market('dora', 'app', 'set', 'zephyr', '--deadline', in_seconds(left))
    say(f'calm: {calm}, weight {share:.3f}; the controller is killed, {left:.0f} s are left')
    controller.launch()
    passed = until(lambda: weight(bed, 'zephyr') > 1.3 * share)
    hurried = cluster(bed, 'zephyr')
    say(f'moved: {hurried}, weight {weight(bed, "zephyr"):.3f} after {passed:.1f} s')
    assert hurried['bid_cpu'] > calm['bid_cpu'] and active(bed, 'zephyr', 1)
    (server,) = own(bed, 'zephyr').values()
    rest = until(lambda: rests(bed, 'zephyr'))
    before = weight(bed, 'zephyr')
    used = bed.used(20.0)
    part, after = used[server['ID']] / sum(used.values()), weight(bed, 'zephyr')
    say(f'at rest after {rest:.0f} s: its part of the CPU, by the kernel, is {part:.3f}')
    assert part == pytest.approx((before + after) / 2, rel=0.15)
    seen = [show(bed, 'zephyr')]
    while seen[-1]['remaining'] not in (0, 0.0):
        assert time.time() <= due, seen[-1]
        time.sleep(1)
        seen.append(show(bed, 'zephyr'))
    say(f'done {due - time.time():.0f} s before its deadline: {seen[-1]}')
    assert seen[-1]['state'] == 'running'
    report(environment, made, progress={'total': 1, 'done': 1})
    until(lambda: show(bed, 'zephyr')['state'] == 'finished' and not own(bed, 'zephyr'))
    bed.say('dora', 'app', 'delete', 'zephyr')
    until(lambda: gone(bed, 'zephyr'))


def test_servers_follow_the_price(
    bed: MarketBed,
    neighbours: dict[str, str],
    controller: Daemon,
    environment: dict[str, str],
    tmp_path: Path,
):
    """It grows while it is behind, gives servers back when the neighbours bid more, and grows again."""
    assert not controller.ended
    template = {
        'name': 'web', 'policy': 'horizontal', 'components': [component('fifth', 1, 4)],
        'slo': {'metric': {'low': 0.75, 'reference': 0.9, 'high': 1.0}},
        'budget': {'renew_amount': 12},
    }  # fmt: skip
    made = create(bed, tmp_path, template)

    report(environment, made, metric=3.0)
    say(f'four servers after {until(lambda: active(bed, "web", 4)):.0f} s')
    bid(bed, neighbours, 12)
    passed = until(lambda: 1 <= len(own(bed, 'web')) <= 3)
    say(f'price up: {len(own(bed, "web"))} servers after {passed:.0f} s')
    controller.kill()
    time.sleep(PERIOD)
    controller.launch()
    bid(bed, neighbours, 1)
    report(environment, made, metric=3.0)
    say(f'price down: four servers after {until(lambda: active(bed, "web", 4)):.0f} s')
    assert sorted(own(bed, 'web')) == [f'web-worker-{n}' for n in (1, 2, 3, 4)]
    events = bed.market('dora', 'app', 'events', 'web')
    assert {'grew', 'shrank', 'created', 'deleted'} <= {one['Action'] for one in events}
    bed.say('dora', 'app', 'delete', 'web')
    until(lambda: gone(bed, 'web'))


@pytest.fixture
def agent(
    environment: dict[str, str], tmp_path: Path
) -> Iterator[Callable[[Json, str, str], subprocess.Popen[str]]]:
    """start(application, server's name, id) -> nova-market-hooks, beside a guest that has no Python."""
    running: list[subprocess.Popen[str]] = []

    def start(app: Json, name: str, server_id: str) -> subprocess.Popen[str]:
        hook = tmp_path / 'hooks' / 'drain'
        hook.parent.mkdir()
        idle = f'{ROOT}/tools/cloud order {name} load | grep -q workers=0'
        hook.write_text(f'#!/bin/sh\nuntil {idle}; do sleep 2; done\n')
        hook.chmod(0o755)
        running.append(
            subprocess.Popen(
                [
                    sys.executable, str(ROOT / 'nova_market/guest_agent/hooks.py'),
                    '--url', environment['NOVA_MARKET_API_URL'], '--app', app['id'],
                    '--server', server_id, '--hooks', str(hook.parent), '--interval', '2',
                ],
                env={**os.environ, 'NOVA_MARKET_CREDENTIAL': app['credential']},
                text=True,
            )
        )  # fmt: skip
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.wait(10)


def test_a_busy_server_ends_its_job_before_it_is_deleted(
    bed: MarketBed,
    neighbours: dict[str, str],
    controller: Daemon,
    environment: dict[str, str],
    tmp_path: Path,
    agent: Callable[[Json, str, str], subprocess.Popen[str]],
):
    """The one with fewer tasks is given up, works and is paid for until its job has ended, and then goes."""
    assert not controller.ended
    bid(bed, neighbours, 1)
    template = {
        'name': 'jobs', 'policy': 'horizontal',
        'components': [{**component('fifth', 1, 2), 'drain_timeout': 900}],
        'slo': {'metric': {'low': 0.75, 'reference': 0.9, 'high': 1.0}},
        'budget': {'renew_amount': 12},
    }  # fmt: skip
    made = create(bed, tmp_path, template)
    report(environment, made, metric=3.0)
    until(lambda: active(bed, 'jobs', 2))
    report(environment, made, metric=0.85)
    ids = {name: one['ID'] for name, one in own(bed, 'jobs').items()}
    busy, less = ids['jobs-worker-1'], ids['jobs-worker-2']
    for name in ids:
        bed.cloud.wait_until_obeying(name)
        bed.cloud.order(name, 'burn 1')
    began = time.time()
    bed.cloud.order('jobs-worker-2', f'after {JOB} idle')
    agent(made, 'jobs-worker-2', less)
    report(environment, made, server_id=busy, queue={'waiting': 0, 'busy': 2})
    report(environment, made, server_id=less, queue={'waiting': 0, 'busy': 1})
    report(environment, made, metric=0.3)
    until(lambda: 'draining' in intentions(bed, 'jobs'))
    say(f'given up after {time.time() - began:.0f} s: {show(bed, "jobs")["servers"]}')
    assert intentions(bed, 'jobs') == ['present', 'draining']
    assert bed.used(PERIOD)[less] > LIMIT / 4
    assert time.time() - began < JOB, 'the test was too slow to see it'
    until(lambda: 'jobs-worker-2' not in own(bed, 'jobs'))
    passed = time.time() - began
    say(f'its job of {JOB} s has ended; it is gone after {passed:.0f} s')
    assert passed >= JOB
    assert list(own(bed, 'jobs')) == ['jobs-worker-1']
    reasons = {one['Action']: one['Reason'] for one in bed.market('dora', 'app', 'events', 'jobs')}
    assert (
        'fewer tasks than its 1' in reasons['draining'] and 'its work ended' in reasons['drained']
    )
    bed.say('dora', 'app', 'delete', 'jobs')
    until(lambda: gone(bed, 'jobs'))


def intentions(bed: MarketBed, name: str) -> list[str]:
    """Of its servers, by number."""
    return [one['intention'] for one in show(bed, name)['servers']]


def used_mib(admin: openstack.connection.Connection, host: str) -> int:
    """What Placement counts as taken there."""
    (provider,) = admin.placement.get(f'/resource_providers?name={host}').json()[
        'resource_providers'
    ]
    usages = admin.placement.get(f'/resource_providers/{provider["uuid"]}/usages').json()['usages']
    return int(usages['MEMORY_MB'])


def bids_of(bed: MarketBed, server: str) -> tuple[int, int]:
    shown = bed.market('dora', 'bid', 'show', server)
    return int(shown['cpu']), int(shown['memory'])


@pytest.mark.parametrize(
    ('rest', 'status', 'freed'),
    [('suspend', 'SUSPENDED', False), ('shelve', 'SHELVED_OFFLOADED', True)],
)
def test_the_room_of_a_suspended_application(
    bed: MarketBed,
    admin: openstack.connection.Connection,
    neighbours: dict[str, str],
    controller: Daemon,
    tmp_path: Path,
    rest: str,
    status: str,
    freed: bool,
):
    """A suspended server keeps it and a shelved one gives it back; resumed, either has its bid again."""
    assert not controller.ended
    bid(bed, neighbours, 1)
    name, empty = f'filler-{rest}', used_mib(admin, 'h1')
    # a third of the core, so that its guest boots within the time beside busy neighbours
    template = {
        'name': name, 'policy': 'best_effort', 'parameters': {'cpu': 2},
        'when_suspended': rest, 'budget': {'renew_amount': 5},
        'components': [component('tiny', 1, 1) | {'least': {}}],
    }  # fmt: skip
    create(bed, tmp_path, template)
    until(lambda: active(bed, name, 1))
    (server,) = own(bed, name).values()
    bed.cloud.wait_until_obeying(f'{name}-worker-1')
    taken = used_mib(admin, 'h1')
    assert taken > empty
    bids = bids_of(bed, server['ID'])
    assert bids != (0, 0)
    bed.market('dora', 'app', 'suspend', name)
    passed = until(lambda: [one['Status'] for one in own(bed, name).values()] == [status])
    until(lambda: used_mib(admin, 'h1') == (empty if freed else taken))
    say(f'{rest}: {passed:.1f} s; Placement counted {empty} MiB, {taken}, {used_mib(admin, "h1")}')
    time.sleep(2 * PERIOD)
    assert used_mib(admin, 'h1') == (empty if freed else taken)
    assert bids_of(bed, server['ID']) == (0, 0)
    bed.market('dora', 'app', 'resume', name)
    passed = until(lambda: active(bed, name, 1))
    say(f'{rest}: active again after {passed:.1f} s')
    bed.cloud.wait_until_obeying(f'{name}-worker-1')
    (again,) = own(bed, name).values()
    assert again['ID'] == server['ID'] and used_mib(admin, 'h1') == taken
    until(lambda: bids_of(bed, server['ID']) == bids)
    until(lambda: server['ID'] in bed.weights())
    bed.say('dora', 'app', 'delete', name)
    until(lambda: gone(bed, name))
