# SPDX-License-Identifier: Apache-2.0
"""The configuration of nova-market-api as it is deployed, in front of the small Keystone and Nova."""

from pathlib import Path

import pytest
from oslo_config import cfg

from nova_market.cmd import api as command
from tests.support.market.api_server import PASSWORD, MarketService

ACCOUNT = """
auth_type = password
auth_url = {url}/identity/v3
username = root
password = {password}
project_name = operations
user_domain_name = Default
project_domain_name = Default
region_name = RegionOne
"""


@pytest.fixture
def file(market_service: MarketService, tmp_path: Path) -> Path:
    """A configuration file with the account of the service."""
    account = ACCOUNT.format(url=market_service.url, password=PASSWORD)
    path = tmp_path / 'nova_market.conf'
    path.write_text(
        f'[database]\nconnection = sqlite:///{tmp_path}/market.sqlite\n'
        f'[api]\nresponse_validation = error\n'
        f'[openstack]\n{account}'
        f'[keystone_authtoken]\n{account}\nwww_authenticate_uri = {market_service.url}/identity\n'
        'memcached_servers =\ninterface = public\n'
    )
    return path


def configured(file: Path, **options: object) -> cfg.ConfigOpts:
    """The configuration of nova-market-api with the file; options: of the group [api]."""
    conf = cfg.ConfigOpts()
    command.register_opts(conf)
    conf(['--config-file', str(file)], project='nova_market')
    for name, value in options.items():
        conf.set_override(name, value, 'api')
    return conf
