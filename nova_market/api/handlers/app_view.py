# SPDX-License-Identifier: Apache-2.0
"""Applications, their events and what was reported of them as JSON objects."""

from collections.abc import Mapping
from typing import Any

from nova_market.api.call import Call
from nova_market.api.handlers.columns import columns
from nova_market.api.microversion import DRAINING, RESTING
from nova_market.core.app.record import (
    AppEvent,
    AppReport,
    DesiredServerState,
    HookReport,
    StoredApp,
    StoredSlot,
)
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
    hooks = {one.server_id: one for one in call.stores.app_events.hooks([app.id]).get(app.id, ())}
    template: Mapping[str, Any] = app.template
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
        'components': [_component(call, one) for one in template['components']],
        'statistics': dict(app.figures) or None,
        'servers': [_slot(call, one, hooks.get(one.server_id)) for one in slots],
        'reports': [_report(one) for one in reports],
        'reporting': bool(app.credential),
        **_newer(call, template),
    }


def _newer(call: Call, template: Mapping[str, Any]) -> dict[str, Any]:
    """What a client of an older version does not know of."""
    return {'when_suspended': template.get('when_suspended')} if call.version >= RESTING else {}


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


def _component(call: Call, one: Mapping[str, Any]) -> dict[str, Any]:
    if call.version >= DRAINING:
        # templates that were stored before have none
        return {**one, 'drain_timeout': one.get('drain_timeout', 0)}
    return {name: value for name, value in one.items() if name != 'drain_timeout'}


def _slot(call: Call, one: StoredSlot, report: HookReport | None) -> dict[str, Any]:
    found = {
        'component': one.component,
        'number': one.number,
        'server_id': one.server_id or None,
        'intention': str(one.intention),
        'attempts': one.attempts,
    }
    if call.version >= DRAINING:
        return {**found, 'address': one.address or None, 'drain': _drain(one, report)}
    if one.intention is DesiredServerState.DRAINING:
        found['intention'] = str(DesiredServerState.GONE)
    return found


def _drain(one: StoredSlot, report: HookReport | None) -> dict[str, Any] | None:
    if not one.drain_id:
        return None
    failed = report is not None and report.drain == one.drain_id and report.drained is False
    return {
        'since': stamp(one.drain_at),
        'until': stamp(one.drain_until),
        'failed': (report.text or '') if failed and report else None,
    }


def _report(one: AppReport) -> dict[str, Any]:
    found = columns(one)
    del found['app_id']
    return {**found, 'server_id': one.server_id or None, 'at': stamp(one.at)}
