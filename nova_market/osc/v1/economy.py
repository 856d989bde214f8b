# SPDX-License-Identifier: Apache-2.0
"""`openstack market economy`: the money supply, its velocity, a price index, and purchasing power."""

import argparse
from typing import Any

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import (
    Amount,
    Column,
    Credits,
    Fields,
    Lines,
    Percent,
    add_limit,
)
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne
from nova_market.osc.v1.price import add_window

PAST: tuple[Column, ...] = (
    ('Period', 'period', None),
    ('At', 'at', None),
    ('Issued', 'issued', Credits),
    ('Projects', 'projects', Credits),
    ('Budgets', 'budgets', Credits),
    ('Escrow', 'escrow', Credits),
    ('Bank', 'bank', Credits),
    ('Charged', 'charged', Credits),
    ('Price Index', 'price_index', Amount),
)
SHOW: tuple[Column, ...] = (
    *PAST,
    ('Circulating', 'circulating', Credits),
    ('Velocity', 'velocity', Percent),
    ('Seen Periods', 'seen_periods', None),
    ('Base', 'base', Fields),
    ('Left Out', 'left_out', Lines),
)
POWER: tuple[Column, ...] = (
    ('Project', 'project_id', None),
    ('Wealth', 'wealth', Credits),
    ('Spend', 'spend', Credits),
    ('Cores', 'cores', Amount),
    ('Part', 'part', Percent),
    ('Real', 'real', Credits),
)
PAST_POWER: tuple[Column, ...] = (('Period', 'period', None), ('At', 'at', None), *POWER)


class ShowEconomy(MarketShowOne):
    """Show where the credits are, how fast they move, and what they are worth

    Issued is the sum of what is in the accounts of projects, in budgets, in escrow and in the bank. Velocity
    is the part of all credits that was charged per period, on average of a window, by default the last day.
    The price index is 100 while prices are those of the base window; at 200 a credit buys half as much.

    Example::

        openstack market economy show
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_window(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(
            SHOW, self.market.economy(since=parsed_args.since, until=parsed_args.until)
        )


class EconomyHistory(MarketLister):
    """List money supply, charges and price index of past rounds, newest first

    Example, all of yesterday::

        openstack market economy history --since yesterday --until today
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_window(parser)
        add_limit(parser, 'lines')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = {'since': parsed_args.since, 'until': parsed_args.until}
        return self.listed(PAST, self.market.economy_history(max_items=parsed_args.limit, **query))


class ListPower(MarketLister):
    """Show what the means of a project buy at the prices of the last round

    Spend is what the project can spend per period for ever. Cores is what that buys of CPU alone, part what
    it buys of everything that is on sale, and real the same spend in credits of the base window of the price
    index.

    Example::

        openstack market economy power list --all-projects --sort-column Part
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(POWER, self.market.purchasing_power(**of_projects(self, parsed_args)))


class PowerHistory(MarketLister):
    """List what the means of a project bought in past rounds, newest first

    Example, the last ten minutes before noon::

        openstack market economy power history --since 2026-11-21T11:50 --until 2026-11-21T12:00
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        add_window(parser)
        add_limit(parser, 'lines')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        query |= {'since': parsed_args.since, 'until': parsed_args.until}
        found = self.market.purchasing_power_history(max_items=parsed_args.limit, **query)
        return self.listed(PAST_POWER, found)
