# SPDX-License-Identifier: Apache-2.0
"""Rounds with explanations, allocations, heaviness, hosts (rules A1, A4, B5, F2).

A round's document is the engine's, and all of it is optional here: `servers` (lines with `id`), `hosts`
(lines with `name`), `payers` (lines with `id`), `heaviness` (project -> number), and what FOR_ALL names.
"""

from collections.abc import Mapping
from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.documents import Explained
from nova_market.api.errors import not_found
from nova_market.api.handlers.columns import columns
from nova_market.api.handlers.price import shown as shown_price
from nova_market.api.microversion import Version
from nova_market.api.schemas import history as schemas
from nova_market.api.schemas.shape import (
    ALL_PROJECTS,
    LIMIT,
    OF_PROJECT,
    PERIOD,
    SERVER_ID,
    TEXT,
    marker,
)
from nova_market.core.ledger.posting import account
from nova_market.core.market.enforced import unsold_on
from nova_market.core.market.record import AllocationRecord, RoundRecord
from nova_market.core.market.round_sections import unsold_everywhere
from nova_market.core.timestamp import stamp

FOR_ALL = ('settings', 'demand', 'last_price', 'largest_error')
FOR_ADMINS = ('hosts', 'payers')
SINCE_3 = ('held_prices', 'default_bids')
OF_SERVER = ('payer', 'bid', 'counted', 'source', 'limit', 'note')


@takes_query(limit=LIMIT, marker=marker(PERIOD))
@gives(200, schemas.ROUNDS)
def index(call: Call) -> Any:
    """Rounds, newest first."""
    call.authorize('rounds:show', call.project_id)
    found = call.stores.history.rounds(call.query.get('marker'), call.limit + 1)
    return call.page(
        'rounds', [_summary(call, one) for one in found], found, lambda one: one.period
    )


@takes_query(limit=LIMIT, marker=marker(SERVER_ID))
@gives(200, schemas.ROUND)
def show(call: Call) -> Any:
    """One round: its prices, and why each of the caller's servers got what it got."""
    call.authorize('rounds:show', call.project_id)
    period = int(call.path['period'])
    # the state as it is now; a document that is still kept does not say that the round was purged
    found = [r for r in call.stores.history.rounds(period + 1, 1) if r.period == period]
    if not found:
        raise not_found('round', period)
    whole, documents = call.may('rounds:show_all'), call.documents
    explained = documents.of(period) if whole else documents.of_project(period, call.project_id)
    if explained is None:
        raise not_found('round', period)
    return {
        'round': {
            **_summary(call, found[0]),
            'leader': explained.record.leader if whole else None,
            'prices': [shown_price(call, p) for p in call.stores.history.prices(period, period)],
            **_context(explained.record.document, None if whole else call.project_id),
            **_newer(call, explained.record.document),
            **_not_sold(call, explained.record.document, with_hosts=whole),
            **_explanation(call, explained, None if whole else call.project_id),
        }
    }


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(SERVER_ID)
)
@gives(200, schemas.ALLOCATIONS)
def allocations(call: Call) -> Any:
    """What servers got in one round and what it costs, by server."""
    project = call.whose('allocations:list')
    period = int(call.path['period'])
    after = call.query.get('marker', '')
    found = call.stores.history.allocations(period, after, call.limit + 1, project)
    return call.page('allocations', _lines(call, found), found, lambda one: one.server_id)


@takes_query(limit=LIMIT, marker=marker(PERIOD))
@gives(200, schemas.ALLOCATIONS)
def allocations_of_server(call: Call) -> Any:
    """What one server got, newest first."""
    server = call.path['server_id']
    found = call.stores.history.allocations_of(server, call.query.get('marker'), call.limit + 1)
    known = None if found else call.stores.owners.server(server)
    project = found[0].project_id if found else known and known.project_id
    if not call.may('allocations:show_server', project or '') or project is None:
        raise not_found('server', server)
    return call.page('allocations', _lines(call, found), found, lambda one: one.period)


