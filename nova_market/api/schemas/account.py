# SPDX-License-Identifier: Apache-2.0
"""Schemas of accounts, budgets, grants, transfers and statements."""

from nova_market.api.schemas.shape import (
    ACCOUNT_ID,
    BALANCE,
    MOVED,
    PROJECT_ID,
    TEXT,
    TIME,
    WEIGHT,
    listed,
    wrapped,
)
from nova_market.core.app.template_schema import AMOUNT, EVERY
from nova_market.core.json_schema import NAME, Schema, described, nullable, record

SHOWN = record(
    {
        'id': ACCOUNT_ID,
        'kind': {'type': 'string', 'enum': ['project', 'budget', 'escrow', 'bank', 'mint']},
        'project_id': nullable(PROJECT_ID),
        'name': TEXT,
        'weight': described(
            {'type': 'number'},
            'share of this project in what the operator hands out; where none was set, the default',
        ),
        'renew_amount': nullable(described(AMOUNT, 'a budget is filled up to this; null: by hand')),
        'renew_every': described(EVERY, 'periods'),
        'balance': described(BALANCE, "micro-credits; only the mint's is below zero"),
        'claimed': described(
            BALANCE,
            'micro-credits that the operator claims of this project and its budgets, and will take; so much '
            'cannot be held for jobs and leases or transferred; from version 1.16 on',
        ),
        'closed': {'type': 'boolean'},
    },
    optional=('claimed',),
)
ACCOUNT = wrapped('account', SHOWN)
ACCOUNTS = listed('accounts', SHOWN)
BUDGET = wrapped('budget', SHOWN)
BUDGETS = listed('budgets', SHOWN)

ACCOUNT_CHANGE: Schema = {
    **record({'name': NAME, 'weight': WEIGHT}, optional=('name', 'weight')),
    'minProperties': 1,
}

RENEWAL = {
    'name': NAME,
    'renew_amount': nullable(
        described(AMOUNT, 'micro-credits to fill the budget up to; null: by hand')
    ),
    'renew_every': described(EVERY, 'periods'),
}
BUDGET_NEW = record(
    {**RENEWAL, 'project_id': described(PROJECT_ID, "default: the token's project")},
    optional=('renew_amount', 'renew_every', 'project_id'),
)
BUDGET_CHANGE: Schema = {**record(RENEWAL, optional=tuple(RENEWAL)), 'minProperties': 1}

GRANT_NEW = record({'amount': described(MOVED, 'micro-credits')})
PAYING: Schema = {'type': 'string', 'pattern': '^(bank|(project|budget):[A-Za-z0-9_-]{1,64})$'}
PAID: Schema = {
    'type': 'string',
    'pattern': r'^(bank|budget:[A-Za-z0-9_-]{1,64}|project:[^\x00-\x1f\x7f]{1,64})$',
}
TRANSFER_NEW = record(
    {
        'from': described(PAYING, 'account that pays'),
        'to': described(
            PAID, 'account that gets it; from version 1.17 on a project may be given by its name'
        ),
        'amount': described(MOVED, 'micro-credits'),
    }
)
POSTED = {
    'key': described(TEXT, 'under which it is in the ledger, once'),
    'reason': TEXT,
    'debit': described(ACCOUNT_ID, 'it came from'),
    'credit': described(ACCOUNT_ID, 'it went to'),
    'amount': MOVED,
}
MADE = record({**POSTED, 'balance': described(BALANCE, "of the caller's account, after it")})
GRANT = wrapped('grant', MADE)
TRANSFER = wrapped('transfer', MADE)

STATEMENT = listed(
    'postings',
    record(
        {
            'number': described({'type': 'integer'}, 'grows with time'),
            **POSTED,
            'server_id': nullable(
                described(TEXT, 'that a round charges for; from version 1.17 on')
            ),
            'change': described(BALANCE, 'what it did to this account'),
            'balance': described(BALANCE, 'of this account, after it'),
            'posted_at': TIME,
            'by': described(TEXT, 'user who asked for it; empty: the engine'),
        },
        optional=('server_id',),
    ),
)
SUMS = listed(
    'sums',
    record(
        {
            'server_id': nullable(
                described(TEXT, 'by server: that was charged for; null: what is for no server')
            ),
            'account_id': nullable(
                described(ACCOUNT_ID, 'by application: of its budget, or another')
            ),
            'account_name': nullable(described(TEXT, 'of the budget: the name of the application')),
            'day': nullable(described({**TEXT, 'format': 'date'}, 'by day: of UTC')),
            'charged': described({'type': 'integer'}, 'micro-credits that were charged'),
            'change': described({'type': 'integer'}, 'micro-credits by which the accounts changed'),
            'postings': described({'type': 'integer'}, 'how many they are'),
        }
    ),
)
IDEMPOTENCY_KEY: Schema = {
    'type': 'string',
    'pattern': '^[!-~]{1,128}$',
    'description': 'The same key again does nothing twice: a repeated request is answered with 200.',
}
