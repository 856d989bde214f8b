# SPDX-License-Identifier: Apache-2.0
"""The DevStack plugin keeps DevStack's contract, with DevStack's own functions recorded instead of run."""

import re

import pytest
from oslo_config import cfg
from oslo_log import log
from oslo_middleware import http_proxy_to_wsgi

from nova_market.cmd.extras import EXTRAS
from nova_market.conf import database, opts, scheduler
from tests.style.test_packaging import extra_lines, included
from tests.support.devstack.node import Call, Node, named, options
from tests.support.documentation.sessions import ROOT

pytestmark = pytest.mark.clock

STACK = ('stack install', 'stack post-config', 'stack extra', 'stack test-config')
COMPUTE = Node(services='n-cpu')
MARKET = (
    'nova-market-api nova-market-engine nova-market-controller nova-market-jobs nova-market-leases '
    'nova-market-notices'
)
CONTROLLER = Node(services=f'mysql key n-api n-sch {MARKET}')
ALL_IN_ONE = Node(services=f'{CONTROLLER.services} n-cpu tempest')

CONF = '/etc/nova_market/nova_market.conf'
UWSGI = '/etc/nova_market/nova-market-api-uwsgi.ini'
NOVA_CONF = '/etc/nova/nova.conf'
TEMPEST_CONF = '/opt/stack/tempest/etc/tempest.conf'
STATE = '/opt/stack/data/nova-market'
URL = 'http://192.0.2.1/market'


def first(calls: list[Call], *words: str) -> int:
    """The place of the first call that begins with these words."""
    return next(place for place, call in enumerate(calls) if call[: len(words)] == words)


def test_settings_define_the_plugin() -> None:
    """DevStack orders plugins by define_plugin, and starts what is enabled."""
    calls = COMPUTE.run()
    assert ('define_plugin', 'nova-market') in calls
    assert named(calls, 'enable_service') == [('enable_service', 'nova-fairness')]


@pytest.mark.parametrize(
    ('node', 'extras'),
    [
        (COMPUTE, 'fairness'),
        (Node(services='nova-fairness n-cpu n-api'), 'fairness,scheduler'),
        (Node(services='nova-market-jobs'), 'controller'),
        (Node(services='nova-market-leases'), 'controller,leases'),
        (CONTROLLER, 'controller,api,leases,scheduler'),
        (ALL_IN_ONE, 'fairness,controller,api,leases,scheduler'),
    ],
)
def test_the_tree_is_installed_once(node: Node, extras: str) -> None:
    """One install with what the services of a node need, and nothing else happens in that phase."""
    calls = node.run('stack install')
    assert named(calls, 'setup_develop') == [('setup_develop', str(ROOT), extras)]
    assert {call[0] for call in calls} == {
        'define_plugin',
        'enable_service',
        'echo_summary',
        'setup_develop',
    }


@pytest.mark.parametrize('node', [COMPUTE, CONTROLLER, ALL_IN_ONE])
def test_what_a_node_starts_has_its_extra(node: Node) -> None:
    """Of setup.cfg: pip only warns of an extra that a package does not have."""
    calls = node.run(*STACK)
    (install,) = named(calls, 'setup_develop')
    extras = install[2].split(',')
    started = {call[1] for call in named(calls, 'run_process')} & {*node.services.split()}
    assert {EXTRAS[service] for service in started} <= included(extras) <= extra_lines().keys()


@pytest.mark.parametrize('node', [COMPUTE, CONTROLLER, ALL_IN_ONE])
def test_what_is_written_are_options_of_ours(node: Node) -> None:
    """Each option of both files exists, and takes the value that it gets."""
    calls = node.run(*STACK)
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    opts.register_opts(conf)
    database.register_opts(conf)
    scheduler.register_opts(conf)
    conf.register_opts(http_proxy_to_wsgi.OPTS, group='oslo_middleware')
    conf([], default_config_files=[])
    ours = options(calls, CONF) | {
        (section, name): value
        for (section, name), value in options(calls, NOVA_CONF).items()
        if section == 'nova_market'
    }
    assert ('fairness', 'exchange') in ours
    for (section, name), value in ours.items():
        group = None if section == 'DEFAULT' else section
        if (section, name) in KEYSTONE:
            continue
        conf.set_override(name, value, group=group)


