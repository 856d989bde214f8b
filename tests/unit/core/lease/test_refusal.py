# SPDX-License-Identifier: Apache-2.0
"""L2: what is refused, why, and what could be had instead."""

from dataclasses import replace

import pytest

from nova_market.core.lease.near_option import Change, near_options
from nova_market.core.lease.objective import power
from nova_market.core.lease.refusal import faults
from nova_market.core.lease.request import automatic, manual
from tests.support.calendar_builders import on
from tests.support.lease_builders import during, machines

TAKEN = on(1, 20, 30, 5)
"""5 of 8 cores on h1 from 20 to 30."""


def test_a_manual_request_is_refused_with_requirement_host_and_time():
    """Only h1 has no room, from 20 on; it ends with the request."""
    lease = manual('m', hosts=['h0', 'h1'], cores=4.0, duration=15.0, earliest=10.0)
    (fault,) = faults(machines(8, 8, taken=TAKEN), lease)
    assert (fault.host, fault.requirement, fault.wanted, fault.free) == ('h1', 'cores', 4.0, 3.0)
    assert (fault.start, fault.end) == (20.0, 25.0)
    assert fault.sentence == '4 cores are wanted, at most 3 are free on host h1'


def test_the_amount_that_lacks_most_is_named():
    """Half of the cores, a quarter of the disk."""
    hosts = machines(8, disk=10.0)
    (fault,) = faults(hosts, during(0, 10, cores=16, disk_gib=40))
    assert (fault.requirement, fault.host, fault.free) == ('disk_gib', '', 10.0)
    assert fault.sentence == '40 GiB of disk are wanted, at most 10 are free on any one host'


def test_a_whole_host_that_is_not_empty_is_named():
    lease = manual('m', hosts=['h1'], whole=True, duration=10.0, earliest=15.0)
    (fault,) = faults(machines(8, 8, taken=TAKEN), lease)
    assert (fault.requirement, fault.start, fault.end) == ('whole', 20.0, 25.0)
    assert fault.sentence == 'a whole host is wanted, and on host h1 something else is booked'


def test_too_many_nodes_are_refused_with_the_number_that_fits():
    lease = automatic('a', nodes=3, cores=4, duration=10, earliest=20)
    (fault,) = faults(machines(8, 8, 8, taken=TAKEN), lease)
    assert (fault.requirement, fault.wanted, fault.free) == ('nodes', 3, 2)
    assert fault.sentence == '3 nodes are wanted, at most 2 fit at the same time'
    assert faults(machines(), lease)[0].free == 0


def test_what_fits_has_no_fault():
    """Also within a window, though not at its start."""
    hosts = machines(8, taken=on(0, 0, 20, 8))
    lease = automatic('a', cores=8, duration=10, earliest=0, finish=30)
    assert faults(hosts, lease) == ()
    assert faults(hosts, replace(lease, finish=29.0))[0].requirement == 'cores'


def test_near_options_of_a_manual_request():
    """h2 instead of h1; the same hosts from 30 on; h0 alone; each with its joules."""
    hosts = machines(8, 8, 8, base=[100, 100, 130], taken=TAKEN)
    lease = manual('m', hosts=['h0', 'h1'], cores=4.0, duration=15.0, earliest=10.0)
    other, later, fewer = near_options(hosts, lease, power(hosts))
    assert (other.change, other.hosts, other.start) == (Change.OTHER_HOSTS, ('h0', 'h2'), 10.0)
    assert other.cost == pytest.approx(15 * (100 + 130 + 2 * 100))
    assert (later.change, later.hosts) == (Change.LATER, ('h0', 'h1'))
    assert (later.start, later.end) == (30.0, 45.0)
    assert (fewer.change, fewer.hosts, fewer.start) == (Change.FEWER_NODES, ('h0',), 10.0)


def test_near_options_of_an_automatic_request():
    """Any hosts later, fewer nodes now; nothing when no host is large enough."""
    hosts = machines(8, 8, taken=TAKEN)
    lease = automatic('a', nodes=2, cores=4, duration=10, earliest=20)
    later, fewer = near_options(hosts, lease, power(hosts))
    assert (later.start, len(later.hosts)) == (30.0, 2)
    assert (fewer.hosts, fewer.start) == (('h0',), 20.0)
    assert near_options(hosts, replace(lease, amounts=9 * lease.amounts), power(hosts)) == ()


def test_the_largest_number_of_nodes_is_found_and_named():
    """Of more nodes than there are hosts, too."""
    hosts = machines(*[8] * 40, taken=TAKEN)
    lease = during(15, 25, nodes=10_000, cores=6.0)
    (fault,) = faults(hosts, lease)
    assert (fault.requirement, fault.wanted, fault.free) == ('nodes', 10_000, 39)
    (fewer,) = [
        one for one in near_options(hosts, lease, power(hosts)) if one.change is Change.FEWER_NODES
    ]
    assert len(fewer.hosts) == 39 and 'h1' not in fewer.hosts
