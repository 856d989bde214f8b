# SPDX-License-Identifier: Apache-2.0
"""What every ports.OwnerCloud promises: a cloud in memory, and OpenStack's APIs over HTTP in front of one."""

import base64
import logging

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.owner_cloud import MemoryOwnerCloud
from nova_market.adapters.openstack import trust_session
from nova_market.adapters.openstack.owner_cloud import NovaOwnerCloud
from nova_market.conf import opts
from nova_market.core.app.record import APP_MARKS
from nova_market.core.market.owner_server import NewServer, OwnerAccess, ServerFlavor, ServerState
from nova_market.errors import (
    AccessLost,
    CloudAway,
    CloudRefused,
    CloudUnavailable,
    ConfigurationError,
    TrustGone,
)
from nova_market.row_boundary import RowBoundary
from tests.support.market_bed import host
from tests.support.openstack.owner_cloud import IMAGE, NET, PUBLIC, OwnerNova, serving

BOOT, LEAVE, UPLOAD = 30.0, 10.0, 60.0
FLAVORS = {'small': ServerFlavor(id='f1', vcpus=1, memory_mib=1024)}


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def memory(clock):
    """The cloud behind both."""
    cloud = MemoryCloud(clock, [host('a', mib=16384.0)])
    return MemoryOwnerCloud(cloud, clock, FLAVORS, boot=BOOT, leave=LEAVE, upload=UPLOAD, quota=5)


@pytest.fixture
def nova(memory):
    with serving(OwnerNova(memory)) as fake:
        yield fake


def owner_cloud(url, boundary=None, **more):
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], default_config_files=[])
    account = {
        'auth_type': 'password', 'auth_url': url + '/v3', 'username': 'market',
        'password': 'geheim', 'project_name': 'service', 'user_domain_id': 'default',
        'project_domain_id': 'default', **more,
    }  # fmt: skip
    plugin = loading.get_auth_plugin_conf_options(account['auth_type'])
    conf.register_opts(plugin, group='openstack')
    for name, value in account.items():
        if name in {o.dest for o in plugin} | {'auth_type'}:
            conf.set_override(name, value, group='openstack')
    return NovaOwnerCloud.from_conf(conf, 'nova-market-controller', APP_MARKS, boundary)


@pytest.fixture(params=['memory', 'nova'])
def cloud(request, memory):
    return memory if request.param == 'memory' else owner_cloud(request.getfixturevalue('nova').url)


@pytest.fixture
def red(memory):
    return OwnerAccess(project_id='red', trust_id=memory.trust('red'))


def wanted(place='worker-1', **more):
    given = {'owner': 'a', 'name': f'app-{place}', 'flavor': 'small', 'image': 'cirros'}
    return NewServer(place=place, **given | more)


def states(cloud, access):
    return {one.place: one.state for one in cloud.servers(access)}


def test_a_server_is_made_suspended_resumed_and_deleted(cloud, red, clock):
    """Each step is begun at once and seen when it is done; all are found by their marks."""
    made = [cloud.create(red, wanted(f'worker-{n}')) for n in (1, 2, 3)]
    found = {one.id: one for one in cloud.servers(red)}
    assert sorted(found) == sorted(made)
    assert {(one.owner, one.state) for one in found.values()} == {('a', ServerState.BUILDING)}
    assert found[made[0]].created_at == clock.wall()
    clock.advance(BOOT)
    cloud.suspend(red, made[0])
    assert states(cloud, red)['worker-1'] is ServerState.SUSPENDED
    cloud.resume(red, made[0])
    assert set(states(cloud, red).values()) == {ServerState.RUNNING}
    cloud.delete(red, made[1])
    assert states(cloud, red)['worker-2'] is ServerState.DELETING
    clock.advance(LEAVE)
    assert sorted(states(cloud, red)) == ['worker-1', 'worker-3']


