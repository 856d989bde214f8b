# SPDX-License-Identifier: Apache-2.0
"""What monitors report of an application (Merkat, section 2.3.1), without a token of Keystone.

Whoever runs in a guest should hold as little as can be: the credential of one application lets its bearer
report of that one, and nothing else.
"""

from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header
from nova_market.api.errors import ApiError, not_found
from nova_market.api.schemas import app as schemas
from nova_market.core.app.credential import proves
from nova_market.core.app.progress import Progress
from nova_market.core.app.record import ENDED, AppReport, StoredApp
from nova_market.errors import AppEnded, BadAmount, Conflict


@takes_header(schemas.CREDENTIAL_HEADER, schemas.CREDENTIAL)
@takes_body(schemas.REPORT)
@gives(204)
def create(call: Call) -> Any:
    """Report a metric, progress or a queue of an application, or of one of its servers."""
    app = _proven(call)
    server_id = call.body.get('server_id', '')
    if app.state in ENDED:
        raise AppEnded(f'{app.id} has ended ({app.state}): stop reporting')
    if server_id and server_id not in {slot.server_id for slot in call.stores.apps.slots(app.id)}:
        raise not_found('server', server_id)
    _check_rate(call, app, server_id)
    try:
        call.stores.app_events.report(_report(call, app, server_id))
    except Conflict:
        raise not_found('app', app.id) from None
    return Answer(status=204)


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


def _check_rate(call: Call, app: StoredApp, server_id: str) -> None:
    """:raises ApiError: 429."""
    now = call.stores.wall()
    least = call.settings.report_interval
    for one in call.stores.app_events.reports([app.id]).get(app.id, ()):
        if one.server_id == server_id and 0 <= now - one.at < least:
            raise ApiError(
                429,
                'market.app.too_often',
                f'the last report is {now - one.at:.1f} s old: report every {least:g} s at most',
            )


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
