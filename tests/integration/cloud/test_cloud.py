# SPDX-License-Identifier: Apache-2.0
"""tools/cloud itself: up again changes nothing, servers on two hosts, metadata, moves, down without trace."""

import re
import subprocess

import pytest

from tests.integration.cloud.conftest import STATE, Cloud
from tests.integration.cloud.left_behind import left_behind
from tests.integration.cloud.waiting import until

pytestmark = [pytest.mark.cloud, pytest.mark.timeout(1500)]


@pytest.fixture(scope='module')
def two_servers(cloud: Cloud) -> dict[str, str]:
    """The id of dora's server d1 on h1 and of emil's e1 on h2."""
    return {'d1': cloud.boot('dora', 'd1', 'h1'), 'e1': cloud.boot('emil', 'e1', 'h2', 'favoured')}


def test_up_again_changes_nothing(cloud: Cloud) -> None:
    """Every process is the same as before."""
    before = cloud.tool('status')
    cloud.up()
    assert cloud.tool('status') == before


def test_servers_run_on_two_hosts(cloud: Cloud, two_servers: dict[str, str]) -> None:
    servers = cloud.servers()
    assert {name: (servers[name]['Status'], servers[name]['Host']) for name in two_servers} == {
        'd1': ('ACTIVE', 'h1'),
        'e1': ('ACTIVE', 'h2'),
    }


def test_the_metadata_names_the_owner(cloud: Cloud, two_servers: dict[str, str]) -> None:
    """libvirt of the right host has Nova's metadata: project, and the flavor's extra specs."""
    uri = 'http://openstack.org/xmlns/libvirt/nova/1.1'
    d1 = cloud.virsh('h1', 'metadata', two_servers['d1'], uri)
    e1 = cloud.virsh('h2', 'metadata', two_servers['e1'], uri)
    assert f'<project uuid="{cloud.project_id("dora")}">dora<' in d1
    assert f'<project uuid="{cloud.project_id("emil")}">emil<' in e1
    assert '<extraSpec name="quota:cpu_shares">2048<' in e1


def test_a_guest_obeys_and_reaches_another_host(cloud: Cloud, two_servers: dict[str, str]) -> None:
    """Orders go by the console; the guests' network spans the hosts."""
    address = re.search(r'10\.1\.0\.\d+', str(cloud.servers()['e1']['Networks']))
    assert address is not None
    ping = f'ping {address[0]}'
    until(lambda: cloud.attempt('order', 'd1', *ping.split()).stdout.strip() == f'OBEYED {ping}')
    refused = cloud.attempt('order', 'd1', 'dance')
    assert refused.returncode == 1
    assert "unknown command 'dance'" in refused.stderr


def test_an_order_is_for_one_server(cloud: Cloud, two_servers: dict[str, str]) -> None:
    """Where a project has a server of the same name, the order is refused, and an id tells them apart."""
    other = cloud.create('dora', 'e1', 'h1')
    try:
        refused = cloud.attempt('order', 'e1', 'load')
        assert refused.returncode == 1
        assert '2 servers are named e1: ' in refused.stderr
        assert {one for one in (other, two_servers['e1']) if one not in refused.stderr} == set()
        cloud.wait_until_obeying(two_servers['e1'])
    finally:
        cloud.openstack('admin', 'server', 'delete', '--wait', other)


def test_a_server_survives_reboot_resize_and_migration(
    cloud: Cloud, two_servers: dict[str, str]
) -> None:
    """Each leaves an ACTIVE server whose guest obeys; resize and migration change the host."""
    server = two_servers['d1']
    cloud.openstack('admin', 'server', 'reboot', '--hard', '--wait', server)
    cloud.wait_until_obeying('d1')
    cloud.openstack(
        'admin', 'server', 'migrate', '--live-migration', '--block-migration', '--wait', server
    )
    assert cloud.servers()['d1']['Host'] == 'h2'
    cloud.wait_until_obeying('d1')
    cloud.openstack('admin', 'server', 'resize', '--flavor', 'small', '--wait', server)
    cloud.openstack('admin', 'server', 'resize', 'confirm', server)
    cloud.wait_until_obeying('d1')
    moved = cloud.servers()['d1']
    assert (moved['Status'], moved['Host'], moved['Flavor']) == ('ACTIVE', 'h1', 'small')


def test_nothing_listens_to_the_world(cloud: Cloud) -> None:
    """Every port of ours is on the loopback interface, but for the market's in the network of the guests."""
    pids = {line.split()[2] for line in cloud.tool('status').splitlines() if ' up ' in line}
    listening = subprocess.run(['ss', '-Hltnp'], check=True, capture_output=True, text=True).stdout
    ours = [line for line in listening.splitlines() if pids & set(re.findall(r'pid=(\d+)', line))]
    assert len(ours) >= 9
    inside = r'\s(127\.0\.0\.1|\[::1\]|10\.1\.0\.254):\d+\s'
    assert [line for line in ours if not re.search(inside, line)] == []


def test_secrets_are_root_s_own(cloud: Cloud) -> None:
    """The passwords are in files that nobody else may read, and on no command line."""
    assert cloud.is_up()
    assert (STATE / 'secrets').stat().st_mode & 0o777 == 0o600
    assert (STATE / 'etc').stat().st_mode & 0o777 == 0o700
    passwords = re.findall(r'=(\S+)', (STATE / 'secrets').read_text())
    assert len(set(passwords)) == len(passwords) == 7
    arguments = subprocess.run(['ps', '-eo', 'args'], check=True, capture_output=True, text=True)
    assert [word for word in passwords if word in arguments.stdout] == []


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['upp'], "unknown command 'upp'"),
        (['down', '--all'], "unknown option '--all'"),
        (['as', 'nobody', 'true'], "'nobody' is none of the projects dora emil"),
        (['up', '--memory-mib', 'much'], "must be a number of at least 100, not 'much'"),
        (['status', '--state', '/nonexistent'], 'there is no cloud in /nonexistent'),
    ],
)
def test_a_mistake_gets_one_clear_line(cloud: Cloud, arguments: list[str], expected: str) -> None:
    done = cloud.attempt(*arguments)
    assert done.returncode == 1
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_down_leaves_nothing_and_up_brings_the_servers_back(
    cloud: Cloud, two_servers: dict[str, str]
) -> None:
    """No process, mount, cgroup or device stays; the servers run again afterwards, where they were."""
    cloud.tool('down')
    assert left_behind('nova-market-cloud') == []
    assert left_behind('nmcloud') == []
    assert left_behind(str(STATE)) == []
    assert cloud.attempt('status').returncode == 3
    cloud.up()
    for name in two_servers:
        cloud.wait_until_obeying(name)
    assert cloud.servers()['e1']['Host'] == 'h2'
