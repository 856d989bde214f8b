# SPDX-License-Identifier: Apache-2.0
"""`openstack market round` and `allocation`: decisions, reasons and allocations (rule A4)."""

import argparse
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import (
    Amount,
    Column,
    Credits,
    Explanation,
    HeldPrices,
    NotSold,
    Payers,
    Percent,
    Prices,
    add_limit,
    count_argument,
)
from nova_market.osc.v1.lookup import server_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne

LIST: tuple[Column, ...] = (
    ('Period', 'period', None),
    ('State', 'state', None),
    ('At', 'at', None),
    ('Started At', 'started_at', None),
)
SHOW: tuple[Column, ...] = (
    *LIST,
    ('Leader', 'leader', None),
    ('Prices', 'prices', Prices),
    ('Held Prices', 'held_prices', HeldPrices),
    ('Not Sold', 'not_sold', NotSold),
    ('Largest Error', 'largest_error', Percent),
    ('Payers', 'payers', Payers),
    ('Explanation', 'explanation', Explanation),
)
ALLOCATION: tuple[Column, ...] = (
    ('Period', 'period', None),
    ('Server', 'server_id', None),
    ('Host', 'host', None),
    ('Ideal CPU', 'ideal_cpu', Amount),
    ('CPU', 'actual_cpu', Amount),
    ('Ideal MiB', 'ideal_memory_mib', Amount),
    ('MiB', 'actual_memory_mib', Amount),
    ('Error', 'error', Percent),
    ('Charge CPU', 'charge_cpu', Credits),
    ('Charge Memory', 'charge_memory', Credits),
    ('Confirmed', 'confirmed', None),
)


def add_period(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'period',
        metavar='<period>',
        nargs='?',
        type=int,
        help='Number of the period; default: the last round',
    )


def last_period(command: MarketCommand) -> str:
    """The newest round."""
    for newest in command.market.rounds(max_items=1):
        return str(newest.period)
    raise exceptions.CommandError('there was no round yet: does nova-market-engine run?')


class ListRound(MarketLister):
    """List rounds, newest first

    Example::

        openstack market round list --limit 5
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_limit(parser, 'rounds', 20)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(LIST, self.market.rounds(max_items=parsed_args.limit))


class ShowRound(MarketShowOne):
    """Show what a round decided, and why

    Shows the first servers by id; ``allocation list --server`` shows one server.

    Examples::

        openstack market round show
        openstack market round show 29383201 -f json
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_period(parser)
        parser.add_argument(
            '--limit',
            metavar='<n>',
            type=count_argument,
            default=100,
            help='Explain the first <n> servers by id, at most as many as a page of the API has; '
            'default 100',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        period = last_period(self) if parsed_args.period is None else parsed_args.period
        return self.shown(SHOW, self.market.get_round(period, limit=parsed_args.limit))


class ListAllocation(MarketLister):
    """List allocations and charges of servers

    The ideal allocation is what a server would get if the whole cloud were one host; the error is the part of
    it that is missing. An allocation that the server's host has not confirmed is not charged.

    Examples, all servers in the last round, and one server over time::

        openstack market allocation list
        openstack market allocation list --server web-1 --limit 10
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_period(parser)
        add_projects(parser)
        parser.add_argument(
            '--server', metavar='<server>', help='Show this server (name or id), newest round first'
        )
        add_limit(parser, 'lines', 100)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if parsed_args.server and parsed_args.period is not None:
            raise exceptions.CommandError('give a round or --server, not both')
        if parsed_args.server:
            server_id = server_id_of(self.conn, parsed_args.server)
            found = self.market.server_allocations(server_id, max_items=parsed_args.limit)
        else:
            period = last_period(self) if parsed_args.period is None else parsed_args.period
            query = of_projects(self, parsed_args)
            found = self.market.allocations(period, max_items=parsed_args.limit, **query)
        everywhere = parsed_args.all_projects
        return self.listed(ALLOCATION, found, all_projects=everywhere)