@takes_query(project_id=OF_PROJECT, all_projects=ALL_PROJECTS)
@gives(200, schemas.HEAVINESS)
def heaviness(call: Call) -> Any:
    """How heavy projects weigh on the cloud, as of the newest round; empty where that is not known."""
    project = call.whose('heaviness:show')
    newest = call.documents.newest()
    known = newest.record.document.get('heaviness') if newest else None
    if newest is None or not isinstance(known, Mapping):
        return {'heaviness': []}
    return {
        'heaviness': [
            {'project_id': name, 'period': newest.record.period, 'heaviness': value}
            for name, value in sorted(known.items())
            if project in {None, name}
        ]
    }


@takes_query(limit=LIMIT, marker=marker({**TEXT, 'maxLength': 255}))
@gives(200, schemas.HOSTS)
def hosts(call: Call) -> Any:
    """Hosts as the newest round saw them, by name."""
    call.authorize('hosts:list')
    newest = call.documents.newest()
    known = newest.record.document.get('hosts') if newest else None
    after = call.query.get('marker', '')
    everywhere = known if isinstance(known, list) else []
    lines = sorted((h for h in everywhere if h['name'] > after), key=lambda h: h['name'])
    return call.page('hosts', lines, lines, lambda one: one['name'])


def _summary(call: Call, record: RoundRecord) -> dict[str, object]:
    return {
        'period': record.period,
        'state': str(record.state),
        'at': stamp(record.period * call.settings.period),
        'started_at': stamp(record.started_at),
    }


def _context(document: Mapping[str, Any], project: str | None) -> dict[str, object]:
    """What a round knew besides servers; of payers only a project's own, of hosts nothing for it."""
    shown = {name: document[name] for name in FOR_ALL if name in document}
    if project is None:
        return shown | {name: document[name] for name in FOR_ADMINS if name in document}
    own = account('project', project)
    return shown | {'payers': [one for one in document.get('payers', []) if one['id'] == own]}


def _newer(call: Call, document: Mapping[str, Any]) -> dict[str, object]:
    """What a client of an older version does not know of."""
    names = SINCE_3 if call.version >= Version(3) else ()
    return {name: document[name] for name in names if name in document}


def _not_sold(call: Call, document: Mapping[str, Any], *, with_hosts: bool) -> dict[str, object]:
    """What was not sold everywhere, as hosts do not control it (B5); their names are for admins."""
    if call.version < Version(3):
        return {}
    hosts = unsold_on(document) if with_hosts else {}
    return {
        'not_sold': [
            {'resource': name, 'everywhere': everywhere, 'hosts': hosts.get(name)}
            for name, everywhere in unsold_everywhere(document).items()
        ]
    }


def _explanation(call: Call, explained: Explained, project: str | None) -> dict[str, object]:
    """Servers with what they got and why, a page of them."""
    after = call.query.get('marker', '')
    period = explained.record.period
    found = call.stores.history.allocations(period, after, call.limit + 1, project)
    lines = [
        line | _why(explained.lines.get(one.server_id, {}))
        for line, one in zip(_lines(call, found), found, strict=True)
    ]
    return call.page('explanation', lines, found, lambda one: one.server_id)


def _why(line: Mapping[str, object]) -> dict[str, object]:
    shown = {name: line[name] for name in OF_SERVER if name in line}
    return shown | ({'why': line['reasons']} if 'reasons' in line else {})


def _lines(call: Call, found: Any) -> list[dict[str, object]]:
    with_host = call.may('allocations:show_host')
    return [_line(call, one, with_host) for one in found]


def _line(call: Call, one: AllocationRecord, with_host: bool) -> dict[str, object]:
    return {
        **columns(one),
        'host': one.host if with_host else None,
        'at': stamp(one.period * call.settings.period),
    }