KEYSTONE = {
    (section, name)
    for section in ('openstack', 'nova_market')
    for name in (
        'auth_url',
        'username',
        'password',
        'user_domain_name',
        'project_name',
        'project_domain_name',
    )
}
"""Options of the auth plug-in `password`, which is loaded with them."""


def test_a_compute_node_gets_no_credentials() -> None:
    """Only the node with the API reads quotas, so only there is a password written."""
    calls = COMPUTE.run(*STACK)
    assert options(calls, CONF)['fairness', 'exchange'] == 'oslo'
    assert 'secret' not in str(calls)
    assert not named(calls, 'create_service_user')


def test_a_host_with_the_api_reads_quotas() -> None:
    """There an account is made and its credentials are written."""
    calls = Node(services='n-cpu n-api').run(*STACK)
    assert ('create_service_user', 'nova-market', 'admin') in calls
    written = options(calls, CONF)
    assert written['fairness', 'quota_source'] == 'openstack'
    assert written['openstack', 'password'] == 'secret'


def test_services_of_a_node_have_one_account() -> None:
    """The host's service and the market read one file, so one does not write over the other's credentials."""
    calls = ALL_IN_ONE.run(*STACK)
    assert named(calls, 'create_service_user') == [('create_service_user', 'nova-market', 'admin')]
    users = [call for call in calls if call[:4] == ('iniset', CONF, 'openstack', 'username')]
    assert [call[4] for call in users] == ['nova-market']


@pytest.mark.parametrize('node', [COMPUTE, CONTROLLER])
def test_the_configuration_is_private_before_a_secret_is_in_it(node: Node) -> None:
    """The file is made anew with mode 0600 before the first value is set."""
    calls = node.run('stack post-config')
    made = [place for place, call in enumerate(calls) if call[0] == 'install']
    assert [calls[place] for place in made] == [('install', '-m', '0600', '/dev/null', CONF)]
    assert made[0] < first(calls, 'iniset')


def test_the_agent_starts_in_the_last_phase() -> None:
    """When libvirt is up; as root, with a state directory of its own."""
    calls = COMPUTE.run('stack extra')
    agent = f'/usr/local/bin/nova-fairness --config-file {CONF}'
    assert named(calls, 'run_process') == [('run_process', 'nova-fairness', agent, '', 'root')]
    assert ('sudo', 'install', '-d', '-m', '0700', f'{STATE}/fairness') in calls


@pytest.mark.parametrize(
    'node',
    [
        Node(services='n-api n-sch'),
        Node(services='n-cpu n-api', localrc='disable_service nova-fairness'),
    ],
)
def test_nothing_happens_where_it_does_not_belong(node: Node) -> None:
    """A node without n-cpu, or one where nothing of ours is enabled, is left as it is."""
    calls = node.run(*STACK, 'unstack', 'clean')
    assert {call[0] for call in calls} <= {'define_plugin', 'enable_service', 'disable_service'}


@pytest.mark.parametrize('service', MARKET.split())
def test_each_service_of_the_market_can_be_alone(service: str) -> None:
    """Whichever is enabled on a node, that node gets the package, the configuration and the process."""
    calls = Node(services=service).run(*STACK)
    assert named(calls, 'setup_develop')
    assert ('database', 'connection') in options(calls, CONF)
    started = {call[1]: call[2] for call in named(calls, 'run_process')}
    assert f'{CONF}' in started[service] or UWSGI in started[service]
    stopped = Node(services=service).run('unstack')
    assert ('stop_process', service) in stopped


