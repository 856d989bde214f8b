# SPDX-License-Identifier: Apache-2.0
"""One look at an application and at the market: what a decision is made of.

Implements the inputs of Merkat (INRIA RR-8648), sections 2.3.1 and 3.2.1, eq. (3) to (5), from reports and,
where there are none, from what the hosts confirmed. Units: micro-credits, cores, MiB, seconds; prices per
core or MiB and period.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.app.controller_state import ControllerState, Pair
from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.app.record import (
    AppReport,
    AppState,
    DesiredServerState,
    HookReport,
    StoredApp,
    StoredSlot,
)
from nova_market.core.app.template import AppTemplate, Component, Goal
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.record import PriceRecord

NOTHING: Pair = (0.0, 0.0)

COUNTED = (DesiredServerState.PRESENT, DesiredServerState.SUSPENDED)

SLOWER = 2.0
"""Times that an iteration may get longer from one report to the next."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarketNow:
    """The newest round. seconds: of a period; now: since the epoch."""

    period: int
    now: float
    seconds: float
    state: MarketState


NOT_SOLD = PriceRecord(
    period=0, resource='', price=0.0, bid_price=0.0, capacity=2.0**43, allocated=0.0, bids=0
)
"""What stands for a resource that nobody sells: it costs nothing, and there is as much as anybody can use."""


