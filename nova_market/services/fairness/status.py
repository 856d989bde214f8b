# SPDX-License-Identifier: Apache-2.0
"""What `nova-fairness status` shows: a document of the last round, and its tables.

The service writes the document each round, and a second one while a round takes too long; the command reads
them, so that looking costs the service nothing and needs no port.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from nova_market.core.fairness import host_division
from nova_market.core.fairness.cloud_norm import ratio
from nova_market.core.fairness.explanation import explanations
from nova_market.core.resource import RESOURCES, Array
from nova_market.services.daemon import STALE_INTERVALS
from nova_market.services.fairness.agent import FairnessRecord
from nova_market.services.fairness.progress import RoundUnderWay

FORMAT = 1

SOONEST = 5.0
"""Seconds; a round that takes longer than three very short intervals is nothing to report."""

MIB = 1024 * 1024

WIDTH = 120
"""Columns; no line of the tables is longer."""

GAP, BELOW, CUT = '  ', '    ', '...'
"""Between two columns; before what stands below a row; at the end of a name that is cut."""


def patience(interval: float) -> float:
    """Seconds without a round after which the service counts as late."""
    return max(STALE_INTERVALS * interval, SOONEST)


def status_document(record: FairnessRecord, host: str, interval: float, pid: int) -> dict[str, Any]:
    """The last round as plain JSON values."""
    plan = record.plan
    counted = [name for name, w in zip(RESOURCES, plan.view.weights, strict=True) if w > 0]
    return {
        'format': FORMAT,
        'host': host,
        'pid': pid,
        'time': record.wall,
        'interval': interval,
        'dry_run': record.dry_run,
        'policy': plan.policy,
        'market': _market(record),
        'cloud': {
            'hosts': plan.totals.hosts,
            'owners': plan.totals.owner_count,
            'age': plan.totals.age,
            'fresh': plan.fresh,
            'resources': counted,
            'quotas': len(plan.totals.quotas),
        },
        'supply': {
            'cores': record.supply.cores,
            'offered_cores': record.offered.cores,
            'core_score': record.supply.core_score,
            'score_method': record.supply.score_method,
            'memory_bytes': record.supply.memory_bytes,
            'offered_memory_bytes': record.offered.memory_bytes,
        },
        'seconds': dict(record.seconds),
        'guests': [_guest(record, i, why) for i, why in enumerate(explanations(plan))],
    }


def under_way_document(found: RoundUnderWay) -> dict[str, Any]:
    """A round that takes too long, as plain JSON values."""
    return {'format': FORMAT, 'began': found.began, 'phase': found.phase}


def is_late(document: Mapping[str, Any], now: float) -> bool:
    """Has no round ended for too long? now: wall-clock time."""
    return bool(now - document['time'] > patience(document['interval']))


def still_under_way(
    document: Mapping[str, Any], under_way: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The round that was seen to take too long, None when a later one has ended.

    under_way: as under_way_document makes it
    """
    return under_way if under_way and under_way['began'] > document['time'] else None


def _market(record: FairnessRecord) -> dict[str, Any] | None:
    """The allocations that count; None without a market."""
    granted = record.plan.granted
    if record.plan.policy == host_division.FAIRNESS:
        return None
    return {
        'engine': granted.engine,
        'period': granted.period,
        'strength': granted.strength,
        'allocations': len(granted.allocations),
        'in_force': len(record.applied),
    }


def _guest(record: FairnessRecord, row: int, why: str) -> dict[str, Any]:
    plan = record.plan
    guest = plan.guests[row]
    granted = plan.granted.allocations.get(guest.id)
    load, due = plan.weighing.measurement.load[row], plan.weighing.endowment[row]
    return {
        'id': guest.id,
        'name': guest.name,
        'owner': guest.owner,
        'flavor': guest.flavor,
        'vcpus': guest.vcpus,
        'load': _named(load),
        'endowment': _named(due),
        'load_to_endowment': _named(ratio(load, due)),
        'heaviness': float(plan.weighing.heaviness[row]),
        'owner_heaviness': float(plan.user_heaviness[row]),
        'weight': float(plan.weights[row]),
        'allocation': None
        if granted is None
        else {
            'cores': granted.cores,
            'memory_mib': granted.memory_mib,
            'in_force': guest.id in record.applied,
        },
        'controls': {name: _control(record, name, row) for name in plan.wanted},
        'why': why,
    }


def _control(record: FairnessRecord, name: str, row: int) -> dict[str, Any]:
    """What was asked of a control, what it is now, and why it is not what was asked."""
    guest_id = record.plan.guests[row].id
    wanted = int(record.plan.wanted[name][row])
    found = record.found.get(name, {}).get(guest_id)
    wrong = record.failed.get(name, {}).get(guest_id, found.reason if found else 'gone')
    written = guest_id in record.written.get(name, {}) and not wrong
    return {
        'wanted': wanted,
        'set': wanted if written else found.value if found else None,
        'reason': wrong,
    }


def _named(values: Array) -> dict[str, float]:
    return dict(zip(RESOURCES, values.tolist(), strict=True))


