# SPDX-License-Identifier: Apache-2.0
"""What every ports.MarketCloud promises: a cloud in memory, and Nova's API over HTTP in front of one."""

from dataclasses import replace
from math import inf

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.openstack.compute_services import NovaServices
from nova_market.adapters.openstack.market_cloud import STALE, NovaCloud
from nova_market.adapters.openstack.session import connector
from nova_market.conf import opts
from nova_market.core.market.inventory import MigrationState
from nova_market.errors import CloudUnavailable, MigrationRefused
from nova_market.row_boundary import RowBoundary
from tests.support.market_bed import bidding, host, server
from tests.support.openstack.nova import FakeNova, serving, shown

# openstacksdk warns of what it does itself
pytestmark = pytest.mark.filterwarnings('ignore::openstack.warnings.RemovedInSDK50Warning')

HOSTS = [host('a', zone='east'), host('b', answering=False), host('c', enabled=False)]
SERVERS = [
    server('s1', metadata=bidding(1), hints={'group': 'g'}, flavor='m1'),
    server('s2', 'blue', 'b', extra_specs=bidding(2), zone='east', vcpus=2),
    server('s3', 'blue', 'a', mib=2048, group='g', group_policy='anti-affinity'),
    server('s4', 'blue', 'a', status='SHUTOFF', mib=512),
    server('s5', 'blue', 'a', migratable=False, pinned='locked by its owner', mib=512),
]


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def memory(clock):
    """The cloud behind both."""
    return MemoryCloud(clock, HOSTS, SERVERS, mib_per_second=100.0)


@pytest.fixture
def nova(memory):
    with serving(FakeNova(memory)) as fake:
        yield fake


def nova_account(fake):
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], default_config_files=[])
    conf.register_opts(loading.get_auth_plugin_conf_options('password'), group='openstack')
    account = {
        'auth_type': 'password', 'auth_url': fake.url + '/v3', 'username': 'market',
        'password': 'geheim', 'project_name': 'service', 'user_domain_id': 'default',
        'project_domain_id': 'default',
    }  # fmt: skip
    for name, value in account.items():
        conf.set_override(name, value, group='openstack')
    return connector(conf, 'the test')


def nova_cloud(fake, clock):
    return NovaCloud(nova_account(fake), clock)


@pytest.fixture(params=['memory', 'nova'])
def cloud(request, memory, clock):
    if request.param == 'memory':
        return memory
    return nova_cloud(request.getfixturevalue('nova'), clock)


def test_hosts_by_name(cloud):
    """Real cores and memory, and whether they answer and take servers."""
    found = [(h.name, h.cores, h.memory_mib, h.enabled, h.answering, h.zone) for h in cloud.hosts()]
    assert found == [
        ('a', 4.0, 8192.0, True, True, 'east'),
        ('b', 4.0, 8192.0, True, False, ''),
        ('c', 4.0, 8192.0, False, True, ''),
    ]


def test_when_hosts_have_reported_last(cloud, memory):
    """In the zone of the epoch; one that has never reported has no such time."""
    at = 1_800_000_000.0
    memory.put_host(replace(memory.hosts()[0], reported_at=at))
    assert [one.reported_at for one in cloud.hosts()] == [at, inf, inf]


def test_servers_by_id(cloud):
    """All that bids and migrations need, over several pages."""
    plain = [replace(one, counted={}) for one in cloud.servers()]
    assert plain == SERVERS


def test_a_server_that_is_deleted_is_gone(cloud, memory, request):
    cloud.servers()
    memory.remove('s3')
    if cloud is not memory:
        fake = request.getfixturevalue('nova')
        fake.deleted['s3'] = shown(SERVERS[2]) | {'status': 'DELETED'}
    assert 's3' not in [one.id for one in cloud.servers()]


def test_a_server_that_never_moved(cloud):
    assert cloud.migration('s3') is None


def test_migrations(cloud, memory, clock):
    """Under way, done, and failed; a later one has another id."""
    memory.put_host(host('b'))
    cloud.migrate('s3', 'b')
    clock.advance(10.24)
    first = cloud.migration('s3')
    assert (first.state, first.source, first.destination) == (MigrationState.RUNNING, 'a', 'b')
    assert first.progress == pytest.approx(0.5, abs=0.01)
    clock.advance(10.25)
    assert cloud.migration('s3').state == MigrationState.DONE
    memory.failing.add('s3')
    cloud.migrate('s3', 'a')
    clock.advance(30.0)
    second = cloud.migration('s3')
    assert second.state == MigrationState.FAILED
    assert second.reason
    assert second.id != first.id


@pytest.mark.parametrize(
    ('who', 'where'), [('nobody', 'a'), ('s1', 'c'), ('s5', 'b'), ('s4', 'b'), ('s1', 'nowhere')]
)
def test_migrations_that_are_refused(cloud, who, where):
    """Each says why."""
    with pytest.raises(MigrationRefused):
        cloud.migrate(who, where)


def test_a_cloud_that_does_not_answer(cloud, memory, request):
    if cloud is memory:
        memory.available = False
    else:
        request.getfixturevalue('nova').broken = 503
    for ask in (cloud.hosts, cloud.servers, lambda: cloud.migration('s1')):
        with pytest.raises(CloudUnavailable):
            ask()


