# SPDX-License-Identifier: Apache-2.0
"""nova-fairness under a real Nova: two projects' servers on two hosts, and what Nova does to them.

Dora's two busy servers share each host with whatever Emil has there. With span = 1 only the grouping by
owner acts, so the value that each server should have is known: Emil's one server twice what each of
Dora's has.
"""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import openstack
import pytest

from nova_market.adapters.control.cpu import CpuShares
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.experiments.guests.recording import jain
from nova_market.experiments.guests.service_process import ServiceProcess, running
from tests.integration.cloud.conftest import HOSTS, Cloud
from tests.integration.cloud.waiting import until, within

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

INTERVAL = 5.0
WHERE = {'d1': 'h1', 'd2': 'h1', 'e1': 'h1', 'd3': 'h2', 'd4': 'h2'}
PROJECTS = {'d': 'dora', 'e': 'emil'}
EMIL = 1536
"""cpu.shares of Emil's server next to two of Dora's: the mean stays Nova's 1024, and 2 : 1 : 1."""


@pytest.fixture(scope='module')
def servers(cloud: Cloud) -> dict[str, str]:
    """name -> id of five ACTIVE servers; Dora's are busy."""
    made = {
        name: cloud.boot(PROJECTS[name[0]], f'fairness-{name}', host)
        for name, host in WHERE.items()
    }
    for name in ('d1', 'd2', 'd3', 'd4'):
        cloud.order(f'fairness-{name}', 'burn 1')
    return made


@pytest.fixture(scope='module')
def views(cloud: Cloud) -> dict[str, LibvirtHost]:
    return {
        host: LibvirtHost(cloud.uri(host), SupplySettings(), fallback_owner='unknown')
        for host in HOSTS
    }


def shares(views: dict[str, LibvirtHost], servers: dict[str, str]) -> dict[str, tuple[str, int]]:
    """name -> (host, cpu.shares) of the servers that run."""
    names = {server: name for name, server in servers.items()}
    found = {}
    for host, view in views.items():
        guests = [item.guest for item in view.sample().guests if item.guest.id in names]
        for guest_id, control in CpuShares(view).read(guests).items():
            found[names[guest_id]] = (host, control.value)
    return found


@pytest.fixture
def services(
    cloud: Cloud,
    environment: dict[str, str],
    servers: dict[str, str],
    views: dict[str, LibvirtHost],
    tmp_path: Path,
) -> Iterator[dict[str, ServiceProcess]]:
    """nova-fairness for both hosts, over the cloud's RabbitMQ; h1 reads quotas. Restored at the end."""
    made = {
        host: ServiceProcess(tmp_path / host, options(environment, host, cloud.uri(host), cpu))
        for cpu, host in enumerate(HOSTS)
    }
    try:
        for service in made.values():
            service.start()
        yield made
    finally:
        for service in made.values():
            service.stop()
    assert {value for _, value in shares(views, servers).values()} == {1024}, "Nova's values again"


def options(
    environment: dict[str, str], host: str, uri: str, cpu: int
) -> dict[str, dict[str, object]]:
    credentials = {
        'auth_type': 'password',
        'auth_url': environment['OS_AUTH_URL'],
        'username': environment['OS_USERNAME'],
        'password': environment['OS_PASSWORD'],
        'project_name': environment['OS_PROJECT_NAME'],
        'user_domain_name': 'Default',
        'project_domain_name': 'Default',
        'region_name': environment['OS_REGION_NAME'],
    }
    return {
        'DEFAULT': {'transport_url': environment['NOVA_MARKET_TRANSPORT_URL'], 'debug': 'true'},
        'fairness': {
            'interval': INTERVAL,
            'resources': 'cpu',
            'span': 1,
            'exchange': 'oslo',
            'quota_source': 'openstack' if host == 'h1' else 'none',
        },
        'exchange': {'members': ','.join(HOSTS)},
        'host': {'name': host, 'libvirt_uri': uri, 'cpus': cpu},
        'openstack': credentials,
    }


def say(text: str) -> None:
    """A figure for whoever reads the output."""
    sys.stderr.write(f'{text}\n')


def near(found: tuple[str, int] | None, host: str, value: int) -> bool:
    return found is not None and found[0] == host and abs(found[1] - value) <= 0.06 * value


def test_owners_come_from_nova(
    services: dict[str, ServiceProcess], admin: openstack.connection.Connection
):
    """Servers are accounted to their projects; both hosts know each other; h1 reads quotas for h2."""
    until(lambda: all(s.status()['cloud']['hosts'] == 2 for s in services.values()))
    until(lambda: services['h2'].status()['cloud']['quotas'] >= 1)
    projects = {admin.identity.find_project(name).id for name in PROJECTS.values()}
    document = services['h1'].status()
    assert {guest['owner'] for guest in document['guests']} <= projects
    assert all(guest['flavor'] == 'tiny' for guest in document['guests'])


def test_the_light_project_is_protected(
    cloud: Cloud,
    services: dict[str, ServiceProcess],
    views: dict[str, LibvirtHost],
    servers: dict[str, str],
):
    """All three servers of h1 are busy: both projects get half of its CPU, measured by libvirt."""
    cloud.order('fairness-e1', 'burn 1')
    until(lambda: near(shares(views, servers).get('e1'), 'h1', EMIL))

    def used() -> dict[str, int]:
        return {i.guest.id: i.counters.cpu_time_ns for i in views['h1'].sample().guests}

    before = used()
    time.sleep(6 * INTERVAL)
    after = used()
    spent = {name: after[servers[name]] - before[servers[name]] for name in ('d1', 'd2', 'e1')}
    whole = sum(spent.values())
    assert spent['e1'] / whole == pytest.approx(0.5, abs=0.03), spent
    assert jain([spent['d1'] + spent['d2'], spent['e1']]) >= 0.99
    cloud.order('fairness-e1', 'idle')


