# SPDX-License-Identifier: Apache-2.0
"""Actuators of power, each with the hosts compute-1 and compute-2, which are on."""

import pytest
from keystoneauth1 import loading
from oslo_config import cfg

from nova_market.conf import opts
from nova_market.wiring.power import power_actuator
from tests.support.openstack.ironic import FakeIronic, serving_ironic
from tests.support.servers.redfish import RedfishEmulator

SCRIPT = """#!/bin/sh
# a file for each host: what it holds is the state
file={directory}/$2
test -e "$file" || {{ echo "no such host: $2" >&2; exit 1; }}
case $1 in
    state) cat "$file" ;;
    on) echo on > "$file" ;;
    off|force-off) echo off > "$file" ;;
esac
"""


@pytest.fixture(scope='module')
def emulator(tmp_path_factory):
    made = RedfishEmulator(tmp_path_factory.mktemp('redfish'))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def ironic():
    with serving_ironic(FakeIronic(['compute-1', 'compute-2'])) as fake:
        yield fake


@pytest.fixture
def program(tmp_path):
    for host in ('compute-1', 'compute-2'):
        (tmp_path / host).write_text('on\n')
    path = tmp_path / 'power'
    path.write_text(SCRIPT.format(directory=tmp_path))
    path.chmod(0o755)
    return path


@pytest.fixture
def configured():
    """configured(actuator=..., ...): a configuration with these options of [power]."""

    def make(**options):
        conf = cfg.ConfigOpts()
        opts.register_opts(conf)
        conf([], project='nova_market', default_config_files=[])
        for name, value in options.items():
            conf.set_override(name, value, 'power')
        return conf

    return make


@pytest.fixture
def account():
    """account(conf, url): with an account of the Keystone at this URL."""

    def add(conf, url):
        conf.register_opts(loading.get_auth_plugin_conf_options('password'), group='openstack')
        given = {
            'auth_type': 'password', 'auth_url': f'{url}/v3', 'username': 'market', 'password': 'x',
            'project_name': 'service', 'user_domain_name': 'Default',
            'project_domain_name': 'Default',
        }  # fmt: skip
        for name, value in given.items():
            conf.set_override(name, value, 'openstack')
        return conf

    return add


@pytest.fixture(params=['none', 'script', 'redfish', 'ironic'])
def actuator(request, configured, account):
    if request.param == 'script':
        conf = configured(actuator='script', script=str(request.getfixturevalue('program')))
    elif request.param == 'redfish':
        hosts = request.getfixturevalue('emulator').hosts_file()
        conf = configured(actuator='redfish', redfish_hosts=str(hosts))
    else:
        conf = configured(actuator=request.param)
    if request.param == 'ironic':
        account(conf, request.getfixturevalue('ironic').url)
    return power_actuator(conf)
