# SPDX-License-Identifier: Apache-2.0
"""`openstack market statement`: every credit that came and went."""

import argparse
from typing import Any

from nova_market.osc.v1.account import add_account
from nova_market.osc.v1.columns import Column, Credits, add_limit, listed
from nova_market.osc.v1.lookup import account_id
from nova_market.osc.v1.market_command import MarketLister

COLUMNS: tuple[Column, ...] = (
    ('Number', 'number', None),
    ('At', 'posted_at', None),
    ('Reason', 'reason', None),
    ('From', 'debit', None),
    ('To', 'credit', None),
    ('Change', 'change', Credits),
    ('Balance', 'balance', Credits),
)
LONG: tuple[Column, ...] = (*COLUMNS, ('Key', 'key', None), ('By', 'by', None))


class ShowStatement(MarketLister):
    """Show the postings of an account, newest first

    The balance of a line is the balance of the line below it plus its change, to the last micro-credit.

    Examples::

        openstack market statement show --limit 20
        openstack market statement show --long -f csv nightly-build
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_account(parser)
        add_limit(parser, 'lines', 100)
        parser.add_argument(
            '--long', action='store_true', help='Show keys, and who requested the posting, too'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = account_id(self.conn, parsed_args.account)
        lines = self.market.statement(wanted, max_items=parsed_args.limit)
        return listed(LONG if parsed_args.long else COLUMNS, lines)
