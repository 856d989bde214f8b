# SPDX-License-Identifier: Apache-2.0
"""What `nova-fairness status` shows: a document of the last round, and its tables.

The service writes the document each round; the command reads it, so that looking costs the service
nothing and needs no port.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nova_market.core.cloud_view import ratio
from nova_market.core.explanation import explain
from nova_market.core.quantity import RESOURCES
from nova_market.fairness.agent import RoundRecord

FORMAT = 1
STALE_INTERVALS = 3


def status_document(record: RoundRecord, host: str, interval: float, pid: int) -> dict[str, Any]:
    """The last round as plain JSON values."""
    plan = record.plan
    measured = plan.weighing.measurement
    used = ratio(measured.load, plan.weighing.endowment)
    guests = []
    for i, guest in enumerate(plan.guests):
        controls = {}
        for name, values in plan.wanted.items():
            control = record.found.get(name, {}).get(guest.id)
            wanted = int(values[i])
            written = guest.id in record.written.get(
                name, {}
            ) and guest.id not in record.failed.get(name, {})
            controls[name] = {
                'wanted': wanted,
                'set': wanted if written else control.value if control else None,
                'reason': record.failed.get(name, {}).get(
                    guest.id, control.reason if control else 'gone'
                ),
            }
        guests.append(
            {
                'id': guest.id,
                'name': guest.name,
                'owner': guest.owner,
                'flavor': guest.flavor,
                'vcpus': guest.vcpus,
                'load': dict(zip(RESOURCES, measured.load[i].tolist(), strict=True)),
                'endowment': dict(zip(RESOURCES, plan.weighing.endowment[i].tolist(), strict=True)),
                'load_to_endowment': dict(zip(RESOURCES, used[i].tolist(), strict=True)),
                'heaviness': float(plan.weighing.heaviness[i]),
                'owner_heaviness': float(plan.user_heaviness[i]),
                'weight': float(plan.weights[i]),
                'controls': controls,
                'why': explain(plan, i),
            }
        )
    return {
        'format': FORMAT,
        'host': host,
        'pid': pid,
        'time': record.wall,
        'interval': interval,
        'dry_run': record.dry_run,
        'cloud': {
            'hosts': plan.totals.hosts,
            'owners': len(plan.totals.owners),
            'age': plan.totals.age,
            'fresh': plan.fresh,
            'resources': [
                name for name, w in zip(RESOURCES, plan.view.weights, strict=True) if w > 0
            ],
        },
        'supply': {
            'cores': record.supply.cores,
            'core_score': record.supply.core_score,
            'score_method': record.supply.score_method,
            'memory_bytes': record.supply.memory_bytes,
        },
        'seconds': dict(record.seconds),
        'guests': guests,
    }


def render(document: Mapping[str, Any], now: float, alive: bool) -> str:
    """The document as text for people."""
    age = max(now - document['time'], 0.0)
    lines = []
    if not alive:
        lines.append(
            f'nova-fairness is NOT running on this host; this is its last round, {age:.0f} s ago.'
        )
    elif age > STALE_INTERVALS * document['interval']:
        lines.append(f'WARNING: the last round was {age:.0f} s ago; see the log of nova-fairness.')
    cloud, supply = document['cloud'], document['supply']
    mode = 'dry run, nothing is written' if document['dry_run'] else 'enforcing'
    lines.append(
        f'{document["host"]}: {mode}; {supply["cores"]:g} cores of score {supply["core_score"]:.2f} '
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
    if not document['guests']:
        return '\n'.join([*lines, 'no guests'])
    rows = [_row(guest) for guest in document['guests']]
    table = _table(
        (
            'GUEST',
            'OWNER',
            'CPU USED/DUE',
            'MEM USED/DUE',
            'HEAVINESS',
            'OWNER',
            'CONTROL ASKED/SET',
            'WHY',
        ),
        rows,
    )
    return '\n'.join([*lines, '', *table])


def _row(guest: Mapping[str, Any]) -> tuple[str, ...]:
    load, due = guest['load'], guest['endowment']
    mib = 1024 * 1024
    controls = []
    for name, control in guest['controls'].items():
        if control['reason']:
            controls.append(f'{name}: {control["reason"]}')
        else:
            scale, unit = (mib, 'M') if name == 'memory' else (1, '')
            found = '?' if control['set'] is None else f'{control["set"] // scale}{unit}'
            controls.append(f'{name} {control["wanted"] // scale}{unit}/{found}')
    return (
        guest['name'],
        guest['owner'][:12],
        f'{load["cpu"]:.2f}/{due["cpu"]:.2f}',
        f'{load["memory"] / mib:.0f}/{due["memory"] / mib:.0f}M',
        f'{guest["heaviness"]:+.3f}',
        f'{guest["owner_heaviness"]:+.3f}',
        ', '.join(controls) or '-',
        guest['why'],
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, *rows]
    ]