def render(
    document: Mapping[str, Any],
    now: float,
    alive: bool,
    under_way: Mapping[str, Any] | None = None,
) -> str:
    """The document as text for people. under_way: what is still_under_way."""
    age = max(now - document['time'], 0.0)
    lines = _warnings(document, now, alive, under_way)
    cloud, supply = document['cloud'], document['supply']
    mode = 'dry run, nothing is written' if document['dry_run'] else 'enforcing'
    lines.append(
        f'{document["host"]}: {mode}; {supply["cores"]:.4g} cores of score {supply["core_score"]:.2f} '
        f'({supply["score_method"]}); round {age:.0f} s ago took '
        f'{1000 * sum(document["seconds"].values()):.0f} ms'
    )
    lines.append(
        f'cloud: {cloud["hosts"]} hosts, {cloud["owners"]} owners; '
        f'metric over {", ".join(cloud["resources"])}; '
        + (
            f'totals {cloud["age"]:.0f} s old'
            if cloud['fresh']
            else f'NO TOTALS for {cloud["age"]:.0f} s'
        )
    )
    lines += _taken_lines(supply)
    lines += _market_lines(document)
    lines = [part for line in lines for part in _wrapped(line)]
    if not document['guests']:
        return '\n'.join([*lines, 'no guests'])
    return '\n'.join([*lines, '', *_guest_lines(document['guests'], bool(document.get('market')))])


def _warnings(
    document: Mapping[str, Any], now: float, alive: bool, under_way: Mapping[str, Any] | None
) -> list[str]:
    age = max(now - document['time'], 0.0)
    if not alive:
        return [
            f'nova-fairness is NOT running on this host; this is its last round, {age:.0f} s ago.'
        ]
    if not is_late(document, now):
        return []
    why = under_way_text(under_way, now) if under_way else 'see the log of nova-fairness'
    return [f'WARNING: the last round was {age:.0f} s ago; {why}.']


def under_way_text(under_way: Mapping[str, Any], now: float) -> str:
    """The round that takes too long, for people."""
    lasted = max(now - under_way['began'], 0.0)
    return f'a round runs for {lasted:.0f} s already, in the phase {under_way["phase"]}'


def _taken_lines(supply: Mapping[str, Any]) -> list[str]:
    """What other processes take of the host; documents of earlier versions do not know it."""
    taken = []
    for name, scale, digits, unit in (
        ('cores', 1, 2, 'cores'),
        ('memory_bytes', MIB, 0, 'MiB'),
    ):
        offered = supply.get(f'offered_{name}', supply[name])
        if supply[name] < offered:
            rest = offered - supply[name]
            taken.append(f'{rest / scale:.{digits}f} of {offered / scale:.{digits}f} {unit}')
    return [f'other processes take {" and ".join(taken)}'] if taken else []


def _market_lines(document: Mapping[str, Any]) -> list[str]:
    """What counts of the market; documents of earlier versions know none."""
    market = document.get('market')
    if not market:
        return []
    title = f'policy {document["policy"]}'
    if market['period'] < 0:
        return [f'{title}: NO ALLOCATIONS, weights are those of the flavors']
    state = (
        'count' if market['strength'] == 1 else f'EXPIRED, {market["strength"]:.0%} of them left'
    )
    counts = f'{market["in_force"]} of {market["allocations"]} confirmed'
    source = f'period {market["period"]} by {market["engine"]}'
    return [f'{title}: allocations of {source} {state}; {counts}']


def _guest_lines(guests: Sequence[Mapping[str, Any]], market: bool) -> list[str]:
    """Two lines or more for each guest: its figures, and below them controls and reason."""
    head = ('GUEST', 'OWNER', 'CPU USED/DUE', 'MEM USED/DUE', 'HEAVINESS', 'OF OWNER')
    figures = _table(
        (*head, *(['ALLOCATED'] if market else [])), [_figures(guest, market) for guest in guests]
    )
    reasons = ['CONTROL ASKED/SET | WHY', *(f'{_controls(one)} | {one["why"]}' for one in guests)]
    return [
        line
        for row, reason in zip(figures, reasons, strict=True)
        for line in (row, *_wrapped(reason, BELOW))
    ]


def _figures(guest: Mapping[str, Any], market: bool) -> tuple[str, ...]:
    load, due = guest['load'], guest['endowment']
    return (
        guest['name'],
        guest['owner'][:12],
        f'{load["cpu"]:.2f}/{due["cpu"]:.2f}',
        f'{load["memory"] / MIB:.0f}/{due["memory"] / MIB:.0f}M',
        f'{guest["heaviness"]:+.3f}',
        f'{guest["owner_heaviness"]:+.3f}',
        *([_allocated(guest['allocation'])] if market else []),
    )


def _controls(guest: Mapping[str, Any]) -> str:
    controls = []
    for name, control in guest['controls'].items():
        if control['reason']:
            controls.append(f'{name}: {control["reason"]}')
        else:
            scale, unit = (MIB, 'M') if name == 'memory' else (1, '')
            found = '?' if control['set'] is None else f'{control["set"] // scale}{unit}'
            controls.append(f'{name} {control["wanted"] // scale}{unit}/{found}')
    return ', '.join(controls) or '-'


def _allocated(allocation: Mapping[str, Any] | None) -> str:
    if allocation is None:
        return '-'
    return f'{allocation["cores"]:.2f}c {allocation["memory_mib"]:.0f}M'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row; the first column is cut where a line would be longer than WIDTH."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    widths[0] = min(widths[0], max(WIDTH - sum(widths[1:]) - len(GAP) * (len(widths) - 1), 1))
    return [
        GAP.join(
            _cut(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in [head, *rows]
    ]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - len(CUT), 0)] + CUT


def _wrapped(line: str, indent: str = '') -> list[str]:
    """The line, on as many as it takes. indent: of the first of them"""
    return textwrap.wrap(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + GAP,
        break_on_hyphens=False,
    )
