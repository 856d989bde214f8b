# SPDX-License-Identifier: Apache-2.0
"""Components of applications as the columns that scaling policies take.

Implements the inputs of Algorithms 2 and 3 of Merkat (INRIA RR-8648), section 2.3, for applications of
several virtual clusters: each component is a column, with a part of the budget by what it costs in full.
Units and shapes as in policies.policy_interface.

Not given there, and settled here: an application that has reported nothing is taken to perform as its
reference says, so that nothing changes while a monitor is away; it starts with the least allocation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.app.controller_state import ComponentState
from nova_market.core.app.policies.policy_interface import (
    Backlog,
    Band,
    Deadlines,
    PolicyInput,
    PolicyState,
)
from nova_market.core.app.progress import lateness
from nova_market.core.app.record import AppState
from nova_market.core.app.template import Component, Goal
from nova_market.core.app.view import (
    NOTHING,
    AppView,
    MarketNow,
    fresh,
    metric_of,
    queue_of,
    remaining,
    spendable,
)
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import Array, Rows

STATES = {
    AppState.WAITING: PolicyState.WAITING,
    AppState.RUNNING: PolicyState.RUNNING,
    AppState.SUSPENDED: PolicyState.SUSPENDED,
}
WIDTH = len(MARKET_RESOURCES)

LEAST_PART = 0.25
"""Of full CPU, for those that name no least allocation: section 3.2.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one application: what its column holds, and what is shown of it. None: not known.

    deadline: (seconds of work that remain, seconds to the deadline)
    backlog:  (tasks that wait, servers that work)
    """

    performance: float
    deadline: tuple[float, float] | None
    budget: float
    backlog: tuple[int, int] | None
    known: bool
    late: float | None = None
    work_left: float | None = None


def measured(view: AppView, market: MarketNow, horizon: int, report_life: float) -> Measured:
    """What is known of one application now. report_life: seconds for which a report counts."""
    slo = view.template.slo
    reports = fresh(view.reports, market.now - report_life)
    left = None if slo.deadline is None else slo.deadline - market.now
    reference = slo.band[1]
    work = remaining(view, market.now, report_life)
    servers = sum(view.count(one) for one in view.template.components)
    queue = queue_of(reports)
    performance, known, late = reference, False, None
    if left is not None and work is not None:
        # before it runs there is no speed of its own: it is measured at the full one
        speed = view.part if view.app.state is AppState.RUNNING else 1.0
        at_this_speed = work / speed if speed > 0 else (np.inf if work > 0 else 0.0)
        late = float(lateness(np.array([at_this_speed]), np.array([left]))[0])
        performance, known = late, True
    elif slo.goal in (Goal.METRIC, Goal.THROUGHPUT):
        metric = metric_of(reports)
        if metric is not None:
            performance, known = slo.performance(metric), True
    elif slo.goal is Goal.QUEUE and queue is not None:
        performance, known = sum(queue) / max(servers, 1), True
    return Measured(
        performance=performance,
        deadline=_deadline(view, work, left),
        budget=spendable(view.budget, market, horizon, slo.deadline),
        backlog=(queue or (0, servers)) if slo.goal is Goal.QUEUE else None,
        known=known,
        late=late,
        work_left=work,
    )


def columns(
    views: Sequence[AppView], found: Sequence[Measured], market: MarketNow
) -> tuple[PolicyInput, Array]:
    """(a column for each component of each view, the part of its application's budget)."""
    pairs = [(view, one) for view in views for one in view.template.components]
    owner = np.repeat(
        np.arange(len(views), dtype=np.intp), [len(v.template.components) for v in views]
    )
    states = [view.carried.of(one.name) for view, one in pairs]
    most = _stack([state.most for state in states])
    parts = _parts(pairs, most, market, owner, len(views))
    bands = np.array([view.template.slo.band for view in views], dtype=np.float64)[owner].T
    of = [found[row] for row in owner.tolist()]
    count = np.array([view.count(one) or one.least_count for view, one in pairs], dtype=np.int64)
    seen = PolicyInput(
        market=market.state,
        state=np.array([STATES[view.app.state] for view, _ in pairs], dtype=np.int64),
        count=count,
        least_count=np.array([one.least_count for _, one in pairs], dtype=np.int64),
        most_count=np.array([one.most_count for _, one in pairs], dtype=np.int64),
        bid=_stack([state.bid for state in states]),
        allocation=_stack([view.allocation(one) or NOTHING for view, one in pairs]),
        least=np.minimum(_stack([(one.least_cpu, one.least_memory_mib) for _, one in pairs]), most),
        most=most,
        change=_stack([state.change for state in states]),
        budget=np.array([one.budget for one in of]) * parts,
        band=Band(
            performance=np.array([one.performance for one in of]),
            low=bands[0],
            reference=bands[1],
            high=bands[2],
        ),
        deadlines=_deadlines(of),
        backlog=_backlog(of, states),
        draining=np.array([view.draining(one) for view, one in pairs], dtype=np.int64),
    )
    return seen, parts


def _deadline(view: AppView, work: float | None, left: float | None) -> tuple[float, float] | None:
    if left is None:
        return None
    return (_unknown(view, max(left, 0.0)) if work is None else work), left


def _unknown(view: AppView, left: float) -> float:
    """Work that the least allocation does in time: how much there is was not reported."""
    least = sum(one.least_cpu * one.least_count for one in view.template.components)
    full = sum(
        view.carried.of(one.name).most[0] * one.least_count for one in view.template.components
    )
    part = min(least / full, 1.0) if least > 0 and full > 0 else LEAST_PART
    return left * view.template.slo.band[1] * part


def _deadlines(of: Sequence[Measured]) -> Deadlines | None:
    """None when one has no deadline: a policy that needs deadlines must refuse it."""
    found = [one.deadline for one in of if one.deadline is not None]
    if len(found) < len(of):
        return None
    remaining, left = np.array(found, dtype=np.float64).reshape(len(found), 2).T
    return Deadlines(remaining=remaining, left=left)


def _backlog(of: Sequence[Measured], states: Sequence[ComponentState]) -> Backlog | None:
    """None when one has no queue."""
    found = [one.backlog for one in of if one.backlog is not None]
    if len(found) < len(of):
        return None
    waiting, busy = np.array(found, dtype=np.int64).reshape(len(found), 2).T
    return Backlog(
        waiting=waiting,
        busy=busy,
        lost=np.array([state.lost for state in states], dtype=np.bool_),
    )


def _parts(
    pairs: Sequence[tuple[AppView, Component]],
    most: Array,
    market: MarketNow,
    owner: Rows,
    count: int,
) -> Array:
    """By what all servers that a component may have would cost in full."""
    servers = np.array([one.most_count for _, one in pairs], dtype=np.float64)
    weight = (np.maximum(market.state.price, 1e-9)[:, None] * most).sum(axis=0) * servers
    total = np.bincount(owner, weight, count)[owner]
    parts: Array = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    return parts


def _stack(pairs: Sequence[tuple[float, float]]) -> Array:
    """(resources, columns)."""
    return np.array(pairs, dtype=np.float64).reshape(len(pairs), WIDTH).T.copy()
