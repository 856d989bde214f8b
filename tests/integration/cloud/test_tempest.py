# SPDX-License-Identifier: Apache-2.0
"""The plug-in for Tempest on a real OpenStack with a market: all its tests, with real tenants and servers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cloud.conftest import Cloud
from tests.integration.cloud.deployed_market import PERIOD, MarketBed
from tests.support.tempest_run import run_tempest

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

ROLES = {'dora': 'member', 'emil': 'member', 'admin': 'admin'}


@pytest.fixture
def bed(cloud: Cloud, environment: dict[str, str], tmp_path: Path) -> Iterator[MarketBed]:
    made = MarketBed(cloud, environment, tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.close()


def account(bed: MarketBed, name: str) -> dict[str, object]:
    """A person's, as accounts.yaml has it."""
    who = bed.who(name)
    return {
        'username': who['OS_USERNAME'],
        'password': who['OS_PASSWORD'],
        'project_name': who['OS_PROJECT_NAME'],
        'user_domain_name': 'Default',
        'project_domain_name': 'Default',
        'roles': [ROLES[name]],
        'resources': {'network': 'guests'},
    }


def test_all_of_it_passes(
    bed: MarketBed, environment: dict[str, str], admin: Any, tmp_path: Path
) -> None:
    """Prices, bids and allocations of a tenant, and hosts as an administrator sees them; none is skipped."""
    for name in ('dora', 'emil'):
        # who has no credits buys no cores
        account_id = f'project:{bed.cloud.project_id(name)}'
        bed.market('admin', 'account', 'grant', account_id, '300')
    directory = tmp_path / 'tempest'
    directory.mkdir()
    options = {
        'identity': {
            'uri_v3': f'{environment["OS_AUTH_URL"].removesuffix("/v3")}/v3',
            'region': environment['OS_REGION_NAME'],
        },
        'compute': {
            'image_ref': admin.image.find_image('guest').id,
            'flavor_ref': admin.compute.find_flavor('tiny').id,
            'fixed_network_name': 'guests',
        },
        'service_available': {
            **dict.fromkeys(('glance', 'neutron', 'nova'), 'true'),
            'nova_market': 'true',
        },
        'market': {'round_timeout': 30 * PERIOD},
        'market-feature-enabled': {'rounds': 'true'},
    }
    counts = run_tempest(directory, [account(bed, name) for name in ROLES], options)
    assert counts == {'Passed': 6, 'Skipped': 0, 'Failed': 0}
