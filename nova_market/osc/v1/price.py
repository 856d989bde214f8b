# SPDX-License-Identifier: Apache-2.0
"""`openstack market price`: what a core and a MiB cost now and before, and what a flavor would."""

import argparse
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from nova_market.osc.v1.columns import (
    Amount,
    Column,
    Credits,
    Named,
    PerPeriod,
    Price,
    add_limit,
    count_argument,
)
from nova_market.osc.v1.job_columns import Duration
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne
from nova_market.osc.v1.period_argument import EXAMPLES, PERIODS, periods, periods_argument
from nova_market.osc.v1.time_argument import PAST, past_argument

RESOURCES = ('cpu', 'memory')

COLUMNS: tuple[Column, ...] = (
    ('Resource', 'resource', None),
    ('Period', 'period', None),
    ('Period Length', 'period_length', Duration),
    ('At', 'at', None),
    ('Price', 'price', Price),
    ('Bid Price', 'bid_price', Price),
    ('Capacity', 'capacity', Amount),
    ('Allocated', 'allocated', Amount),
    ('Bids', 'bids', Credits),
)
QUOTE: tuple[Column, ...] = (
    ('Flavor', 'flavor', None),
    ('Cores', 'cpu', Amount),
    ('Memory MiB', 'memory_mib', Amount),
    ('Count', 'count', None),
    ('Periods', 'periods', None),
    ('Period Length', 'period_length', Duration),
    ('Lasts', 'lasts', Duration),
    ('Present', 'present', PerPeriod),
    ('Present At', 'present_at', None),
    ('Seen Periods', 'seen_periods', None),
    ('First At', 'first_at', None),
    ('Last At', 'last_at', None),
    ('Least', 'least', PerPeriod),
    ('Low', 'low', PerPeriod),
    ('Median', 'median', PerPeriod),
    ('High', 'high', PerPeriod),
    ('Greatest', 'greatest', PerPeriod),
    ('Total', 'total', Credits),
)


def add_resource(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--resource', choices=RESOURCES, help='Show only the price of this resource'
    )


def add_window(parser: argparse.ArgumentParser, default: str = 'a day before --until') -> None:
    """default: of the API for what is asked."""
    parser.add_argument(
        '--since',
        metavar='<time>',
        type=past_argument,
        help=f'Not before this time, {PAST}; default: {default}',
    )
    parser.add_argument(
        '--until',
        metavar='<time>',
        type=past_argument,
        help=f'Not after this time, {PAST}; default: now',
    )


class ShowPrice(MarketLister):
    """Show the prices of the last round

    Prices are credits for one core, or one MiB, for one period, whose length is shown beside them. The bid
    price is the sum of all bids divided by the capacity of the cloud; it is above the price when a bid is for
    more than its server can use.

    Example::

        openstack market price show
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_resource(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(COLUMNS, self.market.prices(resource=parsed_args.resource))


class PriceHistory(MarketLister):
    """List the prices of past rounds, newest first

    Example, the memory price of the last hour::

        openstack market price history --resource memory --since 1h
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_resource(parser)
        add_window(parser)
        add_limit(parser, 'lines')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = {
            'resource': parsed_args.resource,
            'since': parsed_args.since,
            'until': parsed_args.until,
        }
        return self.listed(COLUMNS, self.market.price_history(max_items=parsed_args.limit, **query))


class QuotePrice(MarketShowOne):
    """Show what servers of a flavor would cost

    Present is what all these servers would pay for one period at the prices of the last round. Low, median
    and high are the 5, 50 and 95 % quantiles of what they would have paid in each of the seen periods, those
    from first to last in a window, by default the last day; least and greatest are the cheapest and the
    dearest of these periods. The total is the median times the number of periods, which last so long
    altogether. It is an indication: others may bid more tomorrow.

    Example, four servers for a day::

        openstack market price quote --flavor m1.small --count 4 --periods 1d
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--flavor', metavar='<flavor>', required=True, help='Name or id of a flavor'
        )
        parser.add_argument(
            '--count',
            metavar='<n>',
            type=count_argument,
            default=1,
            help='Number of servers, default 1',
        )
        parser.add_argument(
            '--periods',
            metavar=PERIODS,
            type=periods_argument,
            default=1,
            help=f'For how long: {EXAMPLES}; default: 1 period',
        )
        add_window(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        flavor = self.conn.compute.find_flavor(parsed_args.flavor, ignore_missing=False)
        # the market publishes no private flavors, so a caller who may see one sends its size
        private = {'cpu': flavor.vcpus, 'memory_mib': flavor.ram}
        quote = self.market.quote(
            **({'flavor': flavor.id} if flavor.is_public else private),
            count=parsed_args.count,
            periods=periods(self.market, parsed_args.periods),
            since=parsed_args.since,
            until=parsed_args.until,
        )
        return self.shown(_named(QUOTE, flavor.name), self._with_lengths(quote, flavor.id))

    def _with_lengths(self, quote: Any, flavor_id: str) -> SimpleNamespace:
        """A quote, also of a private flavor, with the length of a period and of all of its periods."""
        each = self.market.period_length()
        lasts = None if each is None else each * quote.periods
        seen = {**quote.to_dict(), 'flavor': flavor_id}
        return SimpleNamespace(**seen, period_length=each, lasts=lasts)


def _named(columns: Sequence[Column], flavor: str) -> list[Column]:
    """With the name of the flavor beside its id."""
    shown_as = partial(Named, lookup=lambda _: flavor)
    return [(one[0], one[1], shown_as if one[1] == 'flavor' else one[2]) for one in columns]
