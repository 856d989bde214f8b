# SPDX-License-Identifier: Apache-2.0
"""Which servers of an application shall be, by component and number, and which of them are given up.

For the "pick vm to release" of Merkat (INRIA RR-8648), Algorithm 3, line 5; implements rules G1 and G2 of
doc/source/specs/market.rst. Units: seconds since the epoch.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nova_market.core.app.decision import Decision, Happened, Rules
from nova_market.core.app.draining import is_drained, load
from nova_market.core.app.record import (
    ENDED,
    AppState,
    DesiredServerState,
    StoredApp,
    StoredSlot,
)
from nova_market.core.app.view import MarketNow


@dataclass(frozen=True, slots=True, kw_only=True)
class Draining:
    """How servers are given up. timeout: seconds, by component; a component that is not named has 0

    tasks:   of each server by its id, as far as they are known
    drained: ids of servers whose work has ended: they are not taken back
    """

    now: float = 0.0
    timeout: Mapping[str, float] = field(default_factory=dict)
    tasks: Mapping[str, int] = field(default_factory=dict)
    drained: Collection[str] = ()


AT_ONCE = Draining()
LEAVING = (DesiredServerState.DRAINING, DesiredServerState.GONE)
NO_LONGER = {
    DesiredServerState.PRESENT: ('taken back', 'it is needed again'),
    DesiredServerState.SUSPENDED: ('taken back', 'it is suspended with its application'),
    DesiredServerState.GONE: ('drained', 'its application has ended'),
}
"""(action, reason) of the event of a server that drained, by what is meant with it now."""

INTENTIONS = {
    AppState.RUNNING: DesiredServerState.PRESENT,
    AppState.SUSPENDED: DesiredServerState.SUSPENDED,
    **dict.fromkeys(ENDED, DesiredServerState.GONE),
}


def slots_after(
    one: Decision, market: MarketNow, rules: Rules
) -> tuple[list[StoredSlot], list[Happened]]:
    """(the rows that a decision changes, what it means for servers that have work)."""
    view, intention = one.view, INTENTIONS.get(one.state)
    if intention is None:
        return [], []
    counts = dict(one.counts)
    if intention is DesiredServerState.GONE:
        counts = dict.fromkeys(counts, 0)
    reports = {report.server_id: report for report in view.hooks}
    draining = Draining(
        now=market.now,
        timeout={part.name: float(part.drain_timeout) for part in view.template.components},
        tasks=load(view.reports, market.now - rules.report_life),
        drained=[s.server_id for s in view.slots if is_drained(s, reports.get(s.server_id))],
    )
    changed = slots_for(view.app, view.slots, counts, intention, draining)
    before = {slot.label: slot.intention for slot in view.slots}
    return changed, [
        _happened(slot, draining)
        for slot in changed
        if DesiredServerState.DRAINING in (slot.intention, before.get(slot.label))
    ]


def slots_for(
    app: StoredApp,
    slots: Sequence[StoredSlot],
    counts: Mapping[str, int],
    intention: DesiredServerState,
    draining: Draining = AT_ONCE,
) -> list[StoredSlot]:
    """The rows that change, so that so many servers of each component have this intention.

    More servers: those that drain are taken back, then the lowest numbers that are free are taken. Only while
    an application runs its servers are drained: work is suspended with it, and ends with it.
    """
    changed: list[StoredSlot] = []
    for component, count in sorted(counts.items()):
        own = [one for one in slots if one.component == component]
        stay = [one for one in own if one.intention not in LEAVING]
        stay.sort(key=lambda one: _order(one, draining))
        back = [one for one in own if one.intention is DesiredServerState.DRAINING]
        back.sort(key=lambda one: _order(one, draining))
        if intention is DesiredServerState.GONE or not count:
            changed += [replace(one, intention=DesiredServerState.GONE) for one in (*stay, *back)]
            continue
        runs = intention is DesiredServerState.PRESENT
        if runs:
            back = [one for one in back if one.server_id not in draining.drained]
            back = back[: max(count - len(stay), 0)]
        changed += [_given_up(one, draining, runs) for one in stay[count:]]
        changed += [
            replace(one, intention=intention, drain_at=0.0, drain_until=0.0)
            for one in (*stay[:count], *back)
            if one.intention is not intention
        ]
        if runs:
            changed += _new(app, component, own, count - len(stay) - len(back))
    return changed


def _order(one: StoredSlot, draining: Draining) -> tuple[bool, bool, int, int]:
    """Who stays comes first: made, running, busiest, of unknown load, idle; then by number (rule G2)."""
    tasks = draining.tasks.get(one.server_id)
    rank = 0 if tasks is None else -tasks if tasks else 1
    return not one.server_id, not one.address, rank, one.number


def _given_up(one: StoredSlot, draining: Draining, runs: bool) -> StoredSlot:
    timeout = draining.timeout.get(one.component, 0.0)
    if not (runs and timeout > 0 and one.server_id):
        return replace(one, intention=DesiredServerState.GONE)
    return replace(
        one,
        intention=DesiredServerState.DRAINING,
        drain_at=draining.now,
        drain_until=draining.now + timeout,
    )


def _new(app: StoredApp, component: str, own: Sequence[StoredSlot], count: int) -> list[StoredSlot]:
    taken = {one.number for one in own}
    free = (n for n in range(1, len(own) + max(count, 0) + 1) if n not in taken)
    return [StoredSlot(app_id=app.id, component=component, number=next(free)) for _ in range(count)]


def _happened(slot: StoredSlot, draining: Draining) -> Happened:
    """Of a server that is given up, or was and is not any more."""
    if slot.intention is not DesiredServerState.DRAINING:
        action, reason = NO_LONGER[slot.intention]
        return Happened(action=action, reason=f'{slot.label}: {reason}')
    tasks = draining.tasks.get(slot.server_id)
    busy = 'it is idle' if not tasks else f'no other has fewer tasks than its {tasks}'
    if tasks is None:
        busy = 'it has not reported its tasks'
    limit = slot.drain_until - slot.drain_at
    return Happened(
        action='draining',
        reason=f'server {slot.server_id} of {slot.label} ends its work in at most {limit:.0f} s: {busy}',
        numbers={'seconds': limit} | ({} if tasks is None else {'tasks': float(tasks)}),
    )
