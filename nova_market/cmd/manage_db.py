# SPDX-License-Identifier: Apache-2.0
"""Subcommands `db` of nova-market-manage: make, check and purge the database."""

import time
from typing import Any

from oslo_config import cfg

from nova_market.db import schema
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.purge import purge
from nova_market.errors import ConfigurationError
from nova_market.wiring.database import connect, ready

DAY = 86_400.0
MIN_DAYS = 1.0
KEY_DAYS = 7.0
"""For so long what belongs to no period is kept: a client that sends a request again moves nothing twice."""

EXIT_DISCREPANCY = 1
EXIT_BEHIND = 2
ADDS_UP = 'Every balance is what its postings add up to; all accounts add up to zero.'


def add_commands(subparsers: Any) -> None:
    """Add `db` to the subparsers of nova-market-manage; each sets `run`, a function of the configuration."""
    group = subparsers.add_parser('db', help='The database of the market.')
    actions = group.add_subparsers(title='actions', metavar='ACTION', required=True, dest='action')

    def add(name: str, run: Any, text: str) -> Any:
        parser = actions.add_parser(name, help=text, description=text)
        parser.set_defaults(run=run)
        return parser

    made = add('sync', _sync, 'Make the tables, or upgrade them; runs again without harm.')
    made.add_argument(
        '--version', dest='target', default='head', help='revision to go to; default: newest'
    )
    add(
        'version',
        _version,
        f'Print the revision of the tables. Exit status {EXIT_BEHIND}: not the one this version needs.',
    )
    purged = add(
        'purge',
        _purge,
        'Take away old rounds, prices, allocations, plans and postings, applications, jobs, bags, offers and '
        'leases that are over, usage history, bids of servers that no round has seen since, and closed '
        'accounts that nothing names any more; balances do not change. Grants, transfers and what jobs and '
        f'leases cost are kept for {KEY_DAYS:g} days at least.',
    )
    purged.add_argument(
        '--older-than', dest='days', required=True, metavar='DAYS',
        help='keep what is younger; longer than the delay after which charges return',
    )  # fmt: skip
    add(
        'verify',
        _verify,
        f'Add up all postings. Exit status {EXIT_DISCREPANCY}: a balance is not the sum of its postings.',
    )


def _sync(conf: cfg.ConfigOpts) -> int:
    database = connect(conf)
    print(f'The database is at revision {schema.sync(database, conf.command.target)}.')
    return 0


def _version(conf: cfg.ConfigOpts) -> int:
    found, needed = schema.version(connect(conf)), schema.newest()
    print(found or 'none')
    return 0 if found == needed else EXIT_BEHIND


def _number(text: str) -> float:
    """Not a number where it is none."""
    try:
        return float(text)
    except ValueError:
        return float('nan')


def _purge(conf: cfg.ConfigOpts) -> int:
    days = _number(conf.command.days)
    if not days >= MIN_DAYS:
        raise ConfigurationError(
            f'--older-than {conf.command.days:.40}: give a number of days, {MIN_DAYS:g} day or more'
        )
    database = ready(conf)
    now = time.time()
    done = purge(database, now - days * DAY, now - max(days, KEY_DAYS) * DAY)
    print(f'Purged up to period {done.period}:')
    for name, count in done.rows.items():
        print(f'{count:12d} {name}')
    return 0


def _verify(conf: cfg.ConfigOpts) -> int:
    database = ready(conf)
    found = DatabaseLedger(database, time.time).discrepancies()
    for line in found:
        print(line)
    if not found:
        print(ADDS_UP)
    return EXIT_DISCREPANCY if found else 0
