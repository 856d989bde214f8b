# SPDX-License-Identifier: Apache-2.0
"""Future flexible leases are placed anew, in fact or to see what would change.

Implements rule L4 of doc/source/specs/leases.rst around core.lease.replan, after CloudAlloc, section 4,
scenario 3. Seconds since the epoch. A plan is written only if nothing was booked or moved since it was made:
of two operators who replan at once one gets a conflict.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.host_view import HostView, cluster_of
from nova_market.core.lease.life import event
from nova_market.core.lease.place import LeasePlace
from nova_market.core.lease.placement_interface import PlacementInput
from nova_market.core.lease.record import LeaseAction, LeaseState, LeaseStep, StoredLease
from nova_market.core.lease.repair import stored_nodes
from nova_market.core.lease.replan import ReplanPlan, replanned
from nova_market.services.lease.asking import LeaseStores
from nova_market.services.lease.observing import read_view
from nova_market.services.lease.settings import LeaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Replanned:
    """steps: what changes, by lease; plan: with its measures, of the leases that may move; written: or not"""

    algorithm: str
    objective: str
    unit: str
    leases: int
    plan: ReplanPlan
    steps: tuple[LeaseStep, ...]
    written: bool


def replan(
    stores: LeaseStores,
    settings: LeaseSettings,
    by: str,
    *,
    algorithm: str = '',
    objective: str = '',
    dry_run: bool = False,
) -> Replanned:
    """'': what is in force now.

    :raises BadLease: no such algorithm or objective.
    :raises LeaseRefused: the hosts are not known.
    :raises PromisesChanged, LeaseChanged: somebody booked or moved meanwhile; nothing was changed.
    """
    now = stores.wall()
    view = read_view(stores.states, now, settings.view_age)
    turn, live = stores.leases.calendar()
    moving = [one for one in live if may_move(one, view, now, settings.freeze)]
    chosen = {one.id for one in moving}
    hosts = cluster_of(view, [one for one in live if one.id not in chosen], settings.prices, now)
    first, place, second, aims = settings.plugins(now, algorithm, objective)
    row = {name: number for number, name in enumerate(view.names)}
    end = time.monotonic() + settings.seconds
    rates = aims(hosts)
    seen = PlacementInput(
        hosts=hosts,
        leases=tuple(one.request for one in moving),
        rates=rates,
        settings=replace(settings.placement, seconds=settings.seconds),
        present=tuple(_present(one, row) for one in moving),
        solver=settings.solver,
        go_on=lambda: time.monotonic() < end,
    )
    plan = replanned(seen, (True,) * len(moving), now, place, settings.freeze)
    steps = _steps(moving, hosts, plan, now, f'replanned by {first} for {second}')
    if not dry_run:
        stores.leases.change(steps, turn, by)
    return Replanned(
        algorithm=first, objective=second, unit=rates.unit, leases=len(moving), plan=plan,
        steps=steps, written=not dry_run,
    )  # fmt: skip


def may_move(lease: StoredLease, view: HostView, now: float, freeze: float) -> bool:
    """It is flexible, begins later than `freeze` from now, and its hosts are known."""
    return (
        lease.flexible
        and lease.state is LeaseState.PLANNED
        and bool(lease.nodes)
        and lease.start >= now + freeze
        and all(node.host in view.names for node in lease.nodes)
    )


def _present(lease: StoredLease, row: Mapping[str, int]) -> LeasePlace:
    rows = [row[node.host] for node in lease.nodes]
    return LeasePlace(start=lease.start, hosts=tuple(rows if lease.hosts else sorted(rows)))


def _steps(
    moving: list[StoredLease], hosts: Cluster, plan: ReplanPlan, now: float, why: str
) -> tuple[LeaseStep, ...]:
    of = {one.id: row for row, one in enumerate(moving)}
    found = []
    for move in plan.moves:
        before = moving[of[move.lease]]
        if move.new is None:
            continue
        nodes = stored_nodes(hosts, before.request, move.new.hosts)
        start = move.new.start
        after = replace(before, nodes=nodes, start=start, end=start + before.duration)
        if (after.nodes, after.start) == (before.nodes, before.start):
            continue
        told = event(before, now, LeaseAction.MOVED, f'{why}: {_change(before, after)}')
        found.append(LeaseStep(before=before, after=after, events=(told,)))
    return tuple(found)


def _change(before: StoredLease, after: StoredLease) -> str:
    old, new = ([node.host for node in one.nodes] for one in (before, after))
    later = after.start - before.start
    moved = f'from {", ".join(old)} to {", ".join(new)}' if old != new else 'on the same hosts'
    return f'{moved}, {abs(later):.0f} s {"later" if later > 0 else "earlier"}' if later else moved
