# SPDX-License-Identifier: Apache-2.0
"""L5: leases keep their room from servers that would still be there, whole hosts and parts of hosts."""

import numpy as np
import pytest

from nova_market.core.scheduler.filters import UNKNOWN, unreserved
from tests.support.scheduler_builders import ask, held

NOW, WINDOW = 100.0, 1000.0
FREE = (8.0, 8192.0, 100.0)
"""Of each host, now."""

PART = (4.0, 4096.0, 0.0)


def passes(reserved, request, hosts=('a', 'b'), free=FREE, window=WINDOW):
    rows = np.array([reserved.hosts.get(name, UNKNOWN) for name in hosts], dtype=np.intp)
    room = np.tile(np.array(free)[:, None], len(hosts))
    return unreserved(reserved, request, rows, room, NOW, window)[0].tolist()


def leased(begin, end, size=None, project='blue', **more):
    return held(('L', project, begin, end, {'a': size}), **more)


@pytest.mark.parametrize(
    ('reserved', 'open_'),
    [
        (leased(50, 150), False),
        (leased(150, 250), False),
        (leased(200, 250), True),
        (leased(50, 100), True),
        (leased(50, 150, project='red'), False),
        (held(), True),
    ],
    ids=['now', 'soon', 'after it', 'over', 'own, but not carried', 'none'],
)
def test_a_whole_host_is_closed_to_servers_that_would_be_there(reserved, open_):
    """The server lives 100 s from second 100 on; only one that carries the lease may use its room."""
    assert passes(reserved, ask(duration=100)) == [open_, True]


def test_a_server_whose_end_nobody_knows_lives_for_the_window():
    """Without market:duration the option decides."""
    assert passes(leased(150, 250), ask(), window=50.0) == [True, True]
    assert passes(leased(150, 250), ask(), window=51.0) == [False, True]


@pytest.mark.parametrize(
    ('size', 'open_'),
    [((4.0, 1024.0), True), ((4.5, 1024.0), False), ((1.0, 4096.0), True), ((1.0, 4097.0), False)],
)
def test_of_a_part_the_rest_is_for_all(size, open_):
    """Four cores and 4 GiB of eight are reserved."""
    assert passes(leased(150, 250, PART), ask(*size)) == [open_, True]


def test_what_no_lease_reserves_is_not_looked_at():
    """Nova counts no disk of servers on volumes, and Placement decides of what is not reserved."""
    request = ask(disk_gib=1000.0)
    assert passes(leased(150, 250, PART), request) == [True, True]
    assert passes(leased(150, 250, (1.0, 1.0, 1.0)), request) == [False, True]


def test_leases_that_overlap_add_up_and_others_do_not():
    """Of two after each other the larger one counts."""
    after = held(('L', 'blue', 150, 250, {'a': PART}), ('M', 'blue', 250, 350, {'a': PART}))
    assert passes(after, ask(4.0)) == [True, True]
    beside = held(('L', 'blue', 150, 250, {'a': PART}), ('M', 'blue', 249, 350, {'a': PART}))
    assert passes(beside, ask(1.0)) == [False, True]


def test_who_carries_the_lease_uses_its_room():
    """On its hosts, to its end, whatever the flavor says; another project's lease cannot be carried."""
    full = (2.0, 8192.0, 100.0)
    lease = leased(50, 150, PART, 'red')
    assert passes(lease, ask(2.0, lease='L'), free=full) == [True, False]
    assert passes(lease, ask(2.0), free=full) == [False, True]
    assert passes(leased(50, 150, PART), ask(2.0, lease='L')) == [False, False]


def test_a_lease_that_is_not_there_refuses_a_new_server_only():
    """Its owner wants room that is reserved; a server that moves goes on as any other one."""
    assert passes(leased(50, 150), ask(lease='another')) == [False, False]
    assert passes(leased(50, 99, project='red'), ask(lease='L')) == [False, False]
    assert passes(leased(50, 150), ask(lease='another', new=False)) == [False, True]


def test_the_next_lease_does_not_close_the_host_to_who_carries_this_one():
    """It lives until the end of its lease; the one behind it begins then."""
    both = held(('L', 'red', 50, 150, {'a': None}), ('M', 'blue', 150, 250, {'a': None}))
    assert passes(both, ask(lease='L')) == [True, False]
    assert passes(both, ask(lease='L', new=False)) == [True, True]
    overlapping = held(('L', 'red', 50, 151, {'a': PART}), ('M', 'blue', 150, 250, {'a': None}))
    assert passes(overlapping, ask(lease='L')) == [False, False]


def test_a_server_that_carries_by_its_metadata_is_known_by_its_id():
    """Nova gives no metadata to filters; the service of leases has read it."""
    lease = leased(50, 150, project='red', carriers=[('s1', 0)])
    assert passes(lease, ask(new=False, server_id='s1')) == [True, True]
    assert passes(lease, ask(new=False, server_id='s2')) == [False, True]
    assert passes(lease, ask(new=False, server_id='s1', project_id='blue')) == [False, True]


def test_before_its_lease_a_carrier_leaves_the_room_of_others():
    """It may come early where nobody has reserved the room until then."""
    both = held(('M', 'blue', 50, 150, {'a': None}), ('L', 'red', 150, 250, {'a': None}))
    assert passes(both, ask(lease='L')) == [False, False]
    assert passes(leased(150, 250, project='red'), ask(lease='L')) == [True, False]
