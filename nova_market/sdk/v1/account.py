# SPDX-License-Identifier: Apache-2.0
"""Accounts, and what is posted to them (rules M1, M2)."""

from openstack.resource import URI, Body, Computed, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import SUMS


class Account(MarketResource):
    """`project:<id>`, `budget:<id>`, `bank`, `escrow` or `mint`."""

    base_path = '/accounts'
    resource_key = 'account'
    resources_key = 'accounts'
    allow_fetch = True
    allow_list = True
    allow_commit = True
    commit_method = 'PATCH'
    _query_mapping = QueryParameters('project_id', 'all_projects')
    _max_microversion = SUMS

    kind = Body('kind')
    project_id = Body('project_id')
    weight = Body('weight', type=float)
    balance = Body('balance', type=int)
    claimed = Body('claimed', type=int)
    renew_amount = Body('renew_amount')
    renew_every = Body('renew_every', type=int)
    closed = Body('closed', type=bool)


class Budget(Account):
    """What a project sets aside for an application; fills itself up where renew_amount is set (M4)."""

    base_path = '/budgets'
    resource_key = 'budget'
    resources_key = 'budgets'
    allow_create = True
    allow_delete = True


class Posting(MarketResource):
    """One movement of credits, from `debit` to `credit`; `change` and `balance` are those of the reader's
    account, and `key` is what makes it unique."""

    base_path = '/accounts/%(account_id)s/statement'
    resources_key = 'postings'
    allow_list = True
    _query_mapping = QueryParameters('since', 'until', 'server_id')
    _max_microversion = SUMS

    account_id = URI('account_id')
    number = Body('number', type=int)
    key = Body('key')
    reason = Body('reason')
    debit = Body('debit')
    credit = Body('credit')
    server_id = Body('server_id')
    amount = Body('amount', type=int)
    change = Body('change', type=int)
    balance = Body('balance', type=int)
    posted_at = Body('posted_at')
    by = Body('by')


class StatementSum(MarketResource):
    """Postings that have a server, an account or a day of UTC in common; the other two are None.

    `account_name` is that of an application whose budget the account is.
    """

    base_path = '/accounts/%(account)s/statement/sums'
    resources_key = 'sums'
    allow_list = True
    _query_mapping = QueryParameters('group_by', 'since', 'until', 'server_id')
    _max_microversion = SUMS

    account = URI('account')
    server_id = Body('server_id')
    account_id = Body('account_id')
    account_name = Body('account_name')
    day = Body('day')
    charged = Body('charged', type=int)
    change = Body('change', type=int)
    postings = Body('postings', type=int)


class Movement(MarketResource):
    """A grant or a transfer that was posted; `balance` is what the caller's account has after it.

    repeated: it was posted before with the same key, and nothing was moved now
    """

    key = Body('key')
    reason = Body('reason')
    debit = Body('debit')
    credit = Body('credit')
    amount = Body('amount', type=int)
    balance = Body('balance', type=int)
    repeated = Computed('repeated', type=bool, default=False)