def test_a_server_has_its_address_once_it_runs(cloud, memory, red, clock):
    """The first fixed one, not a floating one; nothing works where it has shut itself down."""
    made = cloud.create(red, wanted())
    assert cloud.server(red, made).address == ''
    clock.advance(BOOT)
    found = cloud.server(red, made)
    assert (found.address, found.state) == (memory.made[made].address, ServerState.RUNNING)
    memory.stop(made)
    assert cloud.server(red, made).state is ServerState.STOPPED


def room(memory):
    """MiB of servers that hosts keep room for."""
    return sum(one.memory_mib for one in memory.hosted())


def test_a_suspended_server_keeps_its_room(cloud, memory, red, clock):
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    cloud.suspend(red, made)
    assert states(cloud, red) == {'worker-1': ServerState.SUSPENDED} and room(memory) == 1024


@pytest.mark.parametrize('first', ['running', 'suspended'])
def test_a_shelved_server_gives_its_room_back(cloud, memory, red, clock, first):
    """Once its image is stored, and from either state; it boots again where there is room."""
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    if first == 'suspended':
        cloud.suspend(red, made)
    cloud.shelve(red, made)
    assert states(cloud, red) == {'worker-1': ServerState.BUSY} and room(memory) == 1024
    clock.advance(UPLOAD)
    assert states(cloud, red) == {'worker-1': ServerState.SHELVED} and room(memory) == 0
    cloud.unshelve(red, made)
    assert states(cloud, red) == {'worker-1': ServerState.BUSY} and room(memory) == 1024
    clock.advance(BOOT)
    assert states(cloud, red) == {'worker-1': ServerState.RUNNING}


def test_a_server_that_no_host_has_room_for_stays_shelved(cloud, memory, red, clock):
    """Nova accepts the request, finds no valid host, and reports nothing."""
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    cloud.shelve(red, made)
    clock.advance(UPLOAD)
    memory.put('big', 'blue', {}, ServerFlavor(id='f9', vcpus=1, memory_mib=16000))
    clock.advance(BOOT)
    cloud.unshelve(red, made)
    assert states(cloud, red) == {'worker-1': ServerState.SHELVED}
    memory.remove('big')
    cloud.unshelve(red, made)
    clock.advance(BOOT)
    assert states(cloud, red) == {'worker-1': ServerState.RUNNING}


def test_other_servers_of_the_project_are_not_shown(cloud, memory, red):
    """Nobody's marks, no application's; nor those of other projects."""
    memory.put('own', 'red', {'role': 'db'}, FLAVORS['small'])
    memory.put('foreign', 'blue', APP_MARKS.of(wanted()), FLAVORS['small'])
    assert cloud.servers(red) == []


def test_a_server_that_failed_says_why(cloud, memory, red, clock):
    memory.failing.add('worker-1')
    cloud.create(red, wanted())
    clock.advance(BOOT)
    (one,) = cloud.servers(red)
    assert (one.state, one.fault) == (ServerState.FAILED, 'no valid host was found')


def test_what_nobody_can_tell_of_is_there_all_the_same(cloud, memory, red, clock):
    """A cell that does not answer: its servers are not taken for lost."""
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    memory.hide(made)
    memory.skips = False
    (listed,) = cloud.servers(red)
    for one in (listed, cloud.server(red, made)):
        assert (one.id, one.owner, one.state) == (made, '', ServerState.UNKNOWN)


def test_a_list_may_leave_out_what_is_there(cloud, memory, red, clock):
    """Nova skips cells that are away unless it is told not to, and always in pages: ask by id."""
    made = [cloud.create(red, wanted(f'worker-{n}')) for n in (1, 2, 3, 4)]
    clock.advance(BOOT)
    for one in made[1:3]:
        memory.hide(one)
    assert sorted(states(cloud, red)) == ['worker-1', 'worker-4']
    assert cloud.server(red, made[1]).state is ServerState.UNKNOWN
    memory.hide(made[1], False)
    found = cloud.server(red, made[1])
    assert (found.place, found.state) == ('worker-2', ServerState.RUNNING)