def test_the_market_has_an_endpoint_a_database_and_an_account() -> None:
    """They are there before a service starts; the API answers before the others start."""
    calls = CONTROLLER.run(*STACK)
    assert ('get_or_create_endpoint', 'market', 'RegionOne', URL) in calls
    assert named(calls, 'write_uwsgi_config') == [
        (
            'write_uwsgi_config',
            UWSGI,
            'nova_market.wsgi.api:application',
            '/market',
            '',
            'nova-market-api',
        )
    ]
    order = [
        first(calls, 'recreate_database', 'nova_market'),
        first(calls, 'nova-market-manage', '--config-file', CONF, 'db', 'sync'),
        first(calls, 'run_process', 'nova-market-api'),
        first(calls, 'wait_for_service', '60', URL),
        first(calls, 'run_process', 'nova-market-engine'),
    ]
    assert order == sorted(order)
    assert {call[1] for call in named(calls, 'run_process')} == set(MARKET.split())


def test_the_database_is_made_where_its_server_is() -> None:
    """A second controller would empty the tables of the first."""
    second = Node(services='nova-market-api nova-market-engine').run(*STACK)
    assert not named(second, 'recreate_database')
    assert not named(second, 'nova-market-manage')


def test_the_application_finds_its_configuration() -> None:
    """uWSGI has no command line of ours, and the file may be anywhere; write_uwsgi_config empties its own."""
    calls = Node(services=MARKET, localrc='NOVA_MARKET_CONF_DIR=/etc/elsewhere').run(*STACK)
    uwsgi = '/etc/elsewhere/nova-market-api-uwsgi.ini'
    assert options(calls, uwsgi) == {
        ('uwsgi', 'env'): 'NOVA_MARKET_CONFIG_FILE=/etc/elsewhere/nova_market.conf'
    }
    assert first(calls, 'write_uwsgi_config', uwsgi) < first(calls, 'iniset', uwsgi)


def test_an_api_that_does_not_answer_ends_the_run() -> None:
    """With its address and where to look."""
    broken = Node(services=CONTROLLER.services, answering=False)
    calls = broken.run('stack extra', fails=True)
    assert calls[-1][0] == 'die'
    assert URL in calls[-1][2]
    assert 'journalctl' in calls[-1][2]


def test_the_endpoint_can_be_elsewhere() -> None:
    """Behind a load balancer, for example; the services use the same address."""
    elsewhere = Node(
        services=CONTROLLER.services,
        localrc='NOVA_MARKET_SERVICE_PROTOCOL=https NOVA_MARKET_SERVICE_HOST=cloud.example '
        'NOVA_MARKET_API_PATH=/vm-market',
    )
    calls = elsewhere.run(*STACK)
    url = 'https://cloud.example/vm-market'
    assert ('get_or_create_endpoint', 'market', 'RegionOne', url) in calls
    assert ('wait_for_service', '60', url) in calls
    assert options(calls, CONF)['jobs', 'worker_url'] == url
    assert named(calls, 'write_uwsgi_config')[0][3] == '/vm-market'


@pytest.mark.parametrize(
    ('localrc', 'protocol'),
    [('', 'https'), ('NOVA_MARKET_SERVICE_PROTOCOL=http', 'http')],
)
def test_the_endpoint_is_encrypted_where_devstack_encrypts(localrc: str, protocol: str) -> None:
    """With tls-proxy, as for each service of DevStack, unless local.conf has another."""
    node = Node(services=f'{CONTROLLER.services} tls-proxy', localrc=localrc)
    calls = node.run('stack post-config')
    url = f'{protocol}://192.0.2.1/market'
    assert ('get_or_create_endpoint', 'market', 'RegionOne', url) in calls


def test_every_project_of_devstack_gets_credits() -> None:
    """Whoever tries the market there has an equal part, which elsewhere the operator has to decide."""
    calls = CONTROLLER.run('stack post-config')
    assert options(calls, CONF)['market', 'new_project_weight'] == '1'


