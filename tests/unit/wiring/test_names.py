# SPDX-License-Identifier: Apache-2.0
"""Names of hosts and services: as given, otherwise those of the machine."""

import socket

import pytest
from oslo_config import cfg

from nova_market.conf import opts
from nova_market.wiring.names import host_name, service_name


@pytest.fixture(name='conf')
def options():
    conf = cfg.ConfigOpts()
    opts.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    return conf


def test_a_host_is_named_by_its_option(conf):
    """And by the kernel where there is none."""
    assert host_name(conf) == socket.gethostname()
    conf.set_override('name', 'h7', group='host')
    assert host_name(conf) == 'h7'


@pytest.mark.parametrize(
    ('group', 'service'),
    [
        ('market', 'engine'),
        ('controller', 'controller'),
        ('jobs', 'jobs'),
        ('leases', 'leases'),
        ('notices', 'notices'),
    ],
)
def test_a_service_is_named_by_its_option(conf, group, service):
    """And by what it is and where it runs: two on two hosts have two names."""
    conf.set_override('name', 'h7', group='host')
    assert service_name(conf, group, service) == f'{service}.h7'
    conf.set_override('name', 'mine', group=group)
    assert service_name(conf, group, service) == 'mine'