def test_only_the_project_s_own_servers_are_listed(cloud, memory, red):
    """By id, also those without marks; what is gone or somebody else's is not there."""
    memory.put('own', 'red', {'role': 'db'}, FLAVORS['small'])
    memory.put('foreign', 'blue', APP_MARKS.of(wanted()), FLAVORS['small'])
    assert (cloud.server(red, 'own').id, cloud.server(red, 'own').owner) == ('own', '')
    assert cloud.server(red, 'foreign') is None and cloud.server(red, 'nowhere') is None


def test_flavors_by_name_and_id(cloud, red):
    assert cloud.flavor(red, 'small') == cloud.flavor(red, 'f1') == FLAVORS['small']
    assert cloud.flavor(red, 'huge') is None


@pytest.mark.parametrize('given', [{'flavor': 'huge'}, {'image': 'missing'}])
def test_what_is_not_known_is_refused(cloud, red, given):
    """It says what."""
    with pytest.raises(CloudRefused, match=next(iter(given.values()))):
        cloud.create(red, wanted(**given))


def test_a_full_quota_is_refused(cloud, memory, red):
    memory.quota = 1
    cloud.create(red, wanted('worker-1'))
    with pytest.raises(CloudRefused, match='quota'):
        cloud.create(red, wanted('worker-2'))


def test_what_cannot_be_done_now_is_refused(cloud, red):
    """One that is still being made can't be suspended or shelved, and only a shelved one is unshelved."""
    made = cloud.create(red, wanted())
    for ask in (cloud.suspend, cloud.shelve, cloud.unshelve):
        with pytest.raises(CloudRefused):
            ask(red, made)


def test_what_is_gone_needs_nothing(cloud, red):
    for action in (cloud.suspend, cloud.resume, cloud.shelve, cloud.unshelve, cloud.delete):
        action(red, 'nowhere')


def test_without_its_trust_nothing_goes(cloud, memory, red):
    """Before and after it was used; to forget it twice says that it is gone."""
    with pytest.raises(AccessLost):
        cloud.servers(OwnerAccess(project_id='red', trust_id='none'))
    cloud.forget(red)
    assert memory.trusts == {}
    for ask in (cloud.servers, cloud.forget):
        with pytest.raises(TrustGone):
            ask(red)


def test_a_trust_that_cannot_be_used_now_is_not_gone(cloud, memory, red):
    """Its owner is locked out: only one that is not there is gone for good."""
    memory.barred.add(red.trust_id)
    for ask in (cloud.servers, cloud.forget):
        with pytest.raises(AccessLost) as caught:
            ask(red)
        assert not isinstance(caught.value, TrustGone)
    assert red.trust_id in memory.trusts
    with pytest.raises(TrustGone):
        cloud.servers(OwnerAccess(project_id='red', trust_id='none'))


def test_an_error_is_an_answer(cloud, memory, red):
    """It is the trouble of whoever asked, not the cloud's silence."""
    memory.broken.add('small')
    with pytest.raises(CloudUnavailable) as caught:
        cloud.flavor(red, 'small')
    assert not isinstance(caught.value, CloudAway)


def test_a_locked_server_stays(cloud, memory, red, clock):
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    cloud.servers(red)
    memory.locked.add(made)
    for ask in (cloud.suspend, cloud.shelve, cloud.delete):
        with pytest.raises(CloudRefused, match='locked'):
            ask(red, made)


def test_a_cloud_that_does_not_answer(cloud, memory, red, request):
    if cloud is memory:
        memory.available = False
    else:
        request.getfixturevalue('nova').broken = 503
    for ask in (
        lambda: cloud.servers(red),
        lambda: cloud.create(red, wanted()),
        lambda: cloud.flavor(red, 'small'),
        lambda: cloud.delete(red, 'x'),
    ):
        with pytest.raises(CloudAway):
            ask()


# over HTTP only


