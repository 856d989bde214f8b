# SPDX-License-Identifier: Apache-2.0
"""What hosts have free for jobs, beside servers of others and workers (C2 to C4)."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.calendar.grain import MOST_AMOUNT
from nova_market.core.job.cloud_room import Cloud, cloud_room
from nova_market.core.job.queue import DesiredWorkerState, WorkerState
from tests.support.job_pass import host, server
from tests.support.job_records import id_of, worker


def free_cores(hosts, servers=(), workers=()):
    return room(hosts, servers, workers).free[0].tolist()


def room(hosts, servers=(), workers=(), aggregates=None, wanted=()):
    cloud = Cloud(hosts=hosts, servers=servers, aggregates=aggregates or {})
    return cloud_room(cloud, workers, wanted)


def made(**more):
    """A worker with a server."""
    given = {'server_id': 's', 'host': 'h', 'state': WorkerState.BUSY, 'cores': 2.0}
    return worker(**given | more)


def test_hosts_are_in_the_order_of_their_names_with_what_placement_counts():
    found = room([host('b', cores=4.0), host('a', cores=16.0)])
    assert found.names == ('a', 'b')
    assert found.capacity[0].tolist() == [16.0, 4.0] == found.free[0].tolist()


def test_servers_take_what_their_flavors_have():
    assert free_cores([host()], [server('x', cores=3.0), server('y', on='elsewhere')]) == [5.0]


def test_a_disabled_host_has_no_capacity_and_a_silent_one_has_nothing_free():
    found = room([host('a', enabled=False), host('b', answering=False)])
    assert found.capacity[0].tolist() == [0.0, 8.0]
    assert found.free[0].tolist() == [0.0, 0.0]


def test_what_an_idle_worker_takes_is_free_and_what_a_busy_one_takes_is_not():
    mine = server('s', cores=2.0, worker_id=id_of('w'))
    assert free_cores([host()], [mine], [made()]) == [6.0]
    assert free_cores([host()], [mine], [made(state=WorkerState.IDLE)]) == [8.0]
    going = made(state=WorkerState.IDLE, intention=DesiredWorkerState.GONE)
    assert free_cores([host()], [mine], [going]) == [6.0]


def test_a_worker_whose_server_is_not_there_yet_takes_its_room_once():
    coming = made(state=WorkerState.STARTING, server_id='')
    assert free_cores([host()], [], [coming]) == [6.0]
    # Nova has made it, and its id is not stored yet
    found = server('s', cores=2.0, worker_id=id_of('w'))
    assert free_cores([host()], [found], [coming]) == [6.0]
    assert free_cores([host()], [], [replace(coming, server_id='s')]) == [6.0]


def test_a_worker_that_is_planned_where_nova_has_put_another_one_takes_room_elsewhere():
    """Otherwise one host would be full twice, and a job would start for the room of the other."""
    hosts = [host('a', cores=2.0), host('b', cores=2.0), host('c', cores=2.0, answering=False)]
    there = made(name='there', host='a')
    coming = made(name='coming', state=WorkerState.STARTING, server_id='', host='b')
    on_b = server('s', on='b', cores=2.0, worker_id=id_of('there'))
    found = room(hosts, [on_b], [there, coming])
    assert found.free[0].tolist() == [0.0, 0.0, 0.0]
    assert found.host_of == {id_of('there'): 1, id_of('coming'): 0}
    # where there is room for none, it stays where it was planned
    full = server('x', on='a', cores=2.0)
    assert room(hosts, [on_b, full], [there, coming]).host_of[id_of('coming')] == 1


def test_a_worker_is_where_its_server_is_and_not_where_it_was_planned():
    mine = server('s', on='b', cores=2.0)
    found = room([host('a'), host('b')], [mine], [made(host='a')])
    assert found.host_of == {id_of('w'): 1}
    assert found.free[0].tolist() == [8.0, 6.0]


def test_the_mark_of_a_worker_that_has_another_server_means_nothing():
    idle = made(state=WorkerState.IDLE)
    copied = server('t', cores=2.0, worker_id=id_of('w'))
    mine = server('s', cores=2.0, worker_id=id_of('w'))
    assert free_cores([host()], [copied, mine], [idle]) == [6.0]


def test_a_shelved_worker_takes_nothing():
    shelved = made(state=WorkerState.SUSPENDED, intention=DesiredWorkerState.SHELVED)
    assert free_cores([host()], [], [shelved]) == [8.0]


def test_cores_that_nova_counts_beyond_the_servers_are_not_free():
    assert free_cores([host(vcpus_used=5.0)], [server('x', cores=3.0)]) == [3.0]
    assert free_cores([host(vcpus_used=2.0)], [server('x', cores=3.0)]) == [5.0]


def test_aggregates_have_the_hosts_that_are_there_and_unknown_ones_have_none():
    found = room([host('a'), host('b')], aggregates={'fast': ['b', 'z']}, wanted=['gone', ''])
    rows = {name: found.aggregates[row].tolist() for name, row in found.aggregate_row.items()}
    assert rows == {'': [True, True], 'fast': [False, True], 'gone': [False, False]}


@pytest.mark.parametrize('hosts', [[], [host(cores=0.0)], [host(memory=2 * MOST_AMOUNT)]])
def test_a_cloud_with_nothing_or_too_much_has_a_calendar(hosts):
    found = room(hosts)
    assert found.calendar.hosts == len(hosts)
    assert (found.free >= 0).all() and np.isfinite(found.free).all()
