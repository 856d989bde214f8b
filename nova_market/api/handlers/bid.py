# SPDX-License-Identifier: Apache-2.0
"""Bids of servers (rule B1). Nova knows the project of a server."""

from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.columns import columns
from nova_market.api.schemas import bid as schemas
from nova_market.api.schemas.shape import ALL_PROJECTS, LIMIT, OF_PROJECT, SERVER_ID, marker
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import StoredBid
from nova_market.errors import Conflict

TRIES = 5
"""For a caller who does not care what he replaces."""


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(SERVER_ID)
)
@gives(200, schemas.BIDS)
def index(call: Call) -> Any:
    """Bids, by server."""
    project = call.whose('bids:list')
    found = call.stores.bids.list(project, call.query.get('marker', ''), call.limit + 1)
    return call.page('bids', [columns(one) for one in found], found, lambda one: one.server_id)


@gives(200, schemas.BID)
def show(call: Call) -> Any:
    """The bid of one server."""
    return {'bid': columns(_visible(call))}


@takes_body(schemas.BID_NEW)
@gives(200, schemas.BID)
def update(call: Call) -> Any:
    """Set the bid of a server, from the next round on."""
    project = _owner(call)
    call.authorize('bids:set', project)
    payer = _payer(call, project)
    for _ in range(TRIES):
        try:
            stored = call.stores.bids.put(_wanted(call, project, payer))
            return {'bid': columns(stored)}
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


def _visible(call: Call) -> StoredBid:
    found = call.stores.bids.bid(call.path['server_id'])
    if not call.may('bids:show', found.project_id if found else '') or found is None:
        raise not_found('bid', call.path['server_id'])
    return found


def _owner(call: Call) -> str:
    """The server's project; another's server is as unknown as a deleted one."""
    project = call.stores.owners.owner(call.path['server_id'])
    if not call.may('bids:show', project or '') or project is None:
        raise not_found('server', call.path['server_id'])
    return project


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
        cpu=call.body['cpu'],
        memory=call.body['memory'],
        max_cpu=call.body.get('max_cpu'),
        max_memory_mib=call.body.get('max_memory_mib'),
        generation=generation,
    )