def test_weights_come_back_after_a_hard_reboot(
    services: dict[str, ServiceProcess],
    views: dict[str, LibvirtHost],
    servers: dict[str, str],
    admin: openstack.connection.Connection,
):
    until(lambda: near(shares(views, servers).get('e1'), 'h1', EMIL))
    admin.compute.reboot_server(servers['e1'], 'HARD')
    until(lambda: 'e1' not in shares(views, servers))
    until(lambda: 'e1' in shares(views, servers))
    took = within(2 * INTERVAL, lambda: near(shares(views, servers).get('e1'), 'h1', EMIL))
    say(f'hard reboot: weight back after {took:.1f} s')
    admin.compute.wait_for_server(admin.compute.get_server(servers['e1']), wait=120)


def test_weights_follow_a_live_migration(
    services: dict[str, ServiceProcess],
    views: dict[str, LibvirtHost],
    servers: dict[str, str],
    admin: openstack.connection.Connection,
):
    """There and back: the new host weighs it within two intervals, the old one forgets it."""
    migrate(services, views, servers, admin, target='h2', old='h1')
    migrate(services, views, servers, admin, target='h1', old='h2')


def migrate(services, views, servers, admin, *, target: str, old: str) -> None:
    admin.compute.live_migrate_server(servers['e1'], host=target, block_migration='auto')
    until(lambda: shares(views, servers).get('e1', ('', 0))[0] == target)
    took = within(2 * INTERVAL, lambda: near(shares(views, servers).get('e1'), target, EMIL))
    say(f'live migration to {target}: weight there after {took:.1f} s')
    left = [name for name in ('d1', 'd2', 'd3', 'd4') if WHERE[name] == old]
    until(lambda: all(near(shares(views, servers)[n], old, 1024) for n in left))
    admin.compute.wait_for_server(admin.compute.get_server(servers['e1']), wait=180)


def test_weights_come_back_after_a_resize(
    services: dict[str, ServiceProcess],
    views: dict[str, LibvirtHost],
    servers: dict[str, str],
    admin: openstack.connection.Connection,
):
    """A resize moves the server to the other host under a new flavor."""
    bigger = admin.compute.find_flavor('small')
    admin.compute.resize_server(servers['e1'], bigger)
    server = admin.compute.get_server(servers['e1'])
    admin.compute.wait_for_server(server, status='VERIFY_RESIZE', wait=300)
    host = admin.compute.get_server(servers['e1']).compute_host
    took = within(2 * INTERVAL, lambda: near(shares(views, servers).get('e1'), host, EMIL))
    say(f'resize: on {host}, weight there after {took:.1f} s')
    within(
        2 * INTERVAL,
        lambda: (
            {g['flavor'] for g in services[host].status()['guests'] if g['id'] == servers['e1']}
            == {'small'}
        ),
    )
    admin.compute.revert_server_resize(servers['e1'])
    admin.compute.wait_for_server(server, wait=300)


def test_the_two_hosts_over_zeromq(
    cloud: Cloud,
    environment: dict[str, str],
    servers: dict[str, str],
    views: dict[str, LibvirtHost],
    tmp_path: Path,
):
    """Without a broker: CURVE keys by the command, one of the hosts adds up, weights follow heaviness.

    Dora's two busy servers on h2 make her heavier, so Emil's on h1 rises above what grouping alone gives.
    """
    addresses = {host: f'tcp://127.0.0.1:{free_port()}' for host in HOSTS}
    give_keys(tmp_path)
    made = {}
    for cpu, host in enumerate(HOSTS):
        chosen = options(environment, host, cloud.uri(host), cpu)
        chosen['fairness'] |= {'exchange': 'zmq', 'span': 16, 'quota_source': 'none'}
        chosen['exchange'] = {
            'members': ','.join(f'{name}={address}' for name, address in addresses.items()),
            'zmq_bind': addresses[host],
            'zmq_key_path': str(tmp_path / f'keys-{host}'),
        }
        made[host] = ServiceProcess(tmp_path / host, chosen)
    cloud.order('fairness-e1', 'burn 1')
    with running(*made.values()):
        until(lambda: all(s.status()['cloud']['hosts'] == 2 for s in made.values()))
        took = until(lambda: shares(views, servers)['e1'][1] > 1.1 * EMIL)
        say(f'ZeroMQ: e1 above 1.1 times its part by grouping after {took:.1f} s')
    cloud.order('fairness-e1', 'idle')
    assert {value for _, value in shares(views, servers).values()} == {1024}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def give_keys(directory: Path) -> None:
    """Key directories of both hosts, each believing the other."""

    def keys(host: str, *action: str) -> str:
        path = directory / f'keys-{host}'
        command = ['-m', 'nova_market.cmd.manage', '--path', str(path), '--name', host, 'keys']
        return subprocess.run(
            [sys.executable, *command, *action], check=True, capture_output=True, text=True
        ).stdout

    for host in HOSTS:
        keys(host, 'create')
    for host, other in (HOSTS, HOSTS[::-1]):
        public = re.search(r'[0-9a-f]{64}', keys(other, 'show'))
        assert public is not None
        keys(host, 'add', other, public[0])
