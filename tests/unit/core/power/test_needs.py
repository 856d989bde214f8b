# SPDX-License-Identifier: Apache-2.0
"""What of the cloud's demand is no lease's: rules W3 and L5."""

import pytest

from nova_market.core.lease.carrier import LEASE
from nova_market.core.lease.record import LeaseState
from nova_market.core.market.inventory import CloudServer
from nova_market.core.power.needs import demand_of
from tests.support.lease_records import PART, lease

BEGUN = lease(state=LeaseState.ACTIVE)


def server(name, project='red', carries=BEGUN.id, host='h0'):
    return CloudServer(
        id=name, project_id=project, host=host, vcpus=2, memory_mib=512,
        counted={'VCPU': 2.0, 'MEMORY_MB': 512.0}, metadata={LEASE: carries},
    )  # fmt: skip


@pytest.mark.parametrize(
    ('servers', 'cores'),
    [
        ([server('a')], 0.0),
        ([server('a', project='blue')], 2.0),
        ([server('a', host='h1')], 2.0),
        ([server('a', carries='')], 2.0),
        ([server(f's{number}') for number in range(50)], 100.0 - PART[0]),
    ],
    ids=['its own', "of another's", 'elsewhere', 'none', 'more than it reserves'],
)
def test_what_a_server_says_of_a_lease_counts_as_far_as_it_is_true(servers, cores):
    assert demand_of(servers, [BEGUN])[0] == cores


def test_a_lease_that_has_not_begun_holds_nothing_yet():
    assert demand_of([server('a')], [lease()])[0] == 2.0
