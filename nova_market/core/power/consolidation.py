# SPDX-License-Identifier: Apache-2.0
"""Servers on fewer hosts, so that the others can be powered down.

Implements the goal `power` of rule W2 of doc/source/specs/leases.rst, after CloudAlloc, section 2 (a host
that is on draws its base), for servers that run; as best-fit decreasing of Beloglazov and Buyya (CCPE
24(13), 2012), host by host. Units as in core.rebalancing.layout; watts.

One host after the other is emptied, those first whose servers are the least to copy for the watts that are
saved. Each of its servers goes to the host that is fullest with it. A host is emptied wholly or not at all.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.rebalancing.layout import Layout, LayoutState, load
from nova_market.core.rebalancing.tabu_search import BalancePlan
from nova_market.core.resource import Array, Flags, Rows

UNLIMITED = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationSettings:
    """fullest: load (ideal allocations over capacity) up to which a host is filled
    error:      the largest allocation error must not exceed this, or what it is without the plan
    migrations: of one plan, at most
    """

    fullest: float = 0.8
    error: float = 0.01
    migrations: int = UNLIMITED


def consolidated(
    placement: Layout,
    base_w: Array,
    settings: ConsolidationSettings | None = None,
    *,
    kept: Flags | None = None,
) -> BalancePlan:
    """Servers on fewer hosts; the same placement when no host can be emptied.

    base_w: (hosts,) watts that are saved by powering it down
    kept:   (hosts,) not to be emptied: needed soon, excluded; None: none
    """
    chosen = settings or ConsolidationSettings()
    layout = LayoutState(placement)
    before = float(layout.errors.max(initial=0.0))
    tried = moved = 0
    order: list[int] = []
    for host in _candidates(layout, base_w, kept):
        members = layout.members[host].copy()
        if moved + len(members) > chosen.migrations:
            continue
        tried += 1
        gone = _emptied(layout, host, chosen)
        if len(gone) == len(members) and layout.errors.max() <= max(chosen.error, before):
            order += gone
            moved += len(gone)
        else:
            for server in reversed(gone):
                layout.move(server, host)
    return BalancePlan(
        host=layout.host.copy(),
        moved=_moved(order, placement, layout),
        before=before,
        after=float(layout.errors.max(initial=0.0)),
        iterations=tried,
    )


def _candidates(layout: LayoutState, base_w: Array, kept: Flags | None) -> list[int]:
    """Hosts with servers all of which may move, the least to copy for a watt first."""
    placement = layout.placement
    filled = np.array([len(one) > 0 for one in layout.members], dtype=np.bool_)
    free = np.array([bool(placement.movable[one].all()) for one in layout.members], dtype=np.bool_)
    wanted = filled & free & (base_w > 0) & (True if kept is None else ~kept)
    rows = np.flatnonzero(wanted)
    copied = layout.used[0, rows] / base_w[rows]
    return [int(row) for row in rows[np.argsort(copied, kind='stable')]]


def _emptied(layout: LayoutState, host: int, settings: ConsolidationSettings) -> list[int]:
    """The servers that found another host, largest first; it ends with the first that finds none."""
    placement = layout.placement
    members = layout.members[host]
    largest_first = members[np.argsort(-placement.size[0, members], kind='stable')]
    gone: list[int] = []
    for server in largest_first.tolist():
        target = _fullest(layout, server, host, settings.fullest)
        if target is None:
            break
        layout.move(server, target)
        gone.append(server)
    return gone


def _fullest(layout: LayoutState, server: int, source: int, fullest: float) -> int | None:
    """The host that has servers already and is fullest with this one, None when it fits nowhere."""
    placement = layout.placement
    hosts = np.array(
        [h for h, one in enumerate(layout.members) if len(one) and h != source], dtype=np.intp
    )
    if not len(hosts):
        return None
    fine = layout.allowed(np.array([server]), hosts, UNLIMITED)[0]
    wanted = layout.wanted[:, hosts] + placement.ideal[:, [server]]
    joined = load(wanted, placement.capacity[:, hosts])
    fine &= joined <= fullest
    if not fine.any():
        return None
    size = layout.used[0, hosts] / np.maximum(placement.room[0, hosts], 1e-9)
    return int(hosts[np.where(fine, np.maximum(joined, size), -np.inf).argmax()])


def _moved(order: list[int], placement: Layout, layout: LayoutState) -> Rows:
    """Who ends up elsewhere, in the order of the last move: a server may have moved twice."""
    last = list(dict.fromkeys(reversed(order)))[::-1]
    return np.array([one for one in last if layout.host[one] != placement.host[one]], dtype=np.intp)
