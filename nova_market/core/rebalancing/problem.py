# SPDX-License-Identifier: Apache-2.0
"""From a round and the cloud it was decided on to a placement; and whether a move can still be made.

Implements rule A3 of doc/source/specs/market.rst: what must fit, and who may move where. Units as in
core.rebalancing.layout; row 0 of the sizes is the RAM of the flavor in MiB, the others what Placement counts.

RAM counts whole although the market may give a server less of it: what its owner was promised must be
there on the day the others stop bidding. Servers that take no part in the market take room as well.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.market.inventory import ANTI_AFFINITY, CloudHost, CloudServer
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.core.rebalancing.layout import NOWHERE, Layout, fits
from nova_market.core.rebalancing.plan import StoredMove
from nova_market.core.resource import Array, Rows

AFFINITY = 'affinity'
MIGRATED = 'ACTIVE'
"""Nova also migrates paused servers, but those have no use for CPU."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarketView:
    """One round and what it was decided on.

    hosts, servers: in the order of the rows of the snapshot
    others:         servers on these hosts that take no part in the market
    """

    period: int
    snapshot: MarketSnapshot
    outcome: RoundOutcome
    hosts: Sequence[CloudHost]
    servers: Sequence[CloudServer]
    others: Sequence[CloudServer] = ()


def placement_of(view: MarketView, resting: Collection[str] = ()) -> Layout:
    """What the search starts from; `resting` are servers that may not move yet."""
    row = {host.name: number for number, host in enumerate(view.hosts)}
    others = [server for server in view.others if server.host in row]
    everybody = [*view.servers, *others]
    home = np.array([row[server.host] for server in others], dtype=np.intp)
    answering = view.snapshot.answering
    open_hosts = answering & np.array([host.enabled for host in view.hosts], dtype=np.bool_)
    host = np.concatenate([view.snapshot.host, home])
    movable = [may_move(server, resting) for server in view.servers] + [False] * len(others)
    size, room = _sizes(view.hosts, everybody)
    zones = _numbers(host.zone for host in view.hosts)
    groups = _numbers(s.group for s in everybody if s.group_policy == ANTI_AFFINITY)
    return Layout(
        host=host,
        bids=_and_nothing(view.outcome.bids.astype(np.float64), len(others)),
        caps=_and_nothing(view.snapshot.caps, len(others)),
        ideal=_and_nothing(view.outcome.ideal, len(others)),
        capacity=_handed_out(view.snapshot),
        size=size,
        room=room,
        movable=np.array(movable, dtype=np.bool_) & answering[host],
        open=open_hosts,
        zone=_rows([_zone(server, zones) for server in everybody]),
        host_zone=_rows([zones[host.zone] for host in view.hosts]),
        apart=_rows([_group(server, groups) for server in everybody]),
    )


def _handed_out(snapshot: MarketSnapshot) -> Array:
    """(resources, hosts): the capacity; where a resource is not sold (B5), as much as anybody can use."""
    return np.where(snapshot.sells, snapshot.capacity, snapshot.caps.sum(axis=1)[:, None])


def may_move(server: CloudServer, resting: Collection[str] = ()) -> bool:
    """A3: not pinned, not held together with others, and it has had its rest."""
    held = server.group_policy == AFFINITY
    return server.migratable and server.status == MIGRATED and not held and server.id not in resting


def obstacle(
    move: StoredMove, hosts: Sequence[CloudHost], servers: Sequence[CloudServer]
) -> str | None:
    """What stands in the way of a move now, None when nothing does: the cloud goes on while a plan runs."""
    server = next((one for one in servers if one.id == move.server_id), None)
    target = next((one for one in hosts if one.name == move.destination), None)
    if server is None:
        return 'the server is gone'
    if server.host != move.source:
        return f'the server is on {server.host} and not on {move.source} any more'
    if not may_move(server):
        return server.pinned or f'the server cannot be migrated now (it is {server.status})'
    if target is None or not target.enabled or not target.answering:
        return f'{move.destination} takes no servers now'
    if server.zone and server.zone != target.zone:
        return f'{move.destination} is in zone {target.zone}, the server wants {server.zone}'
    there = [one for one in servers if one.host == target.name]
    if server.group_policy == ANTI_AFFINITY and any(one.group == server.group for one in there):
        return f'a server of the same anti-affinity group is on {move.destination}'
    size, room = _sizes([target], [server, *there])
    if not fits(size.sum(axis=1), room[:, 0]):
        return f'{move.destination} has no room for it now'
    return None


def _sizes(hosts: Sequence[CloudHost], servers: Sequence[CloudServer]) -> tuple[Array, Array]:
    """(size, room): RAM, then each resource class that some host counts."""
    classes = sorted({name for host in hosts for name in host.counted})
    size = [[float(server.memory_mib) for server in servers]]
    room = [[float(host.memory_mib) for host in hosts]]
    for name in classes:
        size.append([float(server.counted.get(name, 0.0)) for server in servers])
        # Placement decides for a host of which it reports nothing
        room.append([_counted(host, name) for host in hosts])
    rows = len(size)
    return np.array(size).reshape(rows, len(servers)), np.array(room).reshape(rows, len(hosts))


def _counted(host: CloudHost, name: str) -> float:
    return float(host.counted.get(name, 0.0)) if host.counted else float('inf')


def _zone(server: CloudServer, zones: Mapping[str, int]) -> int:
    """A zone that no host is in any more is a row that no host has: the server stays."""
    return zones.get(server.zone, len(zones)) if server.zone else NOWHERE


def _group(server: CloudServer, groups: Mapping[str, int]) -> int:
    return groups[server.group] if server.group_policy == ANTI_AFFINITY else NOWHERE


def _numbers(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted(set(names)))}


def _rows(numbers: Sequence[int]) -> Rows:
    return np.array(numbers, dtype=np.intp)


def _and_nothing(rows: Array, count: int) -> Array:
    """The rows of the market's servers, and as many that bid nothing and get nothing."""
    return np.concatenate([rows, np.zeros((len(rows), count))], axis=1)
