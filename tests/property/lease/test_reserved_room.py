# SPDX-License-Identifier: Apache-2.0
"""L5: whatever servers the filter lets in, a lease that begins finds its room, or who stands in it is named.

A world in steps of an hour: servers come with or without an end, carry a lease or none, and are placed on
the first host that Placement and the filter allow. What the filter knows of carriers may be old.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.lease.record import LeaseNode
from nova_market.core.lease.reservation import reservation
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName
from nova_market.core.scheduler.filters import UNKNOWN, unreserved
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.reserved import reserved_from
from tests.support.lease_records import HOUR, lease

CORES, MIB, GIB = 8.0, 8192.0, 100.0
HOSTS = ('h0', 'h1')
HOURS = 12
WINDOW = 3 * HOUR


@dataclass(frozen=True)
class Placed:
    """A server; until: it leaves then; carries: id of its lease"""

    host: str
    size: float
    since: float
    until: float
    stays: bool
    carries: str
    project: str


@st.composite
def leases_of_a_day(draw):
    """Leases that fit beside each other on empty hosts."""
    found, taken = [], {host: np.zeros(HOURS + 4) for host in HOSTS}
    for number in range(draw(st.integers(1, 5))):
        first = draw(st.integers(0, HOURS - 1))
        last = first + draw(st.integers(1, 4))
        size = draw(st.sampled_from([1.0, 3.0, 5.0, CORES]))
        hosts = tuple(draw(st.sets(st.sampled_from(HOSTS), min_size=1)))
        if any((taken[host][first:last] + size > CORES).any() for host in hosts):
            continue
        for host in hosts:
            taken[host][first:last] += size
        part = (size, size * MIB / CORES, 0.0)
        whole = size == CORES
        found.append(
            lease(
                str(number), draw(st.sampled_from(['red', 'blue'])), start=first * HOUR,
                hours=last - first, hosts=hosts, whole=whole, number=number,
                nodes=tuple(LeaseNode(host=host, amounts=part) for host in hosts),
            )
        )  # fmt: skip
    return found


ARRIVALS = st.lists(
    st.tuples(
        st.integers(0, HOURS - 1),
        st.sampled_from([1.0, 2.0, 4.0]),
        st.one_of(st.none(), st.integers(1, 6)),
        st.sampled_from(['red', 'blue']),
        st.integers(-1, 4),
        st.booleans(),
    ),
    max_size=20,
)


@given(
    leases_of_a_day(),
    ARRIVALS,
    st.sampled_from([{}, {'most': 1}, {'most_steps': 3}, {'most': 2, 'most_steps': 4}]),
)
def test_a_lease_finds_its_room_or_who_stands_in_it_is_named(leases, arrivals, bounds):
    """Named are servers without an end that came before the window, which rebalancing moves away.

    bounds: of what is published; no lease loses its room by them
    """
    there = []
    old = reservation(leases, (), now=0.0, ahead=1e9, **bounds)
    events = sorted(arrivals, key=lambda one: one[0])
    for hour in range(HOURS):
        now = hour * HOUR
        there = [one for one in there if one.until > now]
        for _, size, life, project, choice, stale in (e for e in events if e[0] == hour):
            carries = leases[choice].id if 0 <= choice < len(leases) else ''
            seen = (
                old
                if stale
                else reservation(leases, servers_of(there), now=now, ahead=1e9, **bounds)
            )
            placed = place(there, seen, leases, size, life, project, carries, now)
            there = [*there, placed] if placed is not None else there
        for one in leases:
            if one.start <= now < one.end:
                assert_kept(one, leases, there, now)


def servers_of(there):
    return [
        CloudServer(
            id=str(number), project_id=one.project, host=HostName(one.host), vcpus=1, memory_mib=1,
            metadata={'market:lease': one.carries} if one.carries else {},
            counted={'VCPU': one.size, 'MEMORY_MB': one.size * MIB / CORES},
        )
        for number, one in enumerate(there)
    ]  # fmt: skip


def place(there, seen, leases, size, life, project, carries, now):
    """Where Nova puts a server; None: nowhere."""
    reserved = reserved_from(seen.table)
    request = ServerRequest(
        project_id=project, size=(size, size * MIB / CORES), limit=(size, 1.0), lease=carries,
        duration=None if life is None else int(life * HOUR),
    )  # fmt: skip
    used = [sum(one.size for one in there if one.host == host) for host in HOSTS]
    free = np.array([[CORES - u, MIB - u * MIB / CORES, GIB] for u in used]).T
    rows = np.array([reserved.hosts.get(host, UNKNOWN) for host in HOSTS], dtype=np.intp)
    flags, _ = unreserved(reserved, request, rows, free, now, WINDOW)
    for row, host in enumerate(HOSTS):
        if flags[row] and free[0, row] >= size:
            mine = next((one for one in leases if one.id == carries), None)
            end = np.inf if life is None else now + life * HOUR
            # what is left when a lease ends is ended with it
            until = end if mine is None else min(end, mine.end)
            return Placed(host, size, now, until, life is None and mine is None, carries, project)
    return None


def assert_kept(one, leases, there, now):
    for node in one.nodes:
        here = [server for server in there if server.host == node.host]
        strangers = sum(server.size for server in here if not server.carries)
        kept = strangers + sum(held(other, node.host, here, now) for other in leases)
        begun = max(
            other.start
            for other in leases
            if other.start <= now < other.end and node.host in [n.host for n in other.nodes]
        )
        named = sum(s.size for s in here if s.stays and s.since + WINDOW <= begun)
        assert kept - named <= CORES + 1e-6


def held(lease_, host, here, now):
    """What a lease has on a host now, reserved or taken by servers that carry it."""
    taken = sum(server.size for server in here if server.carries == lease_.id)
    reserved = sum(
        node.amounts[0]
        for node in lease_.nodes
        if node.host == host and lease_.start <= now < lease_.end
    )
    return max(taken, reserved)