def test_blazar_gets_an_account_that_does_nothing_else() -> None:
    """With the role of its calls and not with that of services, and only where Blazar is."""
    assert 'market_blazar' not in str(CONTROLLER.run('stack post-config'))
    calls = Node(services=f'{CONTROLLER.services} blazar-m').run('stack post-config')
    assert ('get_or_create_role', 'market_blazar') in calls
    assert named(calls, 'get_or_add_user_project_role') == [
        (
            'get_or_add_user_project_role',
            'market_blazar',
            'market-blazar',
            'service',
            'Default',
            'Default',
        )
    ]
    assert not [call for call in named(calls, 'create_service_user') if 'market-blazar' in call]


def test_hosts_accept_the_engine_that_is_configured() -> None:
    """The name of the engine is the one from which hosts accept allocations."""
    host = options(COMPUTE.run('stack post-config'), CONF)
    node = options(CONTROLLER.run('stack post-config'), CONF)
    assert host['exchange', 'market_engines'] == node['market', 'name'] == 'engine.devstack'


OURS = 'AffordableFilter,ShareGuaranteeFilter,LeaseFilter'


def test_the_scheduler_places_by_the_market() -> None:
    """Our filters behind those that DevStack has chosen, both lists of classes, and an account of nova's."""
    calls = CONTROLLER.run('stack post-config')
    written = options(calls, NOVA_CONF)
    assert written['filter_scheduler', 'enabled_filters'] == f'ComputeFilter,{OURS}'
    assert written['nova_market', 'username'] == 'nova'
    assert named(calls, 'iniset_multiline') == [
        (
            'iniset_multiline',
            NOVA_CONF,
            'filter_scheduler',
            'available_filters',
            'nova.scheduler.filters.all_filters',
            'nova_market.scheduler.all_filters',
        )
    ]
    again = Node(services=CONTROLLER.services, filters=f'ComputeFilter,{OURS}')
    rewritten = options(again.run('stack post-config'), NOVA_CONF)
    assert ('filter_scheduler', 'enabled_filters') not in rewritten


def test_nova_conf_has_one_writer_at_a_time() -> None:
    """stack.sh lets configure_neutron_nova write it in the background while this phase runs."""
    calls = CONTROLLER.run('stack post-config')
    waited = first(calls, 'async_wait', 'configure_neutron_nova')
    assert waited < first(calls, 'iniset', NOVA_CONF)


@pytest.mark.parametrize(
    'node',
    [
        Node(services=f'n-api {MARKET}'),
        Node(services=CONTROLLER.services, localrc='NOVA_MARKET_SCHEDULER=no'),
    ],
)
def test_nova_conf_is_left_as_it_is(node: Node) -> None:
    """Where there is no nova-scheduler, and where local.conf has any word that DevStack takes for False."""
    assert NOVA_CONF not in str(node.run(*STACK))


def test_tempest_is_configured() -> None:
    """Its file names the service, and the tests that need a host which enforces."""
    written = options(ALL_IN_ONE.run('stack test-config'), TEMPEST_CONF)
    assert written == {
        ('service_available', 'nova_market'): 'True',
        ('market', 'region'): 'RegionOne',
        ('market', 'round_timeout'): '300',
        ('market-feature-enabled', 'rounds'): 'True',
    }
    fairness = Node(services=f'{COMPUTE.services} tempest').run('stack test-config')
    assert options(fairness, TEMPEST_CONF)['service_available', 'nova_market'] == 'False'
    assert ('market-feature-enabled', 'rounds') not in options(fairness, TEMPEST_CONF)
    assert not options(CONTROLLER.run('stack test-config'), TEMPEST_CONF)


@pytest.mark.parametrize('node', [COMPUTE, CONTROLLER, ALL_IN_ONE])
def test_a_second_stack_does_what_the_first_did(node: Node) -> None:
    """stack.sh, unstack.sh and stack.sh again: no call depends on what the first run has left."""
    calls = node.run(*STACK, 'unstack', *STACK)
    once = node.run(*STACK)
    assert calls[: len(once)] == once
    settings = first(once, 'echo_summary')
    assert calls[-len(once) + settings :] == once[settings:]


