# SPDX-License-Identifier: Apache-2.0
"""Leases on a real Nova: the five scenarios of CloudAlloc, section 4, on two hosts.

Who looks sees what is free; hosts are booked by name and by the service, and a refusal has near options; a
second algorithm shows what it would change; a lease begins, and its owner's servers use what it reserved; a
host is disabled, and another one comes. Rules L1 to L8 of doc/source/specs/leases.rst. Each test builds on
those before it.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from openstack.connection import Connection

from nova_market.core.ledger.money import MICRO
from tests.integration.cloud.conftest import Cloud, at, say
from tests.integration.cloud.deployed_leases import SERVICES, SETTINGS, LeasesBed, leases_bed
from tests.integration.cloud.nova_servers import REFUSED, placed
from tests.integration.cloud.waiting import until, within

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

GRANT = 100_000
TOMORROW = 86_400.0
SOON, LONG = 60.0, 240.0
"""Seconds until the first lease begins, and that it lasts."""

SEEN = 60.0
"""Seconds in which whatever happens to a host has been answered (L8)."""
HINT = 'market_lease'

Json = dict[str, Any]


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).strftime('%Y-%m-%dT%H:%M:%SZ')


@pytest.fixture(scope='module')
def bed(
    cloud: Cloud, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LeasesBed]:
    with leases_bed(cloud, environment, tmp_path_factory.mktemp('leases')) as made:
        yield made


@pytest.fixture(scope='module')
def markets(bed: LeasesBed, cloud: Cloud) -> dict[str, Any]:
    """project -> its connection; tenants have credits."""
    found = {name: bed.market.connection(name).market for name in ('dora', 'emil', 'admin')}
    for name in ('dora', 'emil'):
        found['admin'].grant(f'project:{cloud.project_id(name)}', GRANT * MICRO)
    return found


@pytest.fixture(scope='module')
def seen() -> dict[str, Any]:
    """What is carried from test to test."""
    return {}


def refused(bed: LeasesBed, project: str, *words: str) -> str:
    """What `openstack market lease create` says when it books nothing."""
    with pytest.raises(AssertionError) as caught:
        bed.market.market(project, 'lease', 'create', *words)
    return str(caught.value)


def hosts_tomorrow(markets: dict[str, Any]) -> set[str]:
    """Of emil's leases that begin then."""
    return {
        node['host']
        for one in markets['emil'].leases()
        if at(one.start) > time.time() + TOMORROW / 2
        for node in one.nodes
    }


def test_what_is_free_is_shown(bed: LeasesBed, markets: dict[str, Any]):
    """Scenario 1: monitoring. Both hosts are read, and nothing is booked."""

    def read() -> bool:
        try:
            rows = bed.market.market('dora', 'lease', 'calendar')
        except AssertionError:
            return False  # no pass was made yet
        return [row['Host'] for row in rows] == ['h1', 'h2']

    until(read)
    rows = bed.market.market('dora', 'lease', 'calendar')
    assert all(row['Leases'] == 0 and float(row['Cores']) > 0 for row in rows)


def test_hosts_are_booked_by_hand_and_by_the_service(
    bed: LeasesBed, markets: dict[str, Any], seen: dict[str, Any]
):
    """Scenario 2. What is refused has near options, and one of them can be had."""
    start, length = moment(SOON), f'{LONG:.0f}s'
    whole = bed.market.market(
        'dora', 'lease', 'create', '--nodes', '2', '--whole', '--start', start, '--for', length
    )
    assert whole['state'] == 'planned'
    assert {node['host'] for node in whole['nodes']} == {'h1', 'h2'}
    wanted = ('--host', 'h1', '--cores', '1', '--memory', '512', '--for', '1m')
    text = refused(bed, 'emil', *wanted, '--start', start)
    say(text.splitlines()[0])
    assert 'on host h1' in text
    assert 'instead (later): h1 from ' in text
    later = text.partition('instead (later): h1 from ')[2].split()[0]
    assert at(later) >= at(whole['end'])
    taken = bed.market.market('emil', 'lease', 'create', *wanted, '--start', later)
    assert (taken['start'], taken['state']) == (later, 'planned')
    seen['whole'], seen['part'] = whole['id'], taken['id']


