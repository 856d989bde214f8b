# SPDX-License-Identifier: Apache-2.0
"""Bids of servers (rule B1). Nova knows the project and the size of a server."""

from collections.abc import Mapping, Sequence
from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.columns import columns
from nova_market.api.microversion import PARTIAL_BIDS
from nova_market.api.schemas import bid as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, SERVER_ID, marker
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import MARKET_RESOURCES, StoredBid
from nova_market.core.market.owner_server import OwnedServer
from nova_market.errors import Conflict

TRIES = 5
"""For a caller who does not care what he replaces."""

LIMITS = ('max_cpu', 'max_memory_mib')

NOWHERE = 'none'
"""The source of a bid that nobody has placed."""


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(SERVER_ID)
)
@gives(200, schemas.BIDS)
def index(call: Call) -> Any:
    """Bids, by server."""
    project = call.whose('bids:list')
    found = call.stores.bids.list(project, call.query.get('marker', ''), call.limit + 1)
    lines = [_shown(call, one) for one in found]
    return call.page('bids', lines, found, lambda one: one.server_id)


@gives(200, schemas.BID)
def show(call: Call) -> Any:
    """The bid of one server, and from 1.17 on what the newest round counted for it, and whence.

    From 1.17 on a server without a bid has one that sets nothing.
    """
    if call.version < PARTIAL_BIDS:
        return {'bid': _shown(call, _visible(call))}
    found = call.stores.bids.bid(call.path['server_id'])
    if found is None:
        project = server_of(call, call.path['server_id']).project_id
        found = StoredBid(
            server_id=call.path['server_id'],
            project_id=project,
            payer=account('project', project),
            cpu=None,
            memory=None,
            source=NOWHERE,
        )
    elif not call.may('bids:show', found.project_id):
        raise not_found('server', call.path['server_id'])
    return {'bid': {**_shown(call, found), 'in_force': _in_force(call, found)}}


@takes_body(schemas.BID_NEW)
@gives(200, schemas.BID)
def update(call: Call) -> Any:
    """Set the bid of a server, from the next round on."""
    if call.version < PARTIAL_BIDS:
        for name in MARKET_RESOURCES:
            if call.body.get(name) is None:
                call.needs(PARTIAL_BIDS, f'a bid without {name}')
    server = server_of(call, call.path['server_id'])
    call.authorize('bids:set', server.project_id)
    if call.version >= PARTIAL_BIDS:
        check_size(server, LIMITS, [call.body.get(name) for name in LIMITS])
    payer = _payer(call, server.project_id)
    for _ in range(TRIES):
        try:
            stored = call.stores.bids.put(_wanted(call, server.project_id, payer))
            return {'bid': _shown(call, stored)}
        except Conflict as error:
            refusal = ApiError(409, 'market.bid.generation', str(error))
            if 'generation' in call.body:
                raise refusal from None
    raise refusal


@gives(204)
def delete(call: Call) -> Any:
    """Forget a bid: the server falls back to its metadata, its flavor or its default."""
    found = _visible(call)
    call.authorize('bids:delete', found.project_id)
    call.stores.bids.remove([found.server_id])
    return Answer(status=204)


def server_of(call: Call, server_id: str) -> OwnedServer:
    """A server that the caller may see; another's is as unknown as a deleted one.

    :raises ApiError: 404.
    """
    found = call.stores.owners.server(server_id)
    return call.seen('bids:show', 'server', server_id, found)


def check_size(server: OwnedServer, names: Sequence[str], amounts: Sequence[float | None]) -> None:
    """Refuse what is more than a server can use. names: of the entries with its cores and its MiB

    :raises ApiError: 400; names the entry, its value and the limit.
    """
    size = (server.vcpus, 'vCPUs'), (server.memory_mib, 'MiB')
    for name, value, (most, unit) in zip(names, amounts, size, strict=True):
        if value is not None and value > most:
            raise ApiError(
                400,
                'market.bid.too_large',
                f'{name}: {value:.9g} is more than the {most:.9g} {unit} of the server: '
                f'give at most {most:.9g}, or nothing for all of them',
            )


def _visible(call: Call) -> StoredBid:
    found = call.stores.bids.bid(call.path['server_id'])
    return call.seen('bids:show', 'bid', call.path['server_id'], found)


def _shown(call: Call, bid: StoredBid) -> dict[str, Any]:
    """A client of an older version does not know bids that set one resource only."""
    found = columns(bid)
    if call.version < PARTIAL_BIDS:
        found |= {name: found[name] or 0 for name in MARKET_RESOURCES}
    return found


def _in_force(call: Call, bid: StoredBid) -> dict[str, Any] | None:
    """What the newest round counted; None: it did not see the server, or there was none."""
    rounds = call.stores.history.rounds(limit=1)
    if not rounds:
        return None
    explained = call.documents.of_project(rounds[0].period, bid.project_id)
    line: Mapping[str, Any] = explained.lines.get(bid.server_id, {}) if explained else {}
    if not {'bid', 'source'} <= line.keys():
        return None
    parts = zip(MARKET_RESOURCES, line['bid'], line['source'], strict=True)
    return {
        'period': rounds[0].period,
        'payer': line.get('payer'),
        **{name: {'bid': amount, 'source': source} for name, amount, source in parts},
    }


def _payer(call: Call, project: str) -> AccountId:
    name = AccountId(call.body.get('payer') or account('project', project))
    if name == account('project', project):
        call.stores.accounts.open([Account(id=name, project_id=project)])
        return name
    found = call.stores.accounts.account(name)
    if found is None or found.closed or found.project_id != project:
        raise not_found('account', name)
    return name


def _wanted(call: Call, project: str, payer: AccountId) -> StoredBid:
    generation = call.body.get('generation')
    if generation is None:
        before = call.stores.bids.bid(call.path['server_id'])
        generation = before.generation if before else 0
    return StoredBid(
        server_id=call.path['server_id'],
        project_id=project,
        payer=payer,
        cpu=call.body.get('cpu'),
        memory=call.body.get('memory'),
        max_cpu=call.body.get('max_cpu'),
        max_memory_mib=call.body.get('max_memory_mib'),
        generation=generation,
    )
