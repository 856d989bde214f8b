# SPDX-License-Identifier: Apache-2.0
"""What `nova-market-controller status` shows, from the database. Amounts are shown in credits."""

from collections.abc import Mapping
from typing import Any

from nova_market.core.app.record import ENDED, AppState, StoredApp
from nova_market.core.ledger.money import credit_text
from nova_market.ports import AppStore, History, SlotStore

LATE = 2
"""Rounds without a decision on an application, after which it is shown as not looked after."""


def status_document(apps: AppStore, slots: SlotStore, history: History) -> dict[str, Any]:
    """As JSON has it. `alive`: every application was decided on lately, as far as there were rounds."""
    newest = history.rounds(limit=1)
    period = newest[0].period if newest else 0
    found, servers = apps.open(), slots.all()
    due = [one for one in found if one.state not in ENDED | {AppState.DELETING}]
    return {
        'period': period,
        'alive': all(period - one.period <= LATE or not one.period for one in due),
        'apps': [_shown(one, len(servers.get(one.id, ()))) for one in found],
    }


def render(document: Mapping[str, Any]) -> str:
    """For a person."""
    lines = [
        f'applications: {len(document["apps"])} open, '
        + ('looked after' if document['alive'] else 'NOT LOOKED AFTER')
        + f', the last round is {document["period"]}',
        '',
        f'{"ID":<36}  {"STATE":<9}  {"SERVERS":>7}  {"LATENESS":>8}  {"SPENT":>12}  {"PERIOD":>10}  NAME',
    ]
    for one in document['apps']:
        late = '-' if one['lateness'] is None else f'{one["lateness"]:.2f}'
        lines.append(
            f'{one["id"]:<36}  {one["state"]:<9}  {one["servers"]:>7}  {late:>8}  '
            f'{credit_text(one["spent"]):>12}  {one["period"]:>10}  {one["name"]}'
        )
    return '\n'.join(lines)


def _shown(app: StoredApp, servers: int) -> dict[str, Any]:
    spent, late = app.figures.get('spent', 0), app.figures.get('lateness')
    return {
        'id': app.id,
        'name': app.name,
        'project_id': app.project_id,
        'state': str(app.state),
        'servers': servers,
        'period': app.period,
        'spent': int(str(spent)),
        'lateness': late if isinstance(late, float) else None,
    }
