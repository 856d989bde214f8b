# SPDX-License-Identifier: Apache-2.0
"""`openstack market bid suggest`: what to bid, from the prices of the newest round (rule P3)."""

import argparse
import math
import shlex
from typing import Any

from osc_lib import exceptions

from nova_market.core.ledger.money import credit_text
from nova_market.core.text import shown as quoted
from nova_market.osc.v1.columns import Amount, Column, Credits, Lines
from nova_market.osc.v1.job_argument import NumberArgument, memory_argument
from nova_market.osc.v1.lookup import server_id_of
from nova_market.osc.v1.market_command import MarketShowOne

COLUMNS: tuple[Column, ...] = (
    ('Period', 'period', None),
    ('Cores', 'cores', Amount),
    ('CPU Bid', 'cpu_bid', Credits),
    ('Memory MiB', 'memory_mib', Amount),
    ('Memory Bid', 'memory_bid', Credits),
    ('Total', 'total', Credits),
    ('Why', 'why', Lines),
)


def share_argument(text: str) -> float:
    """25 or 25%, as a part of 1."""
    try:
        percent = float(text.removesuffix('%'))
    except ValueError:
        percent = math.nan
    if not 0 < percent <= 100:
        raise argparse.ArgumentTypeError(
            f'{quoted(text)}: give a percentage above 0, up to 100, such as 25 or 25%'
        )
    return percent / 100


class SuggestBid(MarketShowOne):
    """Show what to bid for a number of cores or MiB, or for a share of the cloud

    The suggestion would have been enough in the newest round. Others may bid otherwise in the next one.

    Examples::

        openstack market bid suggest --cores 2
        openstack market bid suggest --cores 2 --memory 4G web-1
        openstack market bid suggest --share 25%
        openstack market bid suggest web-1
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'server',
            metavar='<server>',
            nargs='?',
            help='Name or id of the server that is to bid; alone: for all that its flavor has',
        )
        parser.add_argument(
            '--cores',
            metavar='<cores>',
            type=NumberArgument(0.001, 'a number of cores'),
            help='Cores to have; they may be parts of one, such as 0.5',
        )
        parser.add_argument(
            '--memory',
            metavar='<MiB>',
            type=memory_argument,
            help='Memory to have, such as 512M or 4G',
        )
        parser.add_argument(
            '--share',
            metavar='<percent>',
            type=share_argument,
            help='So much of all that the cloud sells, in place of --cores and --memory',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        amounts = {'cpu': parsed_args.cores, 'memory_mib': parsed_args.memory}
        given = {name: value for name, value in amounts.items() if value is not None}
        if parsed_args.share and given:
            raise exceptions.CommandError('give --share, or --cores and --memory, and not both')
        if not given and not parsed_args.share and not parsed_args.server:
            raise exceptions.CommandError('give --cores, --memory, --share, or a server')
        if parsed_args.share:
            given['share'] = parsed_args.share
        server = parsed_args.server
        if server:
            given['server_id'] = server_id_of(self.conn, server)
        found = self.market.suggest_bid(**given)
        names, values = self.shown(COLUMNS, found)
        return [*names, 'command'], (
            *values,
            _command(found, shlex.quote(server) if server else '<server>'),
        )


def _command(found: Any, server: str) -> str:
    """What sets this bid."""
    parts = [
        f'--{name} {credit_text(bid)}'
        for name, bid in (('cpu', found.cpu_bid), ('memory', found.memory_bid))
        if bid is not None
    ]
    return f'openstack market bid set {" ".join(parts)} {server}' if parts else ''
