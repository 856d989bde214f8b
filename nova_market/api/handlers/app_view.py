# SPDX-License-Identifier: Apache-2.0
"""Applications, their events and what was reported of them as JSON objects."""

from typing import Any

from nova_market.api.call import Call
from nova_market.api.handlers.columns import columns
from nova_market.core.app.record import AppEvent, AppReport, StoredApp, StoredSlot
from nova_market.core.timestamp import stamp


def summary(app: StoredApp) -> dict[str, Any]:
    """A line of a list."""
    return {
        'id': app.id,
        'name': app.name,
        'project_id': app.project_id,
        'policy': app.template['policy'],
        'state': str(app.state),
        'wish': str(app.wish),
        'created_at': stamp(app.created_at),
        'changed_at': stamp(app.changed_at or app.created_at),
        'generation': app.generation,
        'spent': app.figures.get('spent'),
        'lateness': app.figures.get('lateness'),
    }


def shown(call: Call, app: StoredApp) -> dict[str, Any]:
    """All of it."""
    account = call.stores.accounts.account(app.payer)
    slots = call.stores.apps.slots(app.id)
    reports = call.stores.app_events.reports([app.id]).get(app.id, ())
    template = app.template
    return {
        **summary(app),
        'user_id': app.user_id,
        'parameters': template['parameters'],
        'slo': template['slo'],
        'budget': {
            'id': app.payer,
            'renew_amount': account.renew_amount if account else None,
            'renew_every': account.renew_every if account else 1,
            'balance': account.balance if account else None,
        },
        'start': template['start'],
        'components': template['components'],
        'statistics': dict(app.figures) or None,
        'servers': [_slot(one) for one in slots],
        'reports': [_report(one) for one in reports],
        'reporting': bool(app.credential),
    }


def event(one: AppEvent) -> dict[str, Any]:
    """A line of the events."""
    return {
        'number': one.number,
        'at': stamp(one.at),
        'period': one.period,
        'action': one.action,
        'reason': one.reason,
        'numbers': dict(one.numbers),
    }


def _slot(one: StoredSlot) -> dict[str, Any]:
    return {
        'component': one.component,
        'number': one.number,
        'server_id': one.server_id or None,
        'intention': str(one.intention),
        'attempts': one.attempts,
    }


def _report(one: AppReport) -> dict[str, Any]:
    found = columns(one)
    del found['app_id']
    return {**found, 'server_id': one.server_id or None, 'at': stamp(one.at)}
