# SPDX-License-Identifier: Apache-2.0
"""Grants, revocations and transfers: the postings that people ask for (rules M1, M2).

The header Idempotency-Key is part of the posting's key, so that a request that is sent again after a
lost answer moves nothing twice. It is the caller's project's own: two projects may choose the same.
"""

from typing import Any
from uuid import uuid4

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body, takes_header, takes_path
from nova_market.api.errors import ApiError, not_found
from nova_market.api.handlers.account import posted
from nova_market.api.microversion import PROJECT_TARGETS
from nova_market.api.schemas import account as schemas
from nova_market.api.schemas.shape import HOLDER_ID
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import (
    MINT,
    NO_PERIOD,
    AccountId,
    Posting,
    Reason,
    account,
    bare_id,
    kind_of,
    posting_key,
)

HEADER = 'Idempotency-Key'


@takes_path(account_id=HOLDER_ID)
@takes_header(HEADER, schemas.IDEMPOTENCY_KEY)
@takes_body(schemas.GRANT_NEW)
@gives(200, schemas.GRANT)
@gives(201, schemas.GRANT)
def grant(call: Call) -> Any:
    """New credits for a project's account, which is opened when there is none, or for a budget."""
    call.authorize('accounts:grant')
    name = AccountId(call.path['account_id'])
    if kind_of(name) == 'project':
        name = _project_account(call, name)
    return _post(call, 'grant', Reason.GRANT, MINT, name, name)


@takes_path(account_id=HOLDER_ID)
@takes_header(HEADER, schemas.IDEMPOTENCY_KEY)
@takes_body(schemas.GRANT_NEW)
@gives(200, schemas.GRANT)
@gives(201, schemas.GRANT)
def revoke(call: Call) -> Any:
    """Take credits back, no more than the account has."""
    call.authorize('accounts:grant')
    name = AccountId(call.path['account_id'])
    return _post(call, 'grant', Reason.REVOKE, name, MINT, name)


@takes_header(HEADER, schemas.IDEMPOTENCY_KEY)
@takes_body(schemas.TRANSFER_NEW)
@gives(200, schemas.TRANSFER)
@gives(201, schemas.TRANSFER)
def create(call: Call) -> Any:
    """Move credits from one account to another."""
    source = _party(call, call.body['from'])
    if source is None or not call.may('accounts:show', source.project_id):
        call.may('accounts:show')
        raise not_found('account', call.body['from'])
    target = _party(call, call.body['to'])
    inside = target is not None and target.project_id == source.project_id
    call.authorize('transfers:create' if inside else 'transfers:create_to_other', source.project_id)
    named = AccountId(call.body['to'])
    if not inside and kind_of(named) == 'project':
        named = _project_account(call, named)
    elif target is None:
        raise not_found('account', named)
    if source.id == named:
        raise ApiError(
            400, 'market.transfer.to_self', f'{source.id} is both from and to: name two accounts'
        )
    return _post(call, 'transfer', Reason.TRANSFER, source.id, named, source.id)


def _party(call: Call, name: str) -> Account | None:
    return call.stores.accounts.account(AccountId(name))


def _project_account(call: Call, name: AccountId) -> AccountId:
    """The account of a project that is in Keystone, which is opened when there is none.

    :raises ApiError: 404, there is no such project; names count in the domain of the caller's own.
    """
    given = bare_id(name)
    domain = call.domain_id if call.version >= PROJECT_TARGETS else ''
    found = call.stores.projects.project(given, domain)
    if found is None:
        named = ', or with this name in the domain of yours' if domain else ''
        raise ApiError(
            404,
            'market.project.not_found',
            f'there is no project with the id {given:.80}{named}: correct it',
        )
    own = account('project', found)
    call.stores.accounts.open([Account(id=own, project_id=found)])
    return own


def _post(
    call: Call, form: str, reason: Reason, debit: AccountId, credit: AccountId, own: AccountId
) -> Answer:
    subject = f'{call.project_id}/{call.key or uuid4().hex}'
    posting = Posting(
        key=posting_key(reason, NO_PERIOD, subject),
        reason=reason,
        debit=debit,
        credit=credit,
        amount=call.body['amount'],
    )
    new = call.stores.ledger.post([posting], by=call.user_id[:64])
    balance = call.stores.ledger.balances([own])[own]
    return Answer(body={form: {**posted(posting), 'balance': balance}}, status=201 if new else 200)
