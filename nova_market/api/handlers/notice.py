# SPDX-License-Identifier: Apache-2.0
"""Notices by mail and to webhooks: what a user wants to get of a project's events (rule N2 of notices).

Each user has his own of each project; `me` stands for the caller.
"""

from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.microversion import STOPPED_NOTICES
from nova_market.api.schemas import notice as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, TEXT, marker
from nova_market.core.notice.preference import Preference
from nova_market.core.timestamp import stamp
from nova_market.services.notice.requests import NoticeRequests

ME = 'me'


@takes_query(project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(TEXT))
@gives(200, schemas.NOTICES)
def index(call: Call) -> Any:
    """What users want to get, by project and user; without notices:others the caller's own."""
    project = call.whose('notices:list')
    others = project is None or call.may('notices:others', project)
    user = None if others else call.user_id
    before, _, name = call.query.get('marker', '').partition('.')
    found = call.stores.notices.preferences(project, user, (before, name), call.limit + 1)
    lines = [_shown(call, one) for one in found]
    return call.page('notices', lines, found, lambda one: f'{one.project_id}.{one.user_id}')


@takes_query(project_id=OF_PROJECT)
@gives(200, schemas.NOTICE)
def show(call: Call) -> Any:
    """What one user wants to get."""
    return {'notice': _shown(call, _found(call))}


@takes_body(schemas.NOTICE_SET)
@gives(200, schemas.NOTICE)
def update(call: Call) -> Any:
    """Ask for notices, in place of what was asked for before; each asks for himself.

    A new address gets a code, and nothing else until it is confirmed. A new webhook gets a secret.
    """
    user = _own(call)
    if call.body.get('all_projects'):
        call.authorize('notices:all_projects')
    stored, secret = _requests(call).set(call.project_id, user, call.body)
    return {'notice': _shown(call, stored, secret)}


@takes_query(project_id=OF_PROJECT)
@gives(204)
def delete(call: Call) -> Any:
    """End the notices of one user; what waits is not sent."""
    found = _found(call)
    call.stores.notices.unset(found.project_id, found.user_id)
    return Answer(status=204)


@takes_body(schemas.CODE)
@gives(200, schemas.NOTICE)
def confirm(call: Call) -> Any:
    """Confirm an address by the code that was sent there."""
    user = _own(call)
    return {
        'notice': _shown(call, _requests(call).confirm(call.project_id, user, call.body['code']))
    }


def _requests(call: Call) -> NoticeRequests:
    stores = call.stores
    return NoticeRequests(notices=stores.notices, limits=call.settings.notices, wall=stores.wall)


def _user(call: Call) -> str:
    return call.user_id if call.path['user_id'] == ME else call.path['user_id']


def _own(call: Call) -> str:
    """The caller, who asks for himself.

    :raises ApiError: 403.
    """
    call.authorize('notices:own', call.project_id)
    if _user(call) != call.user_id:
        raise ApiError(
            403, 'market.policy.forbidden', 'a user asks for notices himself: give "me" or your id'
        )
    return call.user_id


def _found(call: Call) -> Preference:
    """:raises ApiError: 404, also for those of others that the caller may not see."""
    project, user = call.query.get('project_id') or call.project_id, _user(call)
    rule = 'notices:own' if user == call.user_id else 'notices:others'
    found = call.stores.notices.preference(project, user)
    if not call.may(rule, project) or found is None:
        raise not_found('notice', user)
    return found


def _shown(call: Call, one: Preference, secret: str = '') -> dict[str, Any]:
    stopped = {'stopped': one.stopped} if call.version >= STOPPED_NOTICES else {}
    return {
        **stopped,
        'project_id': one.project_id,
        'user_id': one.user_id,
        'events': list(one.events),
        'mail': one.mail,
        'webhook': one.webhook,
        'mine': one.mine,
        'all_projects': one.all_projects,
        'digest': one.digest,
        'at_most': one.at_most,
        'confirmed': one.confirmed,
        'changed_at': stamp(one.changed_at),
        'secret': secret or None,
    }
