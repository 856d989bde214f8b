# SPDX-License-Identifier: Apache-2.0
"""L1: what a lease asks for, and what is refused."""

import numpy as np
import pytest

from nova_market.core.lease.cluster import eligible, node_amounts
from nova_market.core.lease.request import automatic, busy_cores, manual
from nova_market.errors import BadLease
from tests.support.lease_builders import machines


def test_twenty_cores_at_thirty_percent_are_booked_and_keep_six_busy():
    """The example of the paper, section 1."""
    lease = automatic('a', cores=20, utilisation=0.3, duration=14_400, earliest=0)
    assert lease.amounts[0] == 20.0 and lease.fixed
    np.testing.assert_allclose(busy_cores(lease, np.array([32.0, 64.0])), [6.0, 6.0])


def test_a_whole_host_takes_what_the_host_has():
    """And half of its cores busy when it says so."""
    hosts = machines(8, 16)
    lease = automatic('a', whole=True, utilisation=0.5, duration=10, earliest=0)
    assert node_amounts(hosts, lease)[0].tolist() == [8.0, 16.0]
    assert busy_cores(lease, hosts.cores).tolist() == [4.0, 8.0]


def test_a_manual_request_has_its_hosts_in_its_order():
    lease = manual('a', hosts=['h2', 'h0'], cores=1.0, duration=10.0, earliest=0.0)
    assert lease.nodes == 2
    assert eligible(machines(8, 8, 8), lease).tolist() == [2, 0]


@pytest.mark.parametrize(
    ('asked', 'problem'),
    [
        ({'cores': 1, 'nodes': 0}, '0 nodes'),
        ({'cores': 1, 'utilisation': 1.5}, 'utilisation of 1.5'),
        ({'cores': 1, 'duration': 0}, 'duration of 0'),
        ({'cores': 1, 'duration': float('inf')}, 'duration of inf'),
        ({'cores': -1}, 'amount of -1'),
        ({}, 'a whole host or has amounts'),
        ({'cores': 1, 'whole': True}, 'a whole host or has amounts'),
        ({'cores': 1, 'finish': 9}, 'window of 9 s is shorter than the duration of 10 s'),
    ],
)
def test_nonsense_is_refused(asked, problem):
    """By what it is, with the name of the lease."""
    with pytest.raises(BadLease, match=f'mine: .*{problem}'):
        automatic('mine', **{'duration': 10, 'earliest': 0, **asked})


def test_a_host_twice_or_unknown_is_refused():
    with pytest.raises(BadLease, match='name each of them once'):
        manual('a', hosts=['h0', 'h0'], cores=1.0, duration=10.0, earliest=0.0)
    with pytest.raises(BadLease, match='no host h7'):
        eligible(machines(8), manual('a', hosts=['h7'], cores=1.0, duration=10.0, earliest=0.0))


def test_hosts_without_cores_or_with_negative_watts_are_refused():
    with pytest.raises(BadLease, match='h1 has 0 cores'):
        machines(8, 0)
    with pytest.raises(BadLease, match='-5 W idle'):
        machines(8, base=-5.0)
