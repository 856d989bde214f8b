# SPDX-License-Identifier: Apache-2.0
"""What monitors report of an application (Merkat, section 2.3.1), without a token of Keystone.

Whoever runs in a guest should hold as little as can be: the credential of one application lets its bearer
report of that one, and learn which servers it has (rules G4 and G5 of doc/source/specs/market.rst).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header
from nova_market.api.errors import ApiError, not_found
from nova_market.api.microversion import DRAINING
from nova_market.api.schemas import app as schemas
from nova_market.core.app.credential import proves
from nova_market.core.app.draining import may_begin
from nova_market.core.app.members import members, version_of
from nova_market.core.app.progress import Progress
from nova_market.core.app.record import (
    ENDED,
    AppEvent,
    AppReport,
    HookReport,
    StoredApp,
    StoredSlot,
)
from nova_market.core.text import one_line
from nova_market.errors import AppEnded, BadAmount, Conflict

SOURCES = frozenset({'metric', 'progress', 'queue'})


@takes_header(schemas.CREDENTIAL_HEADER, schemas.CREDENTIAL)
@takes_body(schemas.REPORT)
@gives(200, schemas.ORDERS)
@gives(204)
def create(call: Call) -> Any:
    """Report a metric, progress or a queue of an application, or of one of its servers.

    With `hooks`, the answer (200) is what an agent's hooks have to do; without, it is empty (204).
    """
    app = _proven(call)
    server_id, hooks = call.body.get('server_id', ''), call.body.get('hooks')
    if hooks is not None:
        call.needs(DRAINING, 'hooks')
    if app.state in ENDED:
        raise AppEnded(f'{app.id} has ended ({app.state}): stop reporting')
    slots = call.stores.apps.slots(app.id)
    if server_id and server_id not in {slot.server_id for slot in slots}:
        raise not_found('server', server_id)
    try:
        if not SOURCES.isdisjoint(call.body):
            call.stores.app_events.report(_report(call, app, server_id))
        if hooks is None:
            return Answer(status=204)
        return {'hooks': _hooks(call, app, slots, server_id)}
    except Conflict:
        raise not_found('app', app.id) from None


def _proven(call: Call) -> StoredApp:
    """The application whose credential was given.

    :raises ApiError: 401, in the same words when there is no such application.
    """
    found = call.stores.apps.app(call.path['app_id'])
    if not proves(call.key or '', found.credential if found else '') or found is None:
        raise ApiError(
            401,
            'market.app.credential',
            f'give the credential of this application in {schemas.CREDENTIAL_HEADER}',
        )
    return found


def _report(call: Call, app: StoredApp, server_id: str) -> AppReport:
    progress, queue = call.body.get('progress', {}), call.body.get('queue', {})
    if progress:
        try:
            Progress(
                total=progress['total'],
                done=progress['done'],
                seconds_each=progress.get('seconds_each', 0.0),
            )
        except BadAmount as error:
            raise ApiError(400, 'market.report.invalid', str(error)) from None
    return AppReport(
        app_id=app.id,
        server_id=server_id,
        at=call.stores.wall(),
        metric=call.body.get('metric'),
        total=progress.get('total'),
        done=progress.get('done'),
        seconds_each=progress.get('seconds_each'),
        waiting=queue.get('waiting'),
        busy=queue.get('busy'),
    )


def _hooks(
    call: Call, app: StoredApp, slots: Sequence[StoredSlot], server_id: str
) -> dict[str, Any]:
    """Keep what the hooks of a guest did; what they have to do now."""
    events, now = call.stores.app_events, call.stores.wall()
    known = events.hooks([app.id]).get(app.id, ())
    own = next((one for one in slots if one.server_id == server_id and one.drain_id), None)
    given = _hook_report(call, app, server_id, own.drain_id if own else 0)
    events.report_hooks(given)
    before = next((one for one in known if one.server_id == server_id), None)
    if given.drained is False and (before is None or before.drain != given.drain):
        # once for each draining: what a guest sends must not push other events out
        _record_failure(call, app, given)
    listed = members(slots)
    version = None if listed is None else version_of(listed)
    others = [one for one in known if one.server_id != server_id]
    drain = None
    if own is not None:
        drain = {
            'id': own.drain_id,
            'begin': may_begin(own, slots, version, others, now),
            'seconds': max(own.drain_until - now, 0.0),
        }
    wanted = given.members is not None and listed is not None and given.members != version
    return {
        'drain': drain,
        'members': {'version': version, 'servers': listed} if wanted else None,
    }


def _hook_report(call: Call, app: StoredApp, server_id: str, drain_id: int) -> HookReport:
    """Without what is about another draining than this one (0: there is none): it is over."""
    given = call.body['hooks']
    report = HookReport(
        app_id=app.id, server_id=server_id, at=call.stores.wall(), members=given.get('members')
    )
    drain = given.get('drain')
    if drain is None:
        return report
    if not server_id:
        raise ApiError(400, 'market.report.invalid', 'hooks.drain is of a server: give server_id')
    if drain['id'] != drain_id:
        return report
    text = one_line(drain.get('text', ''))
    return replace(report, drain=drain['id'], drained=drain['drained'], text=text)


def _record_failure(call: Call, app: StoredApp, given: HookReport) -> None:
    event = AppEvent(
        app_id=app.id,
        at=given.at,
        period=app.period,
        action='drain failed',
        reason=f'the hook of server {given.server_id}: {given.text or "no reason given"}',
    )
    call.stores.app_events.tell([event])
