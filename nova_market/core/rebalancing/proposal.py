# SPDX-License-Identifier: Apache-2.0
"""From a round's allocation errors to a plan of migrations that can be stored.

Implements rules A2, A3 and A4 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.2.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nova_market.core.rebalancing.layout import Layout
from nova_market.core.rebalancing.move_order import MigrationPlan, ordered_moves
from nova_market.core.rebalancing.plan import StoredMove, StoredPlan
from nova_market.core.rebalancing.problem import MarketView, placement_of
from nova_market.core.rebalancing.settings import RebalancingSettings
from nova_market.core.rebalancing.tabu_search import balanced
from nova_market.core.resource import Array

SHOWN = 100
"""Characters of a name in a reason; the whole has to fit its column."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Search:
    """What a search found for one round."""

    view: MarketView
    plan: MigrationPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """proposed: the plan to be carried out, None when no move is worth it; superseded: plans that end."""

    proposed: StoredPlan | None
    superseded: tuple[StoredPlan, ...]


def search(view: MarketView, rest: frozenset[str], settings: RebalancingSettings) -> Search:
    """A2 and A3 on one round, a pure function."""
    placement = placement_of(view, rest)
    return Search(view=view, plan=better_plan(placement, view.outcome.price, settings))


def better_plan(placement: Layout, price: Array, settings: RebalancingSettings) -> MigrationPlan:
    """The migrations that make this placement better and are worth it, in order."""
    return ordered_moves(
        placement, balanced(placement, settings.balance), price, settings.migration
    )


def search_due(last: int | None, period: int, settings: RebalancingSettings) -> bool:
    """Is it time for a search in this period? last: period of the search before, None for none."""
    return last is None or period - last >= settings.every


def proposal(found: Search, settings: RebalancingSettings, now: float) -> StoredPlan:
    """The plan by its names: one for each period, so that two leaders of one period propose one plan."""
    view = found.view
    moves = []
    for step in found.plan.steps:
        server, source, target = (
            view.servers[step.server],
            view.hosts[step.source].name,
            view.hosts[step.target].name,
        )
        shown = (server.id[:SHOWN], source[:SHOWN], target[:SHOWN])
        moves.append(
            StoredMove(
                server_id=server.id,
                source=source,
                destination=target,
                error_before=step.error_before,
                error_after=step.error_after,
                gain=step.gain,
                cost=step.cost,
                reason=f'{step.reason(*shown)}; in the cloud {summary(found.plan)}',
                changed_at=now,
            )
        )
    return StoredPlan(
        id=f'p{view.period}',
        period=view.period,
        mode=settings.mode,
        created_at=now,
        moves=tuple(moves),
    )


def agreement(new: StoredPlan, old: Sequence[StoredPlan]) -> Agreement:
    """What becomes of proposed plans when a search has found a new one.

    A plan that would make the same moves stays, and can be approved by the name it has; the other ones were
    made for a placement that has changed.
    """
    same = next((p for p in old if new.moves and _ways(p) == _ways(new)), None)
    return Agreement(
        proposed=(same or new) if new.moves else None,
        superseded=tuple(plan for plan in old if plan is not same),
    )


def summary(plan: MigrationPlan) -> str:
    """What the whole plan does."""
    servers = len({step.server for step in plan.steps})
    return (
        f'the largest error falls from {plan.before:.2%} to {plan.after:.2%} with {servers} servers '
        f'moved in {len(plan.steps)} steps'
    )


def _ways(plan: StoredPlan) -> list[tuple[str, str, str]]:
    return [(move.server_id, move.source, move.destination) for move in plan.moves]
