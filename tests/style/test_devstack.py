# SPDX-License-Identifier: Apache-2.0
"""The DevStack plugin keeps DevStack's contract, with DevStack's own functions recorded instead of run."""

import shlex
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[2]

# What DevStack offers to plugins, as far as the plugin uses it. Each call is printed; setup_develop,
# run_process and the others therefore do nothing here.
DEVSTACK = """
set -o nounset
for name in define_plugin enable_service setup_develop setup_logging iniset iniset_rpc_backend \
        create_service_user run_process stop_process echo_summary sudo install \
        configure_keystone_authtoken_middleware write_uwsgi_config remove_uwsgi_config \
        get_or_create_service get_or_create_endpoint recreate_database iniset_multiline \
        get_or_create_role get_or_create_user get_or_add_user_project_role; do
    eval "$name() { echo $name \\"\\$@\\"; }"
done
is_service_enabled() { [[ " $SERVICES " == *" $1 "* ]]; }
for name in nova-fairness nova-market-engine nova-market-controller nova-market-jobs \\
        nova-market-leases nova-market-notices uwsgi; do
    eval "$name() { :; }"
done
nova-market-manage() { echo nova-market-manage "$@"; }
database_connection_url() { echo "mysql+pymysql://root:secret@127.0.0.1/$1"; }
SERVICE_PROTOCOL=http SERVICE_HOST=192.0.2.1
iniget() { echo "$FILTERS"; }
NOVA_CONF=/nowhere/nova.conf DEST=/nowhere DATA_DIR=/nowhere/data STACK_USER=stack ENABLE_DEBUG_LOG_LEVEL=True
KEYSTONE_SERVICE_URI=http://192.0.2.1/identity SERVICE_PASSWORD=secret REGION_NAME=RegionOne
SERVICE_DOMAIN_NAME=Default SERVICE_PROJECT_NAME=service
"""


