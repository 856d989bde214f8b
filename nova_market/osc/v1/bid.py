# SPDX-License-Identifier: Apache-2.0
"""`openstack market bid`: what a server bids per period for its CPU and its memory (rule B1)."""

import argparse
from collections.abc import Sequence
from typing import Any

from cliff.columns import FormattableColumn
from openstack.exceptions import HttpException, NotFoundException
from osc_lib import exceptions

from nova_market.core.ledger.money import credit_text
from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Amount, Column, Credits, credit_argument
from nova_market.osc.v1.job_argument import memory_argument
from nova_market.osc.v1.lookup import account_id, server_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne, refusal

SOURCES = {
    'tenant': 'this bid',
    'server': 'metadata or a scheduler hint of the server',
    'flavor': 'extra specs of its flavor',
    'sustainable': 'the default: its part of what the project can spend per period for ever',
}


class Counted(FormattableColumn[Any]):
    """What the newest round counted for each resource, and where it comes from."""

    def human_readable(self) -> str:
        if not self._value:
            return 'nothing yet: the next round counts the bid, and the default for what it does not set'
        return '\n'.join(
            f'{name}: {credit_text(one["bid"])} per period, {SOURCES[one["source"]]}'
            for name, one in self._value.items()
            if name in ('cpu', 'memory')
        )


COLUMNS: tuple[Column, ...] = (
    ('Server', 'server_id', None),
    ('CPU', 'cpu', Credits),
    ('Memory', 'memory', Credits),
    ('Max CPU', 'max_cpu', Amount),
    ('Max Memory MiB', 'max_memory_mib', Amount),
    ('Payer', 'payer', None),
    ('Source', 'source', None),
)
SET: tuple[Column, ...] = (
    *COLUMNS,
    ('Project', 'project_id', None),
    ('Generation', 'generation', None),
)
SHOW: tuple[Column, ...] = (*SET, ('In Force', 'in_force', Counted))
AMOUNTS = ('cpu', 'memory', 'max_cpu', 'max_memory_mib')
KEPT = (*AMOUNTS, 'payer', 'generation')
PARTS = (
    ('--cpu', 'cpu', 'the bid for CPU'),
    ('--memory', 'memory', 'the bid for memory'),
    ('--max-cpu', 'max_cpu', 'the limit of cores'),
    ('--max-memory', 'max_memory_mib', 'the limit of memory'),
)
"""What can be withdrawn by itself: option, entry of a bid, and text."""
WITHDRAWN = {name: text.removeprefix('the ') for _, name, text in PARTS}


class SetBid(MarketShowOne):
    """Bid for a server; the bid is valid until it is changed

    Bids are credits per period. What is not given stays as it was; what was never given has its default,
    which "bid show" shows. A server gets a part of each resource in proportion to its bid. It is charged for
    what it gets, and never more than its bid.

    Examples::

        openstack market bid set --cpu 2 web-1
        openstack market bid set --cpu 10 --memory 0.5 --budget nightly-build web-1
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
            '--max-memory',
            metavar='<size>',
            type=memory_argument,
            help='Largest amount of memory to bid for, such as 512M or 4G',
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
            raise exceptions.CommandError(
                'nothing to bid: give --cpu, --memory, --max-cpu, --max-memory, --no-max or --budget'
            )
        before = self._standing(server_id)
        if parsed_args.no_max:
            before.update(max_cpu=None, max_memory_mib=None)
        return self.shown(SET, self.market.set_bid(server_id, **{**before, **changes}))

    def _standing(self, server_id: str) -> dict[str, Any]:
        """The bid as it is, with its generation: a change of somebody else in between is noticed."""
        try:
            bid = self.market.get_bid(server_id)
        except NotFoundException:  # of a service before 1.17
            return {}
        return _kept(bid)


class ShowBid(MarketShowOne):
    """Show the bid for a server, and what the newest round counted

    A server without a bid has a default one. "In Force" has where each part comes from.

    Example::

        openstack market bid show web-1
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>', help='Name or id of a server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.get_bid(server_id_of(self.conn, parsed_args.server)))


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
        found = self.market.bids(**of_projects(self, parsed_args))
        return self.listed(COLUMNS, found, all_projects=parsed_args.all_projects)


class UnsetBid(MarketCommand):
    """Withdraw bids, or parts of them: metadata, flavor or the default count again

    Without options the whole bid is withdrawn. Nothing is changed unless each server has a bid, and what
    fails half-way is undone.

    Examples::

        openstack market bid unset web-1 web-2
        openstack market bid unset --memory --max-cpu web-1
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>', nargs='+', help='Name or id of a server')
        for option, name, text in PARTS:
            parser.add_argument(
                option,
                dest='parts',
                action='append_const',
                const=name,
                help=f'Withdraw only {text}',
            )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        parts = tuple(parsed_args.parts or ())
        found = {text: self._bid(text, parts) for text in dict.fromkeys(parsed_args.server)}
        done: dict[str, int] = {}
        for text, bid in found.items():
            try:
                done[text] = self._unset(bid, parts)
            except HttpException as error:
                left = [
                    one
                    for one, generation in done.items()
                    if not self._reset(found[one], generation)
                ]
                raise exceptions.CommandError(
                    f'{text} could not be changed: {refusal(error)}; '
                    + (f'unset all the same: {", ".join(left)}' if left else 'nothing was unset')
                ) from None
        for text in done:
            print(f'{text}: unset {", ".join(parts) or "the whole bid"}', file=self.app.stdout)

    def _bid(self, text: str, parts: Sequence[str]) -> Any:
        """The bid of a server, which has what is to be withdrawn."""
        server_id = server_id_of(self.conn, text)
        bid = self.market.get_bid(server_id)
        lacks = [name for name in parts if getattr(bid, name) is None]
        if not bid.generation or lacks:
            raise exceptions.CommandError(
                f'no {" and no ".join(WITHDRAWN[one] for one in lacks) or "bid"} is set for {text}: '
                'nothing was unset; "openstack market bid show" shows what is set'
            )
        return bid

    def _unset(self, bid: Any, parts: Sequence[str]) -> int:
        """The generation of what is left of it; 0: nothing is."""
        left = {name: value for name, value in _kept(bid).items() if name not in parts}
        if parts and any(name in left for name in AMOUNTS):
            return int(self.market.set_bid(bid.server_id, **left).generation)
        self.market.delete_bid(bid.server_id, ignore_missing=False)
        return 0

    def _reset(self, bid: Any, generation: int) -> bool:
        """Set a bid as it was, unless somebody has changed what was left of it; whether that is done."""
        try:
            self.market.set_bid(bid.server_id, **{**_kept(bid), 'generation': generation})
        except HttpException:
            return False
        return True


def _kept(bid: Any) -> dict[str, Any]:
    """What a bid sets, as it is sent."""
    return {name: getattr(bid, name) for name in KEPT if getattr(bid, name) is not None}