def test_unstack_stops_what_was_started() -> None:
    """Every process, and nothing is removed."""
    started = {call[1] for call in named(ALL_IN_ONE.run(*STACK), 'run_process')}
    calls = ALL_IN_ONE.run('unstack')
    assert {call[1] for call in named(calls, 'stop_process')} == started
    assert {call[0] for call in calls} == {'define_plugin', 'enable_service', 'stop_process'}


def test_clean_leaves_nothing() -> None:
    """The site of Apache too, which DevStack only disables; its file is removed when it is disabled."""
    calls = ALL_IN_ONE.run('clean')
    disabled = first(calls, 'remove_uwsgi_config', UWSGI, 'nova-market-api')
    site = '/etc/apache2/sites-available/nova-market-api.conf'
    assert disabled < first(calls, 'sudo', 'rm', '-f', site)
    assert ('sudo', 'rm', '-rf', '/etc/nova_market', STATE) in calls


def test_a_script_of_grenade_can_source_it() -> None:
    """Without arguments it defines functions, and does nothing."""
    assert {call[0] for call in ALL_IN_ONE.run('')} == {'define_plugin', 'enable_service'}


LOCALRC = re.compile(r'^\[\[local\|localrc\]\]\n(.*?)(?=^\[\[|\Z)', re.MULTILINE | re.DOTALL)
OF_DEVSTACK = 'key,mysql,rabbit,n-api,n-cpu,n-sch,placement-api,tempest'


def samples() -> dict[str, str]:
    """Every local.conf that we show: file -> its section localrc."""
    readme = (ROOT / 'devstack/README.rst').read_text()
    block = re.search(r'^   (\[\[local\|localrc\]\]\n(?:   .*\n|\n)+)', readme, re.MULTILINE)
    assert block
    texts = {
        'README.rst': re.sub(r'^   ', '', block[1], flags=re.MULTILINE),
        **{
            name: (ROOT / 'devstack' / name).read_text()
            for name in ('local.conf.controller', 'local.conf.compute')
        },
    }
    found = {name: LOCALRC.search(text) for name, text in texts.items()}
    return {name: section[1] for name, section in found.items() if section}


@pytest.mark.parametrize('name', ['README.rst', 'local.conf.controller', 'local.conf.compute'])
def test_a_sample_can_be_used(name: str) -> None:
    """It names the branch, services that exist and variables that settings has, and the phases run."""
    sample = samples()[name]
    calls = Node(services=OF_DEVSTACK.replace(',', ' '), localrc=sample).run(*STACK)
    (plugin,) = named(calls, 'enable_plugin')
    assert (plugin[1], plugin[3]) == ('nova-market', 'main')
    enabled = {word for call in named(calls, 'enable_service') for word in call[1:]}
    assert enabled <= {'nova-fairness', *MARKET.split()}
    settings = (ROOT / 'devstack/settings').read_text()
    ours = re.findall(r'^(NOVA_(?:MARKET|FAIRNESS)\w+)=', sample, re.MULTILINE)
    assert [one for one in ours if f'\n{one}=' not in settings] == []
    wanted = {'nova-fairness'} if name.endswith('compute') else enabled
    assert {call[1] for call in named(calls, 'run_process')} == wanted
    assert (('database', 'connection') in options(calls, CONF)) is ('nova-market-engine' in enabled)


def test_samples_agree() -> None:
    """Nodes of one cloud have one policy and the same passwords, and a compute host names the controller."""
    sections = samples()
    controller, compute = sections['local.conf.controller'], sections['local.conf.compute']
    for line in re.findall(r'^(?:NOVA_FAIRNESS_POLICY|\w+_PASSWORD)=.*', controller, re.MULTILINE):
        assert line in compute.splitlines()
    address = re.search(r'^HOST_IP=(.*)', controller, re.MULTILINE)
    assert address and f'\nSERVICE_HOST={address[1]}\n' in compute
