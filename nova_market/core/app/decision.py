# SPDX-License-Identifier: Apache-2.0
"""What becomes of applications in the next period: all of one policy in one step, then one by one.

Implements Merkat (INRIA RR-8648), section 2.3.1 (the controller's loop) and section 3.1.2 (initial
conditions of a start). Units: micro-credits per period, seconds.

An application of several components runs when all of them can; it is suspended when one must be. Policies
that do not start and suspend by themselves start when the least allocation of the least servers is paid.

Not given there, and settled here: what its policy would drop ends after CERTAIN decisions that agree; what is
not known to be too late is suspended at its deadline, so that its owner can move it or fetch what there is.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.app.controller_state import ComponentState, ControllerState
from nova_market.core.app.policies.merkat_policies import upper_bound
from nova_market.core.app.policies.policy_interface import (
    PolicyInput,
    PolicyOutput,
    PolicyState,
    StepReason,
    cost,
    explain,
    others_pay,
)
from nova_market.core.app.policies.traits import Policy, traits_of
from nova_market.core.app.policy_columns import Measured, columns, measured
from nova_market.core.app.record import ENDED, AppState, DesiredState
from nova_market.core.app.statistics import AppStatistics, ComponentStatistics
from nova_market.core.app.template import Component
from nova_market.core.app.view import NOTHING, AppView, MarketNow, is_finished, learned
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import Flags, Values

STARTS = (AppState.WAITING, AppState.RUNNING)

CERTAIN = 3
"""Decisions in a row that must find an application too late before its servers are deleted."""

ASKED = 'its owner asked for it'
LATE = 'its deadline is past'


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An action and why."""

    action: str
    reason: str
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """counts: servers by component, all of them while it runs or is suspended."""

    view: AppView
    state: AppState
    counts: Mapping[str, int]
    carried: ControllerState
    figures: AppStatistics
    events: tuple[Happened, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """horizon: periods that a budget which does not renew itself is to last; report_life: seconds."""

    horizon: int = 60
    report_life: float = 300.0


def decisions(
    views: Sequence[AppView], market: MarketNow, policy: Policy, rules: Rules
) -> list[Decision]:
    """One for each, in their order; all of them have this policy, and none is deleting or has ended."""
    if not views:
        return []
    views = [replace(view, carried=learned(view)) for view in views]
    found = [measured(view, market, rules.horizon, rules.report_life) for view in views]
    seen, _ = columns(views, found, market)
    steps = policy(seen)
    if not traits_of(policy).decides_state:
        steps = _with_starts(seen, steps)
    made, first = [], 0
    for view, of in zip(views, found, strict=True):
        last = first + len(view.template.components)
        made.append(_decision(view, of, market, seen, steps, slice(first, last)))
        first = last
    return made


def _with_starts(seen: PolicyInput, steps: PolicyOutput) -> PolicyOutput:
    """Those that don't run enter when the least can be paid, with the least servers in full if possible."""
    rests = seen.state != PolicyState.RUNNING
    floor = np.maximum(seen.least_count, 1)
    least = cost(seen.least * floor, others_pay(seen, planned=True), seen.market).sum(axis=0)
    enters: Flags = rests & (least <= seen.budget) & (seen.budget > 0)
    count, bid = upper_bound(seen, np.where(seen.state == PolicyState.SUSPENDED, seen.count, floor))
    begun = np.where(
        seen.state == PolicyState.SUSPENDED, int(StepReason.RESUMED), int(StepReason.STARTED)
    )
    return PolicyOutput(
        state=np.where(enters, int(PolicyState.RUNNING), seen.state),
        count=np.where(rests, count, steps.count),
        bid=np.where(rests, bid, steps.bid),
        change=np.where(rests, 0.0, steps.change),
        why=np.where(enters, begun, np.where(rests, 0, steps.why)),
    )


def _decision(
    view: AppView,
    of: Measured,
    market: MarketNow,
    seen: PolicyInput,
    steps: PolicyOutput,
    rows: slice,
) -> Decision:
    before, components = view.app.state, view.template.components
    held = _held(view)
    state, reason = _next_state(view, market, steps.state[rows], _why(view, steps, rows))
    if state is before is AppState.RUNNING:
        reason = _why(view, steps, rows, held)  # of a component that is held no step is taken
    carried, counts = view.carried, {one.name: view.count(one) for one in components}
    if state is AppState.DROPPED and before is not AppState.WAITING:
        carried = _doubting(view, market)
        if carried.doubts < CERTAIN:
            state, reason, held = before, f'{reason}: found {carried.doubts} times', set(counts)
    else:
        carried = replace(carried, doubts=0)
    events: list[Happened] = []
    parts = dict(carried.components)
    for row, one in zip(_range(rows), components, strict=True):
        if state is not AppState.RUNNING or one.name in held:
            continue
        parts[one.name], counts[one.name], happened = _step(
            one, counts[one.name], carried.of(one.name), market, steps, row
        )
        events += happened
    if state is not before:
        events.insert(0, Happened(action=_action(before, state), reason=reason, numbers=_known(of)))
    began = market.now if (before, state) == STARTS else carried.began
    carried = replace(carried, components=parts, began=began)
    return Decision(
        view=view,
        state=state,
        counts=counts,
        carried=carried,
        figures=replace(
            _figures(view, of, market, carried, counts, reason),
            # no later decision counts the last round
            spent=carried.spent + (view.due if state in ENDED else 0),
        ),
        events=tuple(events),
    )


def _held(view: AppView) -> set[str]:
    """Components that stay as they are: no round has shown yet what the bids of their servers buy."""
    if view.app.state is not AppState.RUNNING:
        return set()
    return {
        one.name
        for one in view.template.components
        if view.allocation(one) is None and view.carried.of(one.name).most != NOTHING
    }


def _why(view: AppView, steps: PolicyOutput, rows: slice, but: Collection[str] = ()) -> str:
    """Of all components but these, each reason once."""
    named = zip(_range(rows), view.template.components, strict=True)
    texts = (explain(steps, row) for row, one in named if one.name not in but)
    return '; '.join(dict.fromkeys(text for text in texts if text))


def _doubting(view: AppView, market: MarketNow) -> ControllerState:
    """One more decision that found it too late, if there was something to find it by.

    The end deletes servers and their work, so one odd report, or a jump of the clock, must not be enough.
    """
    carried, deadline = view.carried, view.template.slo.deadline
    runs = view.app.state is AppState.RUNNING
    over = deadline is not None and market.now >= deadline
    if runs and 0 < carried.at == carried.doubted and not over:
        return carried  # nothing new was reported
    return replace(carried, doubts=carried.doubts + 1, doubted=carried.at)


def _step(
    one: Component,
    now: int,
    known: ComponentState,
    market: MarketNow,
    steps: PolicyOutput,
    row: int,
) -> tuple[ComponentState, int, list[Happened]]:
    """(the state that is carried on of a component, its number of servers, events)."""
    wanted = int(np.clip(steps.count[row], one.least_count, one.most_count))
    cpu, mib = (float(min(np.floor(n), MAX_AMOUNT)) for n in steps.bid[:, row])
    change = (float(steps.change[0, row]), float(steps.change[1, row]))
    lost = StepReason.TOO_DEAR in StepReason(int(steps.why[row]))
    state = ComponentState(bid=(cpu, mib), change=change, most=known.most, lost=lost)
    why, happened = f'{one.name}: {explain(steps, row)}', []
    if now and wanted != now:
        numbers = {'before': float(now), 'after': float(wanted)}
        action = 'grew' if wanted > now else 'shrank'
        happened.append(Happened(action=action, reason=why, numbers=numbers))
    if state.bid != known.bid:
        numbers = {'cpu': cpu, 'memory': mib, 'price': float(market.state.price[0])}
        happened.append(Happened(action='bid', reason=why, numbers=numbers))
    return state, wanted, happened


def _next_state(view: AppView, market: MarketNow, states: Values, why: str) -> tuple[AppState, str]:
    """The owner's wish, then the start's terms, then the policy."""
    before, wish, start = view.app.state, view.app.wish, view.template.start
    if before is not AppState.WAITING and is_finished(view):
        return AppState.FINISHED, 'all of its work is done'
    over = view.template.slo.deadline is not None and market.now >= view.template.slo.deadline
    if before is AppState.WAITING:
        if over:
            return AppState.DROPPED, LATE
        if start.before is not None and market.now >= start.before:
            return AppState.CANCELLED, _waits(view, market) or 'it could not be paid in time'
        held = _waits(view, market) or (
            'its owner holds it' if wish is DesiredState.SUSPEND else None
        )
        if held and PolicyState.DROPPED not in states:
            return before, held
    if wish is DesiredState.SUSPEND and before is not AppState.WAITING:
        return AppState.SUSPENDED, ASKED
    if (states == PolicyState.DROPPED).any():
        return AppState.DROPPED, why
    if over:
        return AppState.SUSPENDED, f'{LATE}, and it was not reported that its work is done'
    if (states == PolicyState.RUNNING).all():
        return AppState.RUNNING, why
    if before is AppState.WAITING:
        return before, why or 'its budget does not pay for the least allocation'
    return AppState.SUSPENDED, why


def _waits(view: AppView, market: MarketNow) -> str | None:
    """The condition that keeps it from starting, if any does."""
    for name, limit in sorted(view.template.start.price_below.items()):
        price = float(market.state.price[MARKET_RESOURCES.index(name)])
        if not price < limit:
            return f'the price of {name} is {price:.6g}, not below {limit:.6g}'
    return None


def _figures(
    view: AppView,
    of: Measured,
    market: MarketNow,
    carried: ControllerState,
    counts: Mapping[str, int],
    reason: str,
) -> AppStatistics:
    shown = []
    for one in view.template.components:
        bid, allocation = carried.of(one.name).bid, view.allocation(one) or NOTHING
        shown.append(
            ComponentStatistics(
                name=one.name,
                count=view.count(one),
                wanted=counts[one.name],
                bid_cpu=int(bid[0]),
                bid_memory=int(bid[1]),
                cpu=allocation[0],
                memory_mib=allocation[1],
            )
        )
    return AppStatistics(
        period=market.period,
        components=tuple(shown),
        performance=_finite(of.performance) if of.known else None,
        remaining=_finite(of.work_left),
        lateness=_finite(of.late),
        budget=int(of.budget),
        spent=carried.spent,
        reason=reason,
    )


def _known(of: Measured) -> Mapping[str, float]:
    found = {
        'performance': of.performance if of.known else None,
        'remaining': of.work_left,
        'budget': of.budget,
    }
    return {name: n for name, n in found.items() if n is not None and np.isfinite(n)}


def _finite(number: float | None) -> float | None:
    """JSON has no infinity."""
    return number if number is not None and np.isfinite(number) else None


def _action(before: AppState, after: AppState) -> str:
    if after is AppState.RUNNING:
        return 'started' if before is AppState.WAITING else 'resumed'
    return str(after)


def _range(rows: slice) -> range:
    return range(rows.start, rows.stop)
