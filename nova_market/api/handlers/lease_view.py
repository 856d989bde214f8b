# SPDX-License-Identifier: Apache-2.0
"""Leases, their refusals, the calendar and replans as they are sent."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from nova_market.core.calendar.calendar import Calendar, booked, host_part
from nova_market.core.lease.host_view import HostView, lease_bookings
from nova_market.core.lease.near_option import NearOption
from nova_market.core.lease.record import LeaseEvent, StoredLease
from nova_market.core.lease.refusal import Fault
from nova_market.core.timestamp import stamp
from nova_market.services.lease.replanning import Replanned


def shown(lease: StoredLease) -> dict[str, Any]:
    """A lease."""
    return {
        'id': lease.id,
        'number': lease.number,
        'project_id': lease.project_id,
        'payer_id': lease.payer_id,
        'user_id': lease.user_id,
        'name': lease.name,
        'purpose': lease.purpose,
        'state': lease.state,
        'start': stamp(lease.start),
        'end': stamp(lease.end),
        'ended_at': stamp(lease.ended_at) if lease.ended_at else None,
        'nodes': [{'host': one.host, **_amounts(one.amounts)} for one in lease.nodes],
        'whole': lease.whole,
        'utilisation': lease.utilisation,
        'duration': lease.duration,
        'earliest': stamp(lease.earliest),
        'finish': stamp(lease.finish),
        'hosts': list(lease.hosts),
        'flexible': lease.flexible,
        'cost': lease.cost,
        'charged': lease.charged,
        'refunded': lease.refunded,
        'algorithm': lease.algorithm or None,
        'objective': lease.objective or None,
        'created_at': stamp(lease.created_at),
        'revision': lease.revision,
    }


def event_shown(event: LeaseEvent) -> dict[str, Any]:
    """One thing that happened."""
    return {
        'number': event.number,
        'at': stamp(event.at),
        'action': event.action,
        'reason': event.reason,
        'numbers': dict(event.numbers),
    }


def fault_shown(fault: Fault) -> dict[str, Any]:
    """A requirement that fails."""
    return {
        'requirement': fault.requirement,
        'host': fault.host or None,
        'start': stamp(fault.start),
        'end': stamp(fault.end),
        'wanted': fault.wanted,
        'free': fault.free,
        'sentence': fault.sentence,
    }


def option_shown(option: NearOption) -> dict[str, Any]:
    """What could be had instead; its cost is in micro-credits."""
    return {
        'change': option.change,
        'start': stamp(option.start),
        'end': stamp(option.end),
        'hosts': list(option.hosts),
        'cost': math.ceil(round(option.cost, 6)),
    }


def calendar_shown(
    view: HostView,
    leases: Sequence[StoredLease],
    since: float,
    until: float,
    may_see: Callable[[StoredLease], bool],
) -> dict[str, Any]:
    """What the hosts have free between these two, and the leases there."""
    calendar = booked(view.calendar, lease_bookings(view, leases, since))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in view.names}
    for lease in sorted(leases, key=lambda one: (one.start, one.number)):
        if lease.end > since and lease.start < until:
            seen = may_see(lease)
            for node in lease.nodes:
                found.setdefault(node.host, []).append(
                    {
                        'start': stamp(lease.start),
                        'end': stamp(lease.end),
                        **_amounts(node.amounts),
                        'state': lease.state,
                        'lease_id': lease.id if seen else None,
                        'name': lease.name if seen else None,
                    }
                )
    return {
        'since': stamp(since),
        'until': stamp(until),
        'read_at': stamp(view.at),
        'hosts': [
            {
                'host': name,
                'usable': bool(view.good[row]),
                **_amounts(view.whole[:, row].tolist()),
                'leases': found[name],
                'free': _free(calendar, row, since, until),
            }
            for row, name in enumerate(view.names)
            if view.whole[:, row].any()
        ],
    }


def replan_shown(done: Replanned) -> dict[str, Any]:
    """What moves, and what that saves."""
    return {
        'algorithm': done.algorithm,
        'objective': done.objective,
        'unit': done.unit,
        'leases': done.leases,
        'written': done.written,
        **{
            name: {'hosts': one.hosts, 'joules': one.joules, 'cost': one.cost}
            for name, one in (('before', done.plan.before), ('after', done.plan.after))
        },
        'moves': [
            {
                'lease_id': step.before.id,
                'name': step.before.name,
                'old': _place(step.before),
                'new': _place(step.after),
            }
            for step in done.steps
        ],
    }


def _place(lease: StoredLease) -> dict[str, Any]:
    return {'start': stamp(lease.start), 'hosts': [one.host for one in lease.nodes]}


def _amounts(values: Sequence[float]) -> dict[str, float]:
    cores, memory, disk = values
    return {'cores': cores, 'memory_mib': memory, 'disk_gib': disk}


def _free(calendar: Calendar, row: int, since: float, until: float) -> list[dict[str, Any]]:
    """Steps of one host; what is overbooked has nothing free."""
    mine = host_part(calendar, row)
    times = mine.times.tolist()
    ends = [*times[1:], math.inf]
    return [
        {'start': stamp(max(start, since)), **_amounts([max(one, 0.0) for one in free])}
        for start, end, free in zip(times, ends, mine.free.T.tolist(), strict=True)
        if end > since and start < until
    ]
