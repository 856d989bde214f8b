# SPDX-License-Identifier: Apache-2.0
"""Two servers that change places: the step of the search where no single move helps.

Beyond Merkat (INRIA RR-8648), Algorithm 1, which moves one server at a time; rule A2 of
doc/source/specs/market.rst. Units and shapes as in core.rebalancing.layout.

A swap may need a third host to be carried out when both hosts are full; core.rebalancing.move_order sees to
that. Servers of anti-affinity groups and those that are bound to a zone are not swapped: they move singly.
"""

from collections.abc import Callable
from itertools import islice

import numpy as np

from nova_market.core.rebalancing.layout import FITS, NOWHERE, LayoutState, load
from nova_market.core.resource import Array, Flags, Rows

Move = tuple[int, int]
"""A server and the host it goes to."""

PAIRS = 4_000
"""So many swaps are ranked at most; more would cost more than they find."""


def partners(layout: LayoutState, hosts: Rows, source: int, servers: int) -> Rows:
    """Servers on the least loaded of `hosts`, as many as PAIRS allows for `servers` on the other side."""
    capacity = layout.placement.capacity
    ready = hosts[layout.placement.open[hosts] & (hosts != source)]
    order = ready[np.argsort(load(layout.wanted, capacity)[ready], kind='stable')]
    sizes = np.cumsum([len(layout.members[host]) for host in order])
    count = max(int(np.searchsorted(sizes, PAIRS // max(servers, 1))), 1)
    return np.concatenate([layout.members[host] for host in order[:count]] or [hosts[:0]])


def best_swap(
    layout: LayoutState,
    here: Rows,
    there: Rows,
    inflow: int,
    breadth: int,
    tabu: Callable[[list[Move]], bool],
) -> tuple[float, list[Move]]:
    """(largest error on both hosts, the two moves) of the best swap; inf when none is possible.

    here: servers of one host; there: servers of others, all free to move.
    """
    here, there = _free(layout, here), _free(layout, there)
    if not len(here) or not len(there):
        return np.inf, []
    rank = np.where(_fits(layout, here, there, inflow), _load_after(layout, here, there), np.inf)
    rows, columns = best_ranked(rank, breadth)
    pairs = zip(here[rows].tolist(), there[columns].tolist(), strict=True)
    swaps = ([(a, int(layout.host[b])), (b, int(layout.host[a]))] for a, b in pairs)
    chosen = list(islice((moves for moves in swaps if not tabu(moves)), breadth))
    if not chosen:
        return np.inf, []
    servers, others = (np.array([moves[i][0] for moves in chosen]) for i in (0, 1))
    errors = layout.try_swaps(servers, others).round(9)
    pick = int(errors.argmin())
    return float(errors[pick]), chosen[pick]


def best_ranked(rank: Array, breadth: int) -> tuple[Rows, Rows]:
    """(rows, columns) of the least finite ranks, best first; several times `breadth`: some are tabu."""
    width = min(8 * breadth, rank.size)
    flat = rank.ravel()
    order = np.sort(np.argpartition(flat, width - 1)[:width])
    order = order[np.isfinite(flat[order])]
    order = order[np.argsort(flat[order], kind='stable')]
    rows, columns = np.unravel_index(order, rank.shape)
    return rows, columns


def _free(layout: LayoutState, servers: Rows) -> Rows:
    placement = layout.placement
    free: Rows = servers[
        (placement.apart[servers] == NOWHERE) & (placement.zone[servers] == NOWHERE)
    ]
    return free


def _fits(layout: LayoutState, here: Rows, there: Rows, inflow: int) -> Flags:
    """(here, there): do both fit where the other was, and may both hosts receive?"""
    p = layout.placement
    source, targets = layout.host[here[:1]], layout.host[there]
    full = layout.inflow >= inflow
    fine = p.open[source] & p.open[targets] & ~full[source] & ~full[targets]
    fits: Flags = np.broadcast_to(fine[None, :], (len(here), len(there))).copy()
    for size, used, room in zip(p.size, layout.used, p.room, strict=True):
        more = size[here][:, None] - size[there][None, :]
        limit = room * (1.0 + FITS)
        fits &= used[targets][None, :] + more <= limit[targets][None, :]
        fits &= used[source] - more <= limit[source]
    return fits


def _load_after(layout: LayoutState, here: Rows, there: Rows) -> Array:
    """(here, there): the larger load of the two hosts after each swap."""
    p = layout.placement
    source, targets = layout.host[here[:1]], layout.host[there]
    more = p.ideal[:, here][:, :, None] - p.ideal[:, there][:, None, :]
    left = load(layout.wanted[:, source][:, :, None] - more, p.capacity[:, source][:, :, None])
    joined = load(layout.wanted[:, None, targets] + more, p.capacity[:, None, targets])
    return np.maximum(left, joined)
