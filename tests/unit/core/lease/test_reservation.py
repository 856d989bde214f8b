# SPDX-License-Identifier: Apache-2.0
"""L5: what leases reserve is published, without what servers that carry them take already."""

import json
from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.lease.record import LeaseState
from nova_market.core.lease.reservation import even_parts, reservation
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName
from nova_market.core.scheduler.reserved import must_be_left, plain, read_reserved
from nova_market.errors import BadSnapshot
from tests.support.job_records import id_of
from tests.support.lease_records import HOUR, NOW, lease, node

DAY = 24 * HOUR
A = id_of('a')


def server(name, where='h0', project='red', cores=1.0, **more):
    counted = {'VCPU': cores, 'MEMORY_MB': 512.0, 'DISK_GB': 10.0}
    return CloudServer(
        id=name, project_id=project, host=HostName(where), vcpus=1, memory_mib=512,
        counted=counted, **more,
    )  # fmt: skip


def published(leases, servers=(), ahead=DAY, **more):
    found = reservation(leases, servers, now=NOW, ahead=ahead, **more)
    read = read_reserved(json.loads(json.dumps(plain(found.table))))
    assert read is not None
    return read, found.left_out


def amounts(read):
    return read.nodes.amounts.T.tolist()


@pytest.mark.parametrize(
    'marks',
    [
        {'metadata': {'market:lease': A}},
        {'hints': {'market_lease': A}},
        {'metadata': {'market:lease': A}, 'hints': {'market_lease': 'another'}},
    ],
    ids=['metadata', 'hint', 'metadata first'],
)
def test_what_a_carrier_takes_is_reserved_no_more(marks):
    """Nova counts it; the server is named, so that it may move within its lease."""
    read, _ = published([lease('a', hosts=('h0', 'h1'))], [server('s', **marks)])
    assert amounts(read) == [[1.0, 1536.0, 0.0], [2.0, 2048.0, 0.0]]
    assert read.carriers == {'s': 0}


@pytest.mark.parametrize(
    'one',
    [
        server('s', project='blue', metadata={'market:lease': A}),
        server('s', metadata={'market:lease': 'another'}, hints={'market_lease': A}),
        server('s'),
    ],
    ids=['of another project', 'metadata first', 'no mark'],
)
def test_other_servers_take_nothing_of_it(one):
    """Whatever they state."""
    read, _ = published([lease('a')], [one])
    assert amounts(read) == [[2.0, 2048.0, 0.0]] and not read.carriers


def test_a_carrier_that_is_larger_than_the_lease_takes_all_of_it():
    """What is beyond is not reserved; a whole host stays one."""
    large = server('s', cores=64.0, metadata={'market:lease': A})
    read, _ = published([lease('a')], [large])
    assert amounts(read)[0][0] == 0.0
    whole, _ = published([lease('a', whole=True, amounts=(0.0,) * 3)], [large])
    assert amounts(whole)[0][0] > 1e6


def test_leases_that_are_over_far_away_or_nowhere_are_left_out():
    """Those that have begun are in it, to their end."""
    leases = [
        lease('ended', state=LeaseState.ENDED),
        lease('far', start=NOW + DAY),
        lease('nowhere', hosts=()),
        lease('past', start=NOW - 2 * HOUR),
        lease('begun', start=NOW - 0.5 * HOUR, state=LeaseState.ACTIVE),
        lease('soon', start=NOW + DAY - 1.0),
    ]
    read, left_out = published(leases)
    assert read.leases == (id_of('begun'), id_of('soon')) and left_out == 0


def kept(read, host, hour):
    """Cores that this host must keep free so many hours from now."""
    at = NOW + hour * HOUR
    return float(must_be_left(read, None, at, at + 1.0)[0, read.hosts[host]])


def test_too_many_leases_cannot_be_carried_and_keep_their_room():
    """Whole leases, those that begin first; how many is known."""
    leases = [lease(str(n), start=NOW + n * HOUR, hosts=('h0', 'h1')) for n in range(1, 5)]
    read, left_out = published(leases, most=5)
    assert read.leases == (id_of('1'), id_of('2')) and left_out == 2
    assert [kept(read, 'h1', hour + 0.5) for hour in range(6)] == [0, 2, 2, 2, 2, 0]