def market_state(prices: Mapping[str, PriceRecord], reserve: Sequence[float]) -> MarketState:
    """What policies see of a round. prices: by resource, of those that are sold (B5)."""
    rows = [prices.get(name, NOT_SOLD) for name in MARKET_RESOURCES]
    least = [
        r if name in prices else 0.0 for name, r in zip(MARKET_RESOURCES, reserve, strict=True)
    ]
    capacity = np.array([row.capacity for row in rows])
    return MarketState(
        price=np.array([row.price for row in rows]),
        capacity=capacity,
        idle=np.maximum(capacity - [row.allocated for row in rows], 0.0),
        reserve=np.array(least),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """Of the application's budget. project: what its project has besides."""

    balance: int = 0
    renew_amount: int | None = None
    renew_every: int = 1
    project: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AppView:
    """allocations: of the newest round, by server, (cores, MiB); due: what that will cost."""

    app: StoredApp
    template: AppTemplate
    carried: ControllerState
    slots: Sequence[StoredSlot] = ()
    reports: Sequence[AppReport] = ()
    hooks: Sequence[HookReport] = ()
    allocations: Mapping[str, Pair] = field(default_factory=dict)
    due: int = 0
    budget: BudgetState = field(default_factory=BudgetState)

    def count(self, component: Component) -> int:
        """Servers it has or is about to have, without those that it has given up."""
        return sum(
            slot.component == component.name and slot.intention in COUNTED for slot in self.slots
        )

    def draining(self, component: Component) -> int:
        """Servers that it has given up, and that end their work."""
        return sum(
            slot.component == component.name and slot.intention is DesiredServerState.DRAINING
            for slot in self.slots
        )

    def allocation(self, component: Component) -> Pair | None:
        """Of one server, on the mean; None while none of them took part in a round."""
        found = [
            self.allocations[slot.server_id]
            for slot in self.slots
            if slot.component == component.name and slot.server_id in self.allocations
        ]
        if not found:
            return None
        return sum(cpu for cpu, _ in found) / len(found), sum(mib for _, mib in found) / len(found)

    @property
    def part(self) -> float:
        """What it gets of the CPU it could use, 0 to 1."""
        got = full = 0.0
        for one in self.template.components:
            most, count = self.carried.of(one.name).most[0], self.count(one)
            got += min((self.allocation(one) or NOTHING)[0], most) * count
            full += most * count
        return got / full if full > 0 else 0.0

    @property
    def cores(self) -> float:
        """What all servers could use; those of a start when there are none."""
        return sum(
            self.carried.of(one.name).most[0] * (self.count(one) or one.least_count)
            for one in self.template.components
        )


def spendable(
    budget: BudgetState, market: MarketNow, horizon: int, deadline: float | None
) -> float:
    """What may be spent in the next period: what there will be, in equal parts until there is more.

    A budget that does not renew itself is spread until the deadline, else over `horizon` periods.
    """
    period = market.period
    if budget.renew_amount is None:
        left = horizon
        if deadline is not None:
            left = int((deadline - market.now) // market.seconds)
        return budget.balance / max(left, 1)
    every = budget.renew_every
    have = budget.balance
    # the renewal of a period comes with its settlement, before the next one
    if period // every > (period - 1) // every:
        have = max(have, min(budget.renew_amount, have + max(budget.project, 0)))
    last = -(-(period + 1) // every) * every
    return have / (last - period)


def fresh(reports: Sequence[AppReport], since: float) -> Sequence[AppReport]:
    """Those that are not too old; reports of the whole application replace those of its servers."""
    new = [one for one in reports if one.at >= since]
    whole = [one for one in new if not one.server_id]
    return whole or new


def metric_of(reports: Sequence[AppReport]) -> float | None:
    """The mean of what was reported."""
    found = [one.metric for one in reports if one.metric is not None]
    return sum(found) / len(found) if found else None


def queue_of(reports: Sequence[AppReport]) -> tuple[int, int] | None:
    """(waiting, busy), added up."""
    found = [one for one in reports if one.waiting is not None or one.busy is not None]
    if not found:
        return None
    return sum(one.waiting or 0 for one in found), sum(one.busy or 0 for one in found)


def progress_of(view: AppView) -> AppReport | None:
    """One report of the progress of all, None without any. An old report of progress still counts.

    Where servers report, one that has not reported yet is taken to have as much before it as the others have
    on the mean: what is lost or new does not make the work less.
    """
    found = [one for one in view.reports if one.done is not None and (one.total or 0.0) > 0]
    parts, count = [one for one in found if not one.server_id], 1
    if not parts:
        servers = [slot for slot in view.slots if slot.intention is not DesiredServerState.GONE]
        names = {slot.server_id for slot in servers if slot.server_id}
        parts, count = [one for one in found if one.server_id in names], len(servers)
    if not parts:
        return None
    each = [one.seconds_each for one in parts if one.seconds_each is not None]
    total = sum(one.total or 0.0 for one in parts)
    return AppReport(
        app_id=view.app.id,
        at=max(one.at for one in parts),
        total=total + total / len(parts) * (count - len(parts)),
        done=sum(min(one.done or 0.0, one.total or 0.0) for one in parts),
        # side by side, the parts go on at the same time
        seconds_each=sum(each) / len(each) / count if each else None,
    )


def learned(view: AppView) -> ControllerState:
    """Eq. (4)'s time per iteration, as it would be at full allocations, from the newest report.

    Not from one over a time in which the application was suspended, and never more than SLOWER times what was
    known, or what follows from the work in its template: one guest that stalled for a while must not end an
    application that would be in time.
    """
    carried, report = view.carried, progress_of(view)
    if report is None or report.at <= carried.at:
        return carried
    done, each = report.done or 0.0, report.seconds_each
    if each is None and carried.at > 0 and done > carried.done:
        each = (report.at - carried.at) / (done - carried.done)
    whole = view.app.state is AppState.RUNNING and not 0 < carried.at < view.app.changed_at
    known = carried.each
    if each is not None and np.isfinite(each) and whole:
        known = min(each * carried.part, SLOWER * (carried.each or _expected(view, report)))
    return replace(carried, at=report.at, done=done, each=known)


def _expected(view: AppView, report: AppReport) -> float:
    """Seconds for one at full allocations, by the template's work; inf when it names none."""
    work, total = view.template.slo.work_core_seconds, report.total or 0.0
    if work is None or view.cores <= 0 or total <= 0:
        return np.inf
    return work / view.cores / total


def is_finished(view: AppView) -> bool:
    """As reported since its start by the application itself, or else by each of its servers."""
    report = progress_of(view)
    if report is None or report.at < view.carried.began:
        return False
    return (report.total or 0.0) <= (report.done or 0.0)


def remaining(view: AppView, now: float, report_life: float) -> float | None:
    """Seconds of work that are left with full allocations; None when nothing was reported.

    What was done since the last report is taken from what the servers got, for as long as a report counts: a
    guest that hangs gets its CPU too.
    """
    carried, report = view.carried, progress_of(view)
    if report is not None and carried.each > 0:
        todo = ((report.total or 0.0) - (report.done or 0.0)) * carried.each
        since = min(max(now - carried.at, 0.0), report_life)
        return max(todo - since * view.part, 0.0)
    work = view.template.slo.work_core_seconds
    if view.template.slo.goal is Goal.DEADLINE and work is not None and view.cores > 0:
        if report is not None:
            return work * (1.0 - (report.done or 0.0) / (report.total or 1.0)) / view.cores
        return max(work - carried.given, 0.0) / view.cores
    return None