def test_another_algorithm_shows_what_it_would_change(bed: LeasesBed, markets: dict[str, Any]):
    """Scenario 3: leases that were put together for power are spread by `search` for balance."""
    start, finish = moment(TOMORROW), moment(TOMORROW + 3600)
    for name in ('one', 'two'):
        markets['emil'].create_lease(
            key=name, nodes=1, cores=1, memory_mib=512, duration=3600, flexible=True,
            earliest=start, finish=finish,
        )  # fmt: skip
    assert len(hosts_tomorrow(markets)) == 1
    replan = {'algorithm': 'search', 'objective': 'balance'}
    shown = markets['admin'].replan_leases(**replan, dry_run=True)
    assert not shown.written
    assert len(shown.moves) == 1
    assert shown.after['cost'] < shown.before['cost']
    assert (shown.before['hosts'], shown.after['hosts']) == (1, 2)
    assert shown.after['joules'] > shown.before['joules']
    done = markets['admin'].replan_leases(**replan)
    assert done.written
    assert done.moves == shown.moves
    assert hosts_tomorrow(markets) == {'h1', 'h2'}
    say(f'replanned: {done.before} -> {done.after} {done.unit}')
    assert not markets['admin'].replan_leases(**replan).moves


def test_a_lease_begins_while_a_service_is_killed(
    bed: LeasesBed, markets: dict[str, Any], seen: dict[str, Any]
):
    """It begins on time, though the service that leads dies before."""
    first = SERVICES[0]
    bed.services[first].kill()
    lease = lambda: markets['dora'].get_lease(seen['whole'])  # noqa: E731
    until(lambda: lease().state == 'active')
    late = time.time() - at(lease().start)
    say(f'active {late:.1f} s after its start')
    assert late < SEEN / 2
    bed.services[first].launch()


def test_what_is_reserved_is_for_servers_of_the_lease(
    bed: LeasesBed, admin: Connection, seen: dict[str, Any]
):
    """Nova's scheduler puts there who names the lease by a hint, and nobody else: both hosts are reserved."""
    dora, emil = (bed.market.connection(name) for name in ('dora', 'emil'))
    until(lambda: placed(admin, emil, 'stranger', 'tiny') == REFUSED)
    assert placed(admin, dora, 'forgetful', 'tiny') == REFUSED
    assert placed(admin, emil, 'thief', 'tiny', hints={HINT: seen['whole']}) == REFUSED
    host = placed(admin, dora, 'guest', 'tiny', hints={HINT: seen['whole']})
    assert host in {'h1', 'h2'}


def test_an_ended_lease_is_paid(bed: LeasesBed, markets: dict[str, Any], seen: dict[str, Any]):
    """To the micro-credit, and the room is free again for who came later."""
    lease = lambda: markets['dora'].get_lease(seen['whole'])  # noqa: E731
    until(lambda: lease().state == 'ended')
    ended = lease()
    hours = LONG / 3600
    cores = sum(node['cores'] for node in ended.nodes)
    assert (
        ended.charged
        == ended.cost
        == pytest.approx(cores * hours * SETTINGS['price_core_hour'] * MICRO)
    )
    until(lambda: markets['emil'].get_lease(seen['part']).state == 'active')


def test_a_disabled_host_loses_its_leases_to_the_other_and_comes_back(
    bed: LeasesBed, markets: dict[str, Any], admin: Connection
):
    """Scenario 5: what fits elsewhere is placed there within a minute; a host that comes is used."""
    services = {one.host: one for one in admin.compute.services(binary='nova-compute')}
    moved, other = 'h1', 'h2'
    admin.compute.disable_service(services[moved].id, disabled_reason='maintenance')
    try:
        passed = within(SEEN, lambda: hosts_tomorrow(markets) == {other})
        say(f'placed anew {passed:.1f} s after {moved} was disabled')
        both = ('--nodes', '2', '--whole', '--start', moment(2 * 86_400), '--for', '1h')
        say(refused(bed, 'dora', *both).splitlines()[0])
    finally:
        admin.compute.enable_service(services[moved].id)

    def booked() -> bool:
        try:
            bed.market.market('dora', 'lease', 'create', *both)
        except AssertionError:
            return False
        return True

    say(f'used {within(SEEN, booked):.1f} s after it was enabled')


def test_sums_of_the_ledger(bed: LeasesBed, markets: dict[str, Any]):
    """What is not charged is held or with its owner."""
    held = {one.id: one.balance for one in markets['admin'].accounts(all_projects='true')}
    assert sum(held.values()) == 0
    costs = [
        one.cost - one.charged - one.refunded
        for one in markets['admin'].leases(all_projects='true')
        if one.state not in ('ended', 'failed')
    ]
    assert held['escrow'] == sum(costs)
    assert bed.market.adds_up()