def test_nova_is_asked_for_changes_only(nova, memory, clock):
    """Between whole readings; metadata that is changed later is seen at the next one."""
    cloud = nova_cloud(nova, clock)
    cloud.servers()
    memory.put_server(replace(SERVERS[0], metadata=bidding(9)))
    memory.put_server(replace(SERVERS[2], status='SHUTOFF'))
    nova.changed.add('s3')
    clock.advance(60.0)
    found = {one.id: one for one in cloud.servers()}
    assert found['s3'].status == 'SHUTOFF'
    assert found['s1'].metadata == bidding(1)
    clock.advance(300.0)
    assert {one.id: one for one in cloud.servers()}['s1'].metadata == bidding(9)


def test_inventories_are_read_now_and_then(nova, clock):
    """One request per host, not in each period."""
    cloud = nova_cloud(nova, clock)
    cloud.hosts()
    cloud.hosts()
    assert sum('inventories' in asked for asked in nova.asked) == len(HOSTS)
    clock.advance(STALE)
    assert cloud.hosts()[0].counted == {'VCPU': 16.0, 'MEMORY_MB': 12288.0, 'DISK_GB': 100.0}
    assert sum('inventories' in asked for asked in nova.asked) == 2 * len(HOSTS)


def test_used_vcpus_are_those_that_nova_says(nova, memory, clock):
    """Not a sum of servers: those that are deleted softly and CPUs that are reserved count for Nova."""
    memory.put_host(host('a', vcpus_used=29))
    deleted = {'id': 'z', 'status': 'SOFT_DELETED', 'OS-EXT-SRV-ATTR:host': 'a'}
    nova.deleted['z'] = shown(SERVERS[2]) | deleted
    cloud = nova_cloud(nova, clock)
    assert [one.vcpus_used for one in cloud.hosts()] == [29.0, 2.0, 0.0]
    assert 'z' not in [one.id for one in cloud.servers()]


def test_a_host_with_two_nodes_is_left_out(nova, clock, caplog):
    """Two rows of one name would be refused by who reads them, and the round with them; the log says it."""
    caplog.set_level('DEBUG', 'nova_market.adapters.openstack.market_cloud')
    nova.nodes.append({'id': 'old', 'service': {'host': 'a'}, 'vcpus_used': 0})
    assert [one.name for one in nova_cloud(nova, clock).hosts()] == ['b', 'c']
    assert 'host a is left out: it has 2 nodes' in caplog.text


def test_an_answer_that_is_not_understood_is_an_outage(nova, clock, monkeypatch):
    """Not an error that ends the engine's thread."""
    monkeypatch.setattr(nova, '_services', lambda query: (200, {'services': [{}]}, {}))
    with pytest.raises(CloudUnavailable, match='not understood'):
        nova_cloud(nova, clock).hosts()


def test_a_server_that_is_not_understood_costs_that_server(nova, clock):
    """Also when it is the only one that has changed; none of all is understood only when Nova is not."""
    boundary, bad = RowBoundary(), {'flavor': None}
    cloud = NovaCloud(nova_account(nova), clock, whole=300.0, boundary=boundary)
    nova.spoiled['s2'] = bad
    assert [one.id for one in cloud.servers()] == ['s1', 's3', 's4', 's5']
    (aside,) = boundary.listed()
    assert (aside.kind, aside.id, aside.project_id) == ('server', 's2', 'blue')
    nova.spoiled['s3'] = bad
    nova.changed = {'s2', 's3'}
    assert [one.id for one in cloud.servers()] == ['s1', 's4', 's5']
    nova.spoiled.clear()
    assert [one.id for one in cloud.servers()] == ['s1', 's2', 's3', 's4', 's5']
    assert boundary.listed() == ()
    nova.spoiled = {one.id: bad for one in SERVERS}
    clock.advance(300.0)
    with pytest.raises(CloudUnavailable, match='no server in an answer is understood'):
        cloud.servers()


def test_a_host_that_is_not_understood_costs_that_host(nova, clock):
    boundary = RowBoundary()
    nova.spoiled['a'] = {'vcpus_used': 'many'}
    cloud = NovaCloud(nova_account(nova), clock, boundary=boundary)
    assert [one.name for one in cloud.hosts()] == ['b', 'c']
    assert [(one.kind, one.id) for one in boundary.listed()] == [('host', 'a')]


def test_no_secret_in_errors(nova, clock):
    nova.broken = 500
    with pytest.raises(CloudUnavailable) as caught:
        nova_cloud(nova, clock).hosts()
    assert 'geheim' not in str(caught.value)


@pytest.fixture
def services(cloud, memory, request):
    """The compute services of the same cloud."""
    if cloud is memory:
        return memory
    return NovaServices(nova_account(request.getfixturevalue('nova')))


def test_a_service_is_disabled_and_enabled_with_a_reason(services, cloud):
    """Not one that somebody has disabled, and only with the reason that it was disabled with."""
    assert services.disable('a', 'ours') and not services.disable('a', 'again')
    (found, *_) = cloud.hosts()
    assert (found.enabled, found.disabled_reason) == (False, 'ours')
    assert not services.enable('a', 'theirs') and services.enable('a', 'ours')
    assert not services.enable('a', 'ours') and cloud.hosts()[0].enabled
    assert not services.disable('gone', 'ours') and not services.enable('c', 'ours')


def test_who_holds_room_on_a_host(services, cloud, memory):
    """Servers in any state, and those that migrate there."""
    hosts = {one.name: one for one in cloud.hosts()}
    assert [services.users(hosts[name]) for name in 'abc'] == [4, 1, 0]
    memory.put_host(replace(hosts['a'], memory_mib=65536.0))
    cloud.migrate('s2', 'a')
    assert services.users(hosts['a']) == 5
