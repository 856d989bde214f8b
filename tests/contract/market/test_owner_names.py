# SPDX-License-Identifier: Apache-2.0
"""What every ports.OwnerNames promises: names that are written down, and OpenStack's APIs over HTTP."""

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.owner_cloud import MemoryOwnerCloud
from nova_market.adapters.in_memory.owner_names import StaticNames
from nova_market.adapters.openstack.owner_names import OwnerNames
from nova_market.conf import opts
from nova_market.core.app.cloud_name import CloudName, NameKind
from nova_market.core.market.owner_server import ServerFlavor
from nova_market.errors import CloudUnavailable
from tests.support.market_bed import host
from tests.support.openstack.owner_cloud import IMAGE, NET, PUBLIC, OwnerNova, serving

FLAVORS = {
    'm1.small': ServerFlavor(id='f1', vcpus=1, memory_mib=1024),
    'm1.large': ServerFlavor(id='f4', vcpus=4, memory_mib=4096),
}
TWICE = [{**NET, 'id': f'twice-{n}', 'name': 'twice'} for n in range(2)]


@pytest.fixture
def nova():
    clock = ManualClock()
    memory = MemoryOwnerCloud(MemoryCloud(clock, [host('a')]), clock, FLAVORS)
    with serving(OwnerNova(memory)) as fake:
        fake.networks = [NET, *TWICE]
        fake.token = f'token-{memory.trust("red")}'
        yield fake


def real(nova):
    """With the catalog of the service's account, over HTTP."""
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], default_config_files=[])
    account = {
        'auth_type': 'password', 'auth_url': nova.url + '/v3', 'username': 'market',
        'password': 'geheim', 'project_name': 'service', 'user_domain_id': 'default',
        'project_domain_id': 'default',
    }  # fmt: skip
    plugin = loading.get_auth_plugin_conf_options('password')
    conf.register_opts(plugin, group='openstack')
    for name, value in account.items():
        conf.set_override(name, value, group='openstack')
    return OwnerNames.from_conf(conf)


@pytest.fixture(params=['memory', 'nova'])
def names(request, nova):
    if request.param == 'nova':
        return real(nova)
    known = {
        NameKind.FLAVOR: [*FLAVORS, 'f1', 'f4'],
        NameKind.IMAGE: ['cirros', IMAGE['id']],
        NameKind.NETWORK: ['net', 'net-id', 'twice', 'twice', 'twice-0', 'twice-1'],
    }
    return StaticNames(known, {**FLAVORS, 'f1': FLAVORS['m1.small']})


def problems(names, nova, *wanted):
    """(name, why, near) of those that are unknown."""
    asked = [CloudName(NameKind(kind), name) for kind, name in wanted]
    found = names.unknown(nova.token, 'red', asked)
    return [(one.name.name, one.why, tuple(one.near)) for one in found]


def test_names_and_ids_that_there_are_are_known(names, nova):
    """Flavors, images and networks, by name and by id."""
    given = [
        ('flavor', 'm1.small'), ('flavor', 'f4'), ('image', 'cirros'), ('image', IMAGE['id']),
        ('network', 'net'), ('network', 'net-id'),
    ]  # fmt: skip
    assert problems(names, nova, *given) == []


@pytest.mark.parametrize(
    ('kind', 'name', 'near'),
    [
        ('flavor', 'm1.smal', ('m1.small',)),
        ('image', 'ciros', ('cirros',)),
        ('network', 'nett', ('net',)),
        ('image', '', ()),
        ('flavor', '../x', ()),
    ],
)
def test_an_unknown_name_has_those_that_are_like_it(names, nova, kind, name, near):
    """The first of them is the likeliest."""
    ((found, why, like),) = problems(names, nova, (kind, name))
    assert (found, why) == (name, f'there is no such {kind} that your project may use')
    assert like[: len(near)] == near


def test_a_name_of_several_networks_needs_an_id(names, nova):
    """Nothing is chosen for the owner."""
    assert problems(names, nova, ('network', 'twice')) == [
        ('twice', '2 are named so: give the id of one', ())
    ]


def test_an_image_of_another_project_is_not_meant(nova):
    """An administrator's token shows it; it is as unknown as one that does not exist."""
    nova.images = [
        {**PUBLIC, 'id': 'x', 'name': 'theirs', 'visibility': 'private', 'owner': 'blue'}
    ]
    assert problems(real(nova), nova, ('image', 'theirs'))[0][0] == 'theirs'


def test_what_the_owner_may_not_look_at_is_not_checked(nova):
    """The controller finds out, as it did before."""
    nova.broken = 403
    assert (
        problems(real(nova), nova, ('flavor', 'm1.small'), ('image', 'x'), ('network', 'x')) == []
    )


@pytest.mark.parametrize('kind', NameKind)
def test_a_service_that_the_catalog_lacks_is_not_asked(nova, kind):
    """A cloud without Glance or Neutron refuses no template; names of the other kinds are looked up."""
    service = {'flavor': 'compute'}.get(kind, str(kind))
    del nova.places[service]
    wanted = [(str(one), 'x') for one in NameKind]
    assert [name for name, *_ in problems(real(nova), nova, *wanted)] == ['x', 'x']
    assert not [one for one in nova.asked if one.startswith(f'GET /{service}')]


@pytest.mark.parametrize('kind', NameKind)
@pytest.mark.parametrize('status', [500, 503])
def test_an_openstack_that_does_not_answer_is_no_answer(nova, status, kind):
    """Not even which versions it has: no name is called unknown for that, and none is called good."""
    nova.broken = status
    with pytest.raises(CloudUnavailable):
        problems(real(nova), nova, (str(kind), 'm1.small'))


def test_a_service_that_has_no_version_is_not_one_that_the_catalog_lacks(nova):
    """It is in the catalog, so its names are not passed unchecked."""
    nova.versions_of_image = []
    with pytest.raises(CloudUnavailable):
        problems(real(nova), nova, ('image', 'cirros'))


def test_a_list_is_read_once_for_all_names(nova):
    """Flavors have no search by name: many names cost no more lists than one."""
    wanted = [(str(kind), name) for kind in NameKind for name in ('x', 'y', 'm1.small')]
    problems(real(nova), nova, *wanted)
    lists = [one for one in nova.asked if 'flavors/detail' in one or 'limit=500' in one]
    assert len(lists) == len(set(lists)) == 4, lists


def test_the_owners_own_token_is_shown(nova):
    """Never that of the service, which may see more."""
    problems(real(nova), nova, ('flavor', 'm1.smal'), ('image', 'x'), ('network', 'x'))
    asked = ('/compute/v2.1/flavors/detail', '/image/v2/images', '/network/v2.0/networks')
    assert {nova.tokens[path] for path in asked} == {nova.token}


def test_sizes_of_flavors_are_told_by_name_and_by_id(names, nova):
    """Under the name that was given; one that there is not has none."""
    asked = ('m1.large', 'f1', 'm1.larg')
    assert names.sizes(nova.token, 'red', asked) == {
        'm1.large': FLAVORS['m1.large'], 'f1': FLAVORS['m1.small'],
    }  # fmt: skip


def test_sizes_that_the_owner_may_not_look_at_are_left_out(nova):
    """The controller finds out."""
    nova.broken = 403
    assert real(nova).sizes(nova.token, 'red', ['m1.small']) == {}
