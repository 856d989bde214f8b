# SPDX-License-Identifier: Apache-2.0
"""Accounts and their statements (rules M1, M2)."""

from datetime import date
from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_body, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.handlers.price import span
from nova_market.api.microversion import CLAIMS, OWN_ACCOUNTS, SUMS
from nova_market.api.schemas import account as schemas
from nova_market.api.schemas.shape import (
    ACCOUNT_ID,
    ALL_PROJECTS,
    LIMIT,
    OF_PROJECT,
    SERVER_ID,
    TEXT,
    marker,
)
from nova_market.core.json_schema import WHEN, described
from nova_market.core.ledger.account import Account, StatementLine
from nova_market.core.ledger.posting import (
    MAX_NAME,
    AccountId,
    Posting,
    account,
    kind_of,
    server_of,
)
from nova_market.core.ledger.statement import DAY, Choice, Grouping, StatementSum
from nova_market.core.timestamp import stamp

CHOICE = {
    'until': described(WHEN, 'not after; default: now'),
    'server_id': described(SERVER_ID, 'only charges of rounds for this server'),
}
STATEMENT_CHOICE = {
    'since': described(WHEN, 'not before; default: all that is kept'),
    **CHOICE,
}
GROUPS = {'server': Grouping.SERVER, 'app': Grouping.ACCOUNT, 'day': Grouping.DAY}
MAX_KEY = MAX_NAME + len('project:')


@takes_query(
    project_id=OF_PROJECT, all_projects=ALL_PROJECTS, limit=LIMIT, marker=marker(ACCOUNT_ID)
)
@gives(200, schemas.ACCOUNTS)
def index(call: Call) -> Any:
    """Accounts that are open, by id."""
    project = call.whose('accounts:list')
    if project and project == call.project_id and 'marker' not in call.query:
        _open_own(call)
    found = call.stores.accounts.list(project, call.query.get('marker', ''), call.limit + 1)
    return call.page('accounts', [shown(one, call) for one in found], found, lambda one: one.id)


@gives(200, schemas.ACCOUNT)
def show(call: Call) -> Any:
    """One account."""
    return {'account': shown(visible(call, call.path['account_id']), call)}


@takes_body(schemas.ACCOUNT_CHANGE)
@gives(200, schemas.ACCOUNT)
def update(call: Call) -> Any:
    """Change an account's name, or its weight."""
    found = visible(call, call.path['account_id'])
    if 'name' in call.body:
        call.authorize('accounts:rename', found.project_id)
    if 'weight' in call.body:
        call.authorize('accounts:weigh', found.project_id)
    return {'account': shown(call.stores.accounts.set(found.id, call.body), call)}


@takes_query(
    **STATEMENT_CHOICE,
    limit=LIMIT,
    marker=marker({'type': 'integer', 'minimum': 1, 'maximum': 2**53}),
)
@gives(200, schemas.STATEMENT)
def statement(call: Call) -> Any:
    """Every posting of an account, newest first."""
    found = visible(call, call.path['account_id'])
    call.authorize('statements:show', found.project_id)
    for name in STATEMENT_CHOICE.keys() & call.query.keys():
        call.needs(SUMS, name)
    since, until = span(call)
    choice = Choice(
        since=since if 'since' in call.query else None,
        until=until if 'until' in call.query else None,
        server_id=call.query.get('server_id'),
    )
    given = call.query.get('marker'), call.limit + 1, choice
    lines = call.stores.ledger.statement(found.id, *given)
    shown_lines = [_line(call, line) for line in lines]
    return call.page('postings', shown_lines, lines, lambda one: one.number)


@takes_query(
    group_by=described(
        {'type': 'string', 'enum': list(GROUPS)},
        'what is summed: the charges for each server, each account (an application has a budget of its own), '
        'or each day of UTC',
        default='day',
    ),
    since=described(WHEN, 'not before; default: the beginning of the day before until'),
    **CHOICE,
    limit=LIMIT,
    marker=marker({**TEXT, 'maxLength': MAX_KEY}),
)
@gives(200, schemas.SUMS)
def sums(call: Call) -> Any:
    """Sums of the postings of an account, and of its budgets when it is a project's: days newest first,
    servers and accounts by id.
    """
    found = visible(call, call.path['account_id'])
    call.authorize('statements:show', found.project_id)
    by, after = GROUPS[call.query['group_by']], call.query.get('marker')
    if by is Grouping.DAY and after is not None:
        _check_day(after)
    since, until = span(call)
    if 'since' not in call.query:
        since = since // DAY * DAY
    choice = Choice(since=since, until=until, server_id=call.query.get('server_id'))
    made = call.stores.ledger.sums(found.id, by, choice, after, call.limit + 1)
    return call.page('sums', [_sum(one, by) for one in made], made, lambda one: one.key)


def visible(call: Call, name: str) -> Account:
    """An account that the caller may see; that of his own project is opened when there is none.

    :raises ApiError: 404, there is none or it is not for him.
    """
    found = call.stores.accounts.account(AccountId(name))
    own = account('project', call.project_id)
    if found is None and name == own and call.may('accounts:show', call.project_id):
        found = _open_own(call)
    return call.seen('accounts:show', 'account', name, found)


def _open_own(call: Call) -> Account | None:
    """The account of the caller's project. One that is not there is opened as the engine would open it.

    That is with nothing in it and without a weight of its own: credits come when servers run, or by grants.
    """
    accounts, own = call.stores.accounts, account('project', call.project_id)
    if accounts.account(own) is None and call.version >= OWN_ACCOUNTS:
        accounts.open([Account(id=own, project_id=call.project_id)])
    return accounts.account(own)


def shown(one: Account, call: Call) -> dict[str, object]:
    """As it is sent; a project for which nobody has set a weight with the one that counts then."""
    claimed = {'claimed': one.claimed} if call.version >= CLAIMS else {}
    return {
        **claimed,
        'id': one.id,
        'kind': kind_of(one.id),
        'project_id': one.project_id or None,
        'name': one.name,
        'weight': one.weight_that_counts(call.settings.new_weight),
        'renew_amount': one.renew_amount,
        'renew_every': one.renew_every,
        'balance': one.balance,
        'closed': one.closed,
    }


def posted(posting: Posting) -> dict[str, object]:
    return {
        'key': posting.key,
        'reason': str(posting.reason),
        'debit': posting.debit,
        'credit': posting.credit,
        'amount': posting.amount,
    }


def _check_day(text: str) -> None:
    """:raises ApiError: 400; a marker of days is none."""
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ApiError(
            400, 'market.request.invalid', f'marker {text!r:.40}: follow the link to the next page'
        ) from None


def _line(call: Call, line: StatementLine) -> dict[str, object]:
    server = {'server_id': server_of(line.posting.key) or None} if call.version >= SUMS else {}
    return {
        'number': line.number,
        **posted(line.posting),
        **server,
        'change': line.change,
        'balance': line.balance,
        'posted_at': stamp(line.posted_at),
        'by': line.by,
    }


def _sum(one: StatementSum, by: Grouping) -> dict[str, object]:
    return {
        'server_id': one.key or None if by is Grouping.SERVER else None,
        'account_id': one.key if by is Grouping.ACCOUNT else None,
        'account_name': one.name or None,
        'day': one.key if by is Grouping.DAY else None,
        'charged': one.charged,
        'change': one.change,
        'postings': one.postings,
    }
