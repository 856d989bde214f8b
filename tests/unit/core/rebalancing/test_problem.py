# SPDX-License-Identifier: Apache-2.0
"""What may move where, from hosts and servers as Nova knows them (A3), and what hinders a move."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.market.round import decide
from nova_market.core.rebalancing.layout import NOWHERE
from nova_market.core.rebalancing.move_order import ordered_moves
from nova_market.core.rebalancing.plan import StoredMove
from nova_market.core.rebalancing.problem import may_move, obstacle, placement_of
from nova_market.core.rebalancing.tabu_search import balanced
from tests.support.rebalancing_bed import MIB, host, server, view_of

HOSTS = [host('h1'), host('h2')]
MOVE = StoredMove(
    server_id='a', source='h1', destination='h2', error_before=0.5, error_after=0.0, gain=1.0, cost=0.0
)  # fmt: skip


def moved(view, resting=()):
    placement = placement_of(view, resting)
    plan = ordered_moves(placement, balanced(placement), view.outcome.price)
    return {view.servers[step.server].id for step in plan.steps}


def test_a_crowded_host_gives_a_server_to_an_empty_one():
    """The view of a round is enough."""
    view = view_of(HOSTS, [server('a', 'h1'), server('b', 'h1')])
    assert len(moved(view)) == 1


@pytest.mark.parametrize(
    'change',
    [
        {'migratable': False},
        {'status': 'RESIZE'},
        {'group': 'g', 'group_policy': 'affinity'},
        {'zone': 'elsewhere'},
    ],
    ids=str,
)
def test_who_may_not_move_stays(change):
    """Pinned, busy, held together, or at home in a zone that no other host is in."""
    servers = [replace(server(name, 'h1'), **change) for name in 'ab']
    assert moved(view_of(HOSTS, servers)) == set()


def test_a_host_that_does_not_sell_memory_has_enough_of_it():
    """It gives each server what its flavor says (B5), so that a server which bids for memory may go there."""
    view = view_of(HOSTS, [server('a', 'h1'), server('b', 'h1')])
    sold = np.array([[True, True], [True, False]])
    snapshot = replace(view.snapshot, capacity=view.snapshot.capacity * sold, sold=sold)
    assert len(moved(replace(view, snapshot=snapshot, outcome=decide(snapshot)))) == 1


def test_who_has_just_moved_rests():
    """The other one moves."""
    view = view_of(HOSTS, [server('a', 'h1'), server('b', 'h1')])
    assert moved(view, resting={'a'}) == {'b'}
    assert not may_move(view.servers[0], {'a'})


@pytest.mark.parametrize('change', [{'enabled': False}, {'answering': False}], ids=str)
def test_a_host_that_is_away_receives_nothing(change):
    """Disabled, or silent."""
    hosts = [HOSTS[0], replace(HOSTS[1], **change)]
    assert moved(view_of(hosts, [server('a', 'h1'), server('b', 'h1')])) == set()


def test_nothing_leaves_a_silent_host():
    """Its servers keep what they have."""
    hosts = [replace(HOSTS[0], answering=False), HOSTS[1]]
    assert moved(view_of(hosts, [server('a', 'h1'), server('b', 'h1')])) == set()


@pytest.mark.parametrize('status', ['ACTIVE', 'SHUTOFF'])
def test_anti_affinity_counts_servers_that_do_not_run(status):
    """One of the group is on the other host already; stopped or not, its kind must not meet it."""
    group = {'group': 'g', 'group_policy': 'anti-affinity'}
    servers = [
        server('a', 'h1', **group), server('b', 'h1', migratable=False),
        server('c', 'h2', vcpus=1, status=status, **group),
    ]  # fmt: skip
    assert moved(view_of(HOSTS, servers)) == set()
    assert moved(view_of(HOSTS, [replace(servers[0], group='other'), *servers[1:]])) == {'a'}


def test_ram_that_stopped_servers_hold_is_taken():
    """Nova counts them, so no server is sent where they are."""
    hosts = [HOSTS[0], host('h2', mib=2.0 * MIB)]
    running = [server('a', 'h1'), server('b', 'h1')]
    stopped = [server(name, 'h2', status='SHUTOFF') for name in 'cd']
    assert len(moved(view_of(hosts, [*running, stopped[0]]))) == 1
    assert moved(view_of(hosts, [*running, *stopped])) == set()


def test_what_placement_counts_must_fit():
    """A resource class that only some hosts have keeps its users there; one nobody counts keeps nobody."""
    gpu = {'VCPU': 4.0, 'VGPU': 1.0}
    servers = [server('a', 'h1', counted=gpu), server('b', 'h1', counted=gpu)]
    plain = host('h2', counted={'VCPU': 64.0})
    with_gpu = host('h2', counted={'VCPU': 64.0, 'VGPU': 1.0})
    here = host('h1', counted={'VCPU': 64.0, 'VGPU': 2.0})
    assert moved(view_of([here, plain], servers)) == set()
    assert len(moved(view_of([here, with_gpu], servers))) == 1
    assert len(moved(view_of(HOSTS, servers))) == 1


def test_rows_are_those_of_the_round():
    """Servers of the market first, the others after them, with nothing bid and nothing due."""
    servers = [server('a', 'h1'), server('b', 'h2', status='SHUTOFF'), server('c', 'h2')]
    view = view_of(HOSTS, servers)
    placement = placement_of(view)
    assert placement.host.tolist() == [0, 1, 1]
    assert placement.ideal[:, 2].tolist() == [0.0, 0.0]
    assert placement.size[0].tolist() == [MIB] * 3
    assert placement.movable.tolist() == [True, True, False]
    assert placement.zone.tolist() == [NOWHERE] * 3
    gone = replace(view, others=(server('d', 'h9', status='SHUTOFF'),))
    assert placement_of(gone).servers == 2


def test_a_move_that_can_still_be_made():
    assert obstacle(MOVE, HOSTS, [server('a', 'h1')]) is None


@pytest.mark.parametrize(
    ('hosts', 'servers', 'why'),
    [
        (HOSTS, [], 'the server is gone'),
        (HOSTS, [server('a', 'h3')], 'is on h3 and not on h1'),
        (HOSTS, [server('a', 'h1', status='SHUTOFF')], 'it is SHUTOFF'),
        (HOSTS, [server('a', 'h1', migratable=False, pinned='has a device')], 'has a device'),
        (HOSTS[:1], [server('a', 'h1')], 'h2 takes no servers'),
        ([HOSTS[0], host('h2', enabled=False)], [server('a', 'h1')], 'h2 takes no servers'),
        (HOSTS, [server('a', 'h1', zone='z')], 'wants z'),
        ([HOSTS[0], host('h2', mib=1.5 * MIB)], [server('a', 'h1'), server('b', 'h2')], 'no room'),
        (
            [HOSTS[0], host('h2', counted={'VCPU': 3.0})],
            [server('a', 'h1', counted={'VCPU': 4.0})],
            'no room',
        ),
        (
            HOSTS,
            [
                server('a', 'h1', group='g', group_policy='anti-affinity'),
                server('b', 'h2', group='g', group_policy='anti-affinity'),
            ],
            'anti-affinity',
        ),
    ],
)  # fmt: skip
def test_what_has_changed_since_the_plan_was_made(hosts, servers, why):
    """Each reason is told as an administrator reads it."""
    assert why in (obstacle(MOVE, hosts, servers) or '')


def test_a_cloud_without_servers_has_a_placement():
    """Nothing is anywhere, and nothing moves; the hosts' rows stay as they are."""
    placement = placement_of(view_of(HOSTS, []))
    assert placement.size.shape == (1, 0) and placement.room.shape == (1, 2)
    assert moved(view_of(HOSTS, [])) == set()
