# SPDX-License-Identifier: Apache-2.0
"""`openstack market bid`: what a server bids per period for its CPU and its memory (rule B1)."""

import argparse
from typing import Any

from openstack.exceptions import NotFoundException
from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Amount, Column, Credits, credit_argument, listed, shown
from nova_market.osc.v1.lookup import account_id, server_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne

COLUMNS: tuple[Column, ...] = (
    ('Server', 'server_id', None),
    ('CPU', 'cpu', Credits),
    ('Memory', 'memory', Credits),
    ('Max CPU', 'max_cpu', Amount),
    ('Max Memory MiB', 'max_memory_mib', Amount),
    ('Payer', 'payer', None),
    ('Source', 'source', None),
)
SHOW: tuple[Column, ...] = (
    *COLUMNS,
    ('Project', 'project_id', None),
    ('Generation', 'generation', None),
)
KEPT = ('cpu', 'memory', 'max_cpu', 'max_memory_mib', 'payer', 'generation')


class SetBid(MarketShowOne):
    """Bid for a server; the bid is valid until it is changed

    Bids are credits per period. What is not given stays as it was. A server gets a part of each resource in
    proportion to its bid. It is charged for what it gets, and never more than its bid.

    Examples::

        openstack market bid set --cpu 2 --memory 0.5 web-1
        openstack market bid set --cpu 10 --budget nightly-build web-1
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>', help='Name or id of a server')
        for name in ('cpu', 'memory'):
            parser.add_argument(
                f'--{name}', metavar='<credits>', type=credit_argument, help='Credits per period'
            )
        parser.add_argument(
            '--max-cpu', metavar='<cores>', type=float, help='Largest number of cores to bid for'
        )
        parser.add_argument(
            '--max-memory', metavar='<MiB>', type=float, help='Largest amount of memory to bid for'
        )
        parser.add_argument(
            '--no-max',
            action='store_true',
            help='Remove both limits: bid for all that the flavor has',
        )
        parser.add_argument(
            '--budget', metavar='<budget>', help='Budget that pays; default: your project'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        server_id = server_id_of(self.conn, parsed_args.server)
        given = {
            'cpu': parsed_args.cpu,
            'memory': parsed_args.memory,
            'max_cpu': parsed_args.max_cpu,
            'max_memory_mib': parsed_args.max_memory,
            'payer': account_id(self.conn, parsed_args.budget) if parsed_args.budget else None,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes and not parsed_args.no_max:
            raise exceptions.CommandError('nothing to bid: give --cpu, --memory, or both')
        before = self._standing(server_id)
        if parsed_args.no_max:
            before.update(max_cpu=None, max_memory_mib=None)
        bid = {**before, **changes}
        if not {'cpu', 'memory'} <= set(bid):
            raise exceptions.CommandError(
                f'there is no bid for {server_id} yet: give --cpu and --memory'
            )
        return shown(SHOW, self.market.set_bid(server_id, **bid))

    def _standing(self, server_id: str) -> dict[str, Any]:
        """The bid as it is, with its generation: a change of somebody else in between is noticed."""
        try:
            bid = self.market.get_bid(server_id)
        except NotFoundException:
            return {}
        return {name: getattr(bid, name) for name in KEPT if getattr(bid, name) is not None}


class ShowBid(MarketShowOne):
    """Show the bid for a server

    Example::

        openstack market bid show web-1
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>', help='Name or id of a server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return shown(SHOW, self.market.get_bid(server_id_of(self.conn, parsed_args.server)))


class ListBid(MarketLister):
    """List bids

    Example::

        openstack market bid list --sort-column CPU
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return listed(COLUMNS, self.market.bids(**of_projects(self, parsed_args)))


class UnsetBid(MarketCommand):
    """Withdraw bids: metadata, flavor or price are used again

    Example::

        openstack market bid unset web-1 web-2
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>', nargs='+', help='Name or id of a server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        for text in parsed_args.server:
            self.market.delete_bid(server_id_of(self.conn, text), ignore_missing=False)