def calls(
    *arguments: str, services: str = 'nova-fairness n-cpu', filters: str = 'ComputeFilter'
) -> list[str]:
    """What the plugin calls of DevStack when stack.sh runs it with these arguments."""
    script = f"""
        {DEVSTACK}
        NOVA_MARKET_DIR={shlex.quote(str(ROOT))}
        source "$NOVA_MARKET_DIR/devstack/override-defaults"
        source "$NOVA_MARKET_DIR/devstack/settings" >/dev/null
        source "$NOVA_MARKET_DIR/devstack/plugin.sh" {' '.join(arguments)}
    """
    done = subprocess.run(
        ['bash', '-c', script],
        env={'PATH': '/usr/bin:/bin', 'SERVICES': services, 'FILTERS': filters},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == ''
    assert done.returncode == 0
    return done.stdout.splitlines()


def test_settings_define_the_plugin() -> None:
    """DevStack orders plugins by define_plugin and starts what is enabled."""
    text = (ROOT / 'devstack' / 'settings').read_text()
    assert '\ndefine_plugin nova-market\n' in text
    assert '\nenable_service nova-fairness\n' in text


def test_install_is_from_the_tree() -> None:
    """The install phase installs this tree with what the services of the node need, and nothing else."""
    assert calls('stack', 'install')[1:] == [f'setup_develop {ROOT} fairness']
    assert calls('stack', 'install', services=MARKET)[1:] == [f'setup_develop {ROOT} api']


def test_a_compute_node_gets_no_credentials() -> None:
    """Only the node with the API reads quotas, so only there is a password written."""
    lines = calls('stack', 'post-config')
    assert any('fairness exchange oslo' in line for line in lines)
    assert 'secret' not in '\n'.join(lines)
    assert not any(line.startswith('create_service_user') for line in lines)


def test_the_api_node_reads_quotas() -> None:
    """On the node with the API an account is made and its credentials are written."""
    lines = calls('stack', 'post-config', services='nova-fairness n-cpu n-api')
    assert 'create_service_user nova-fairness admin' in lines
    assert any(line.endswith('fairness quota_source openstack') for line in lines)
    assert any(line.endswith('openstack password secret') for line in lines)


def test_the_configuration_is_private_before_a_secret_is_in_it() -> None:
    """The file exists with mode 0600 before the first value is set."""
    lines = calls('stack', 'post-config')
    made = next(i for i, line in enumerate(lines) if line.startswith('install -m 0600'))
    assert made < min(i for i, line in enumerate(lines) if line.startswith('iniset'))


def test_it_starts_in_the_last_phase_and_stops() -> None:
    """Started in extra, when libvirt is up; stopped by unstack; cleaned by clean."""
    assert any(line.startswith('run_process nova-fairness') for line in calls('stack', 'extra'))
    assert calls('unstack') == ['stop_process nova-fairness']
    assert calls('clean') == ['sudo rm -rf /etc/nova_market /nowhere/data/nova-market']


@pytest.mark.parametrize('services', ['nova-fairness', 'n-cpu', 'n-api'])
@pytest.mark.parametrize('phase', ['install', 'post-config', 'extra'])
def test_nothing_happens_where_it_does_not_belong(services: str, phase: str) -> None:
    """A node without n-cpu, or one where the service is disabled, is left as it is."""
    assert calls('stack', phase, services=services) == []


MARKET = 'n-api nova-market-engine nova-market-api'


def test_the_market_runs_where_the_compute_api_is() -> None:
    """Engine and API are configured with an administrator's account, an endpoint and a database."""
    lines = calls('stack', 'post-config', services=MARKET)
    assert 'create_service_user nova-market admin' in lines
    assert 'get_or_create_endpoint market RegionOne http://192.0.2.1/market' in lines
    assert any('write_uwsgi_config' in line and '/market' in line for line in lines)
    started = calls('stack', 'extra', services=MARKET)
    assert started.index('recreate_database nova_market') < next(
        i for i, line in enumerate(started) if line.startswith('run_process')
    )
    assert sum(line.startswith('run_process nova-market-') for line in started) == 6
    assert len(calls('unstack', services=MARKET)) == 6


def test_every_project_of_devstack_gets_credits() -> None:
    """Whoever tries the market there has an equal part, which elsewhere the operator has to decide."""
    lines = calls('stack', 'post-config', services=MARKET)
    assert any(line.endswith('market new_project_weight 1') for line in lines)


def test_blazar_gets_an_account_that_does_nothing_else() -> None:
    """With the role of its calls and not with that of services, and only where Blazar is."""
    assert not any(
        'market_blazar' in line for line in calls('stack', 'post-config', services=MARKET)
    )
    lines = calls('stack', 'post-config', services=f'{MARKET} blazar-m')
    assert 'get_or_create_role market_blazar' in lines
    given = 'get_or_add_user_project_role market_blazar market-blazar service Default Default'
    assert [line for line in lines if 'market-blazar' in line][-1] == given
    assert not any(line.startswith('create_service_user market-blazar') for line in lines)


@pytest.mark.parametrize('services', ['nova-market-engine nova-market-api n-cpu', 'n-api'])
def test_the_market_is_asked_for(services: str) -> None:
    """Without the compute API, or without being enabled, nothing of it happens."""
    assert calls('stack', 'post-config', services=services) == []


def test_hosts_believe_the_engine_that_is_configured() -> None:
    """The name the engine has is the one that hosts are told."""
    host = calls('stack', 'post-config')
    node = calls('stack', 'post-config', services=MARKET)
    assert any(line.endswith('exchange market_engines engine.devstack') for line in host)
    assert any(line.endswith('market name engine.devstack') for line in node)


OURS = 'AffordableFilter,ShareGuaranteeFilter,LeaseFilter'
ENABLED = 'iniset /nowhere/nova.conf filter_scheduler enabled_filters'


def test_the_scheduler_places_by_the_market() -> None:
    """Our filters behind those that DevStack has chosen, both lists of classes, and an account of nova's."""
    lines = calls('stack', 'post-config', services=f'{MARKET} n-sch')
    assert f'{ENABLED} ComputeFilter,{OURS}' in lines
    assert any(
        line.startswith('iniset_multiline')
        and 'nova.scheduler.filters.all_filters nova_market.scheduler.all_filters' in line
        for line in lines
    )
    assert 'iniset /nowhere/nova.conf nova_market username nova' in lines
    again = calls(
        'stack', 'post-config', services=f'{MARKET} n-sch', filters=f'ComputeFilter,{OURS}'
    )
    assert not any(line.startswith(ENABLED) for line in again)


def test_a_node_without_scheduler_keeps_its_nova_conf() -> None:
    """Nothing is written to it."""
    lines = calls('stack', 'post-config', services=MARKET)
    assert not any('/nowhere/nova.conf' in line for line in lines)
