# SPDX-License-Identifier: Apache-2.0
"""`openstack market app events`: what was done with an application, and why."""

import argparse
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.core.ledger.money import credit_text
from nova_market.osc.v1.app import add_app
from nova_market.osc.v1.columns import Column, Fields, add_limit
from nova_market.osc.v1.lookup import app_id_of
from nova_market.osc.v1.market_command import MarketLister

MONEY = frozenset({'cpu', 'memory', 'price', 'budget', 'spent'})
"""Numbers of events that are micro-credits."""


class Numbers(FormattableColumn[Any]):
    """name=value; what is money in credits."""

    def human_readable(self) -> str:
        return ' '.join(
            f'{name}={credit_text(int(value))}'
            if name in MONEY and value is not None
            else Fields({name: value}).human_readable()
            for name, value in (self._value or {}).items()
        )


COLUMNS: tuple[Column, ...] = (
    ('At', 'at', None),
    ('Action', 'action', None),
    ('Reason', 'reason', None),
    ('Numbers', 'numbers', Numbers),
)
LONG: tuple[Column, ...] = (('Number', 'number', None), ('Period', 'period', None), *COLUMNS)


class ListAppEvent(MarketLister):
    """Show what was done with an application and why, newest first

    Example::

        openstack market app events --limit 20 zephyr
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_app(parser)
        add_limit(parser, 'events', 50)
        parser.add_argument('--long', action='store_true', help='Show numbers and periods too')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = app_id_of(self.conn, parsed_args.app)
        found = self.market.app_events(wanted, max_items=parsed_args.limit)
        return self.listed(LONG if parsed_args.long else COLUMNS, found)