def test_an_account_that_is_not_let_in_says_nothing_of_trusts(nova, red, memory):
    """A password that was changed: every trust would look bad, and none may be forgotten."""
    nova.password = 'neu'
    cloud = owner_cloud(nova.url)
    for ask in (cloud.servers, cloud.forget):
        with pytest.raises(CloudAway, match='not let in'):
            ask(red)
    assert red.trust_id in memory.trusts


def test_a_trust_of_a_disabled_project_is_not_gone(nova, red, memory):
    """Keystone refuses both in the same words: whether it is there must be asked for."""
    nova.disabled = {red.trust_id}
    cloud = owner_cloud(nova.url)
    for ask in (cloud.servers, cloud.forget):
        with pytest.raises(AccessLost) as caught:
            ask(red)
        assert not isinstance(caught.value, TrustGone)
    nova.disabled = set()
    owner_cloud(nova.url).forget(red)
    assert memory.trusts == {}


def test_a_trust_that_is_not_good_is_tried_ever_less(nova, red, memory, monkeypatch):
    """Applications of somebody who has left must not keep Keystone and all others waiting in each pass."""
    now = [1000.0]
    monkeypatch.setattr(trust_session, 'monotonic', lambda: now[0])
    memory.barred.add(red.trust_id)
    cloud = owner_cloud(nova.url)
    tried = []
    for _ in range(200):
        nova.asked.clear()
        with pytest.raises(AccessLost):
            cloud.servers(red)
        if nova.asked:
            tried.append(now[0] - 1000.0)
        now[0] += 10.0
    assert tried == [0.0, 30.0, 90.0, 210.0, 450.0, 930.0, 1530.0]
    memory.barred.clear()
    now[0] += 600.0
    assert list(cloud.servers(red)) == []


def test_nobody_at_the_other_end(nova, red):
    """Of Nova alone, or of Keystone too; known before or not."""
    known, new = owner_cloud(nova.url), owner_cloud(nova.url)
    known.servers(red)
    nova.away = True
    for cloud in (known, new):
        with pytest.raises(CloudAway):
            cloud.servers(red)
    with pytest.raises(CloudAway):
        owner_cloud('http://127.0.0.1:1').servers(red)


def test_what_nova_is_asked_for(nova, red):
    """Names become ids; networks by name, by id, none at all, or what Nova chooses."""
    cloud = owner_cloud(nova.url)
    for networks in ((), ('none',), ('net', 'net-id')):
        cloud.create(red, wanted(networks=networks, user_data='grüße', image=IMAGE['id']))
    assert [one['networks'] for one in nova.made] == [
        'auto',
        'none',
        [{'uuid': 'net-id'}, {'uuid': 'net-id'}],
    ]
    assert nova.made[0]['metadata'] == {'market:app': 'a', 'market:slot': 'worker-1'}
    assert nova.made[0]['flavorRef'] == 'f1'
    assert nova.made[0]['user_data'] == 'Z3LDvMOfZQ=='
    with pytest.raises(CloudRefused, match="no network 'other'"):
        cloud.create(red, wanted(networks=('other',)))


def test_what_runs_on_a_server_is_in_no_log(nova, red, caplog):
    """It holds the application's credential."""
    caplog.set_level(logging.DEBUG)
    text = 'X-App-Credential: geheim'
    owner_cloud(nova.url).create(red, wanted(user_data=text))
    kept = nova.made[0]['user_data']
    assert base64.b64decode(kept).decode() == text and kept not in caplog.text


def test_a_name_that_is_no_flavor_is_not_understood(nova, red):
    """One that is another place in Nova's API."""
    with pytest.raises(CloudUnavailable, match='not understood'):
        owner_cloud(nova.url).flavor(red, 'detail')