def test_no_project_pushes_the_leases_of_others_out():
    """A hundred leases on a thousand hosts each, which begin first, beside fifty that run already."""
    crowd = tuple(f'h{n}' for n in range(1000))
    mine = [lease(f'm{n}', 'blue', start=NOW - HOUR / 2, hosts=(f'h{n}',)) for n in range(50)]
    theirs = [
        lease(f't{n}', start=NOW - HOUR, hours=9, hosts=crowd, nodes=(node('h0', (0, 1, 0)),) * 9)
        for n in range(100)
    ]
    read, left_out = published([*theirs, *mine], most=300)
    assert {one.id for one in mine} <= set(read.leases) and left_out == 100 - 250 // 9
    assert all(kept(read, f'h{n}', 0.0) == 2.0 for n in range(50))


def test_a_host_of_many_leases_keeps_at_least_what_they_need():
    """In the steps that there are; nothing is kept when all are over."""
    leases = [lease(str(n), start=NOW + n * HOUR, hours=0.5 + n % 2) for n in range(60)]
    read, left_out = published(leases, ahead=90 * HOUR, most_steps=8)
    assert left_out == 0 and len(read.calendar.times) <= 8
    assert all(kept(read, 'h0', n + 0.25) >= 2.0 for n in range(60))
    assert kept(read, 'h0', 62.0) == 0.0


@pytest.mark.parametrize(
    ('groups', 'sizes', 'most', 'found'),
    [
        ('aab', [1, 1, 1], 3, [True, True, True]),
        ('aaab', [2, 2, 2, 1], 5, [True, True, False, True]),
        ('aaab', [5, 1, 1, 1], 5, [False, True, True, True]),
        ('abc', [9, 9, 9], 6, [False, False, False]),
        ('aabbc', [3, 3, 3, 3, 1], 9, [True, False, True, False, True]),
        ('', [], 0, []),
    ],
)
def test_projects_share_what_is_published_evenly(groups, sizes, most, found):
    """Who has fewer than an even part has all; what he leaves is for the others."""
    assert even_parts(groups, sizes, most) == found
    assert sum(size for size, fits in zip(sizes, found, strict=True) if fits) <= most


def test_a_table_of_before_is_read_as_it_was():
    """Without room, the nodes are those of all leases; a format that is not known is refused."""
    table = plain(reservation([lease('a')], (), now=NOW, ahead=DAY).table)
    before = {name: one for name, one in table.items() if name not in ('room', 'format')}
    old, new = read_reserved(before), read_reserved(table)
    assert kept(old, 'h0', 2.5) == kept(new, 'h0', 2.5) == 2.0
    with pytest.raises(
        BadSnapshot, match='format 3 of what is reserved: this version reads 1 to 2'
    ):
        read_reserved({**table, 'format': 3})


@pytest.mark.parametrize(
    'room',
    [
        {'host': [0], 'begin': [1.0, 2.0], 'amounts': [[1.0]] * 3},
        {'host': [0, 0], 'begin': [2.0, 2.0], 'amounts': [[1.0, 0.0]] * 3},
        {'host': [1, 0], 'begin': [2.0, 3.0], 'amounts': [[1.0, 0.0]] * 3},
        {'host': [2], 'begin': [2.0], 'amounts': [[1.0]] * 3},
        {'host': [0], 'begin': [2.0], 'amounts': [[1.0]] * 2},
        {'host': [0], 'begin': [-2.0], 'amounts': [[1.0]] * 3},
        {'host': [0], 'begin': [2.0], 'amounts': [[-1.0]] * 3},
    ],
)
def test_room_that_is_no_room_is_refused(room):
    """Another machine wrote it."""
    table = plain(reservation([lease('a', hosts=('h0', 'h1'))], (), now=NOW, ahead=DAY).table)
    with pytest.raises(BadSnapshot):
        read_reserved({**table, 'room': room})


def test_the_version_changes_with_the_content_alone():
    """A reader that has it asks for nothing."""
    one = lease('a')
    first = reservation([one], (), now=NOW, ahead=DAY).table
    later = reservation([one], (), now=NOW + 10.0, ahead=DAY).table
    assert first.version == later.version and first.at < later.at
    given = reservation([replace(one, project_id='blue')], (), now=NOW, ahead=DAY).table
    assert given.version != first.version


def test_ten_thousand_hosts_with_two_leases_each_stay_small():
    """Under 2 MB."""
    leases = [
        lease(f'{n}/{k}', start=NOW + (k + 1) * HOUR, hosts=tuple(f'compute-{h:05}.example' for h in hosts))
        for k in range(2)
        for n, hosts in enumerate(np.arange(10_000).reshape(1_000, 10))
    ]  # fmt: skip
    text = json.dumps(plain(reservation(leases, (), now=NOW, ahead=DAY).table))
    read = read_reserved(json.loads(text))
    assert read is not None and len(read.hosts) == 10_000 and len(text) < 2_000_000
