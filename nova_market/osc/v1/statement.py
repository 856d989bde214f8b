# SPDX-License-Identifier: Apache-2.0
"""`openstack market statement`: every credit that came and went."""

import argparse
from collections.abc import Mapping
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.account import add_account
from nova_market.osc.v1.columns import Column, Credits, add_limit
from nova_market.osc.v1.job_columns import Given
from nova_market.osc.v1.lookup import app_id_of, own_or_known_account, server_id_of
from nova_market.osc.v1.market_command import MarketLister
from nova_market.osc.v1.price import add_window

COLUMNS: tuple[Column, ...] = (
    ('Number', 'number', None),
    ('At', 'posted_at', None),
    ('Reason', 'reason', None),
    ('Server', 'server_id', None),
    ('From', 'debit', None),
    ('To', 'credit', None),
    ('Change', 'change', Credits),
    ('Balance', 'balance', Credits),
)
LONG: tuple[Column, ...] = (*COLUMNS, ('Key', 'key', None), ('By', 'by', None))
SUMS: tuple[Column, ...] = (
    ('Charged', 'charged', Credits),
    ('Change', 'change', Credits),
    ('Postings', 'postings', None),
)
GROUPS: Mapping[str, tuple[Column, ...]] = {
    'server': (('Server', 'server_id', None),),
    'app': (('Application', 'account_name', Given), ('Account', 'account_id', None)),
    'day': (('Day', 'day', None),),
}


class ShowStatement(MarketLister):
    """Show the postings of an account, newest first, or sums of them

    The balance of a line is the balance of the line below it plus its change, to the last micro-credit.

    With --group-by, the postings of an account, and of its budgets when it is a project's, are summed: what
    was charged, how the balances changed, and how many postings there are, by default since yesterday. Days
    are those of UTC, the newest first; servers and accounts are in the order of their ids. All that is for no
    server is one line.

    Examples, the last lines, what each server has cost in 12 hours, and what an application costs a day::

        openstack market statement show --limit 20
        openstack market statement show --since 12h --group-by server
        openstack market statement show --since 30d --app zephyr --group-by day
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_account(parser)
        parser.add_argument(
            '--app', metavar='<app>', help='The budget of this application (name or id)'
        )
        parser.add_argument(
            '--server', metavar='<server>', help='Only charges for this server (name or id)'
        )
        add_window(parser, 'all that is kept; of sums: the beginning of the day before --until')
        parser.add_argument(
            '--group-by', choices=tuple(GROUPS), help='Show sums by server, application or day'
        )
        add_limit(parser, 'lines', 100)
        parser.add_argument(
            '--long', action='store_true', help='Show keys, and who requested the posting, too'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = {'since': parsed_args.since, 'until': parsed_args.until}
        if parsed_args.server:
            query['server_id'] = server_id_of(self.conn, parsed_args.server)
        wanted = self._account(parsed_args)
        given: dict[str, Any] = {name: one for name, one in query.items() if one is not None}
        given['max_items'] = parsed_args.limit
        if parsed_args.group_by:
            columns = (*GROUPS[parsed_args.group_by], *SUMS)
            found = self.market.statement_sums(wanted, group_by=parsed_args.group_by, **given)
        else:
            columns = LONG if parsed_args.long else COLUMNS
            found = self.market.statement(wanted, **given)
        return self.listed(columns, found)

    def _account(self, parsed_args: argparse.Namespace) -> str:
        """:raises CommandError: an account and an application are given."""
        if parsed_args.app and parsed_args.account:
            raise exceptions.CommandError('give an account or --app, not both')
        if parsed_args.app:
            return f'budget:{app_id_of(self.conn, parsed_args.app)}'
        return own_or_known_account(self.conn, parsed_args.account)