def test_an_image_of_another_project_is_never_meant(nova, red):
    """Whoever sees all images boots his own, then everybody's, whatever others name theirs."""
    cloud = owner_cloud(nova.url)
    foreign = {**PUBLIC, 'id': 'foreign', 'visibility': 'private', 'owner': 'blue'}
    own = {**foreign, 'id': 'own', 'owner': 'red'}
    for images in ([foreign, PUBLIC], [foreign, PUBLIC, own]):
        nova.images = images
        cloud.create(red, wanted())
    assert [one['imageRef'] for one in nova.made] == [IMAGE['id'], 'own']
    nova.images = [foreign]
    with pytest.raises(CloudRefused, match="no image 'cirros' of the project"):
        cloud.create(red, wanted())


def test_a_network_that_somebody_shares_does_not_stand_for_an_own_one(nova, red):
    """Nor does one of another project for none; two that are shared are told apart by their ids."""
    cloud = owner_cloud(nova.url)
    foreign = {**NET, 'id': 'foreign', 'project_id': 'blue'}
    nova.networks = [NET, foreign, {**foreign, 'id': 'own', 'project_id': 'red', 'shared': False}]
    cloud.create(red, wanted(networks=('net',)))
    nova.networks = [NET, {**foreign, 'shared': False}]
    cloud.create(red, wanted(networks=('net',)))
    assert [one['networks'][0]['uuid'] for one in nova.made] == ['own', 'net-id']
    nova.networks = [NET, foreign]
    with pytest.raises(CloudRefused, match="2 networks are named 'net': give the id"):
        cloud.create(red, wanted(networks=('net',)))


def test_a_flavor_may_limit_what_its_servers_use(nova, red, memory, monkeypatch):
    """As the market's rounds do (B1); what is no number limits nothing."""
    specs = {'market:max_cpu': '0.25', 'market:max_memory_mib': 'much'}
    flavors = [{'id': 'f1', 'name': 'small', 'vcpus': 1, 'ram': 1024, 'extra_specs': specs}]
    monkeypatch.setattr(nova, '_all_flavors', lambda: flavors)
    found = owner_cloud(nova.url).flavor(red, 'small')
    assert (found.vcpus, found.memory_mib) == (0.25, 1024.0)


def test_one_token_for_each_trust(nova, red):
    """However often it is asked."""
    cloud = owner_cloud(nova.url)
    for _ in range(3):
        cloud.servers(red)
    assert sum(one.startswith('POST /v3') for one in nova.asked) == 1


def test_a_server_that_broke_later_is_left_alone(nova, memory, red, clock):
    """Only what Nova never started has failed."""
    cloud = owner_cloud(nova.url)
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    cloud.servers(red)
    memory.made[made].state = ServerState.BUSY
    assert states(cloud, red) == {'worker-1': ServerState.BUSY}


def test_a_server_that_shuts_down_is_stopped_and_not_busy(nova, red, clock):
    """Nova powers it off when its guest has, and is seen at that for a moment."""
    cloud = owner_cloud(nova.url)
    made = cloud.create(red, wanted())
    clock.advance(BOOT)
    nova.tasks[made] = 'powering-off'
    assert states(cloud, red) == {'worker-1': ServerState.STOPPED}


def test_an_account_that_no_trust_can_name_is_refused(nova):
    """An application credential acts in one project only."""
    with pytest.raises(ConfigurationError, match='auth_type = v3applicationcredential'):
        owner_cloud(
            nova.url,
            auth_type='v3applicationcredential',
            application_credential_id='x',
            application_credential_secret='y',
        )


def test_a_server_that_is_not_understood_is_there_all_the_same(nova, red):
    """Nothing is known of it, so it is neither taken to be gone nor made once more."""
    boundary = RowBoundary()
    cloud = owner_cloud(nova.url, boundary)
    server_id = cloud.create(red, wanted())
    nova.spoiled[server_id] = {'created': 'noon'}
    (found,) = cloud.servers(red)
    assert (found.id, found.owner, found.place) == (server_id, 'a', 'worker-1')
    assert found.state is ServerState.UNKNOWN
    (aside,) = boundary.listed()
    assert (aside.kind, aside.id, aside.project_id) == ('server', server_id, red.project_id)
