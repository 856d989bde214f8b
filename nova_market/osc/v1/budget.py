# SPDX-License-Identifier: Apache-2.0
"""`openstack market budget`: what a project sets aside for its applications (rule M4)."""

import argparse
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Column, Credits, credit_argument
from nova_market.osc.v1.lookup import budget_id
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne
from nova_market.osc.v1.period_argument import EXAMPLES, PERIODS, periods, periods_argument

COLUMNS: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Project', 'project_id', None),
    ('Balance', 'balance', Credits),
    ('Renew Amount', 'renew_amount', Credits),
    ('Renew Every', 'renew_every', None),
)


def add_renewal(parser: argparse.ArgumentParser) -> Any:
    """--renew-amount and --renew-every; the group that the first one is in."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        '--renew-amount',
        metavar='<credits>',
        type=credit_argument,
        help='Fill the budget up to this amount from the project, repeatedly',
    )
    parser.add_argument(
        '--renew-every',
        metavar=PERIODS,
        type=periods_argument,
        help=f'From one filling to the next: {EXAMPLES}; default: 1 period',
    )
    return group


def renew_every(market: Any, parsed_args: argparse.Namespace) -> int | None:
    """In periods of the cloud; None: it is not given."""
    given = parsed_args.renew_every
    return None if given is None else periods(market, given)


def renewal(market: Any, parsed_args: argparse.Namespace) -> dict[str, Any]:
    given = {
        'name': parsed_args.name,
        'renew_amount': parsed_args.renew_amount,
        'renew_every': renew_every(market, parsed_args),
    }
    return {name: value for name, value in given.items() if value is not None}


class CreateBudget(MarketShowOne):
    """Open a budget of your project

    It is empty at first. It is filled by "market account transfer", or automatically with --renew-amount.

    Example, filled up to 20 credits every day::

        openstack market budget create --renew-amount 20 --renew-every 1d nightly-build
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>', help='Name of the budget')
        add_renewal(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(COLUMNS, self.market.create_budget(**renewal(self.market, parsed_args)))


class ListBudget(MarketLister):
    """List budgets

    Example::

        openstack market budget list
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(COLUMNS, self.market.budgets(**of_projects(self, parsed_args)))


class SetBudget(MarketShowOne):
    """Change the name or the renewal of a budget

    Example::

        openstack market budget set --renew-amount 40 nightly-build
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('budget', metavar='<budget>', help='Name or id of a budget')
        parser.add_argument('--name', metavar='<name>', help='New name')
        group = add_renewal(parser)
        group.add_argument(
            '--no-renew', action='store_true', help='Do not fill it automatically any more'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        changes = renewal(self.market, parsed_args)
        if parsed_args.no_renew:
            changes['renew_amount'] = None
        if not changes:
            raise exceptions.CommandError(
                'nothing to change: give --name, --renew-amount, --no-renew or --renew-every'
            )
        wanted = budget_id(self.conn, parsed_args.budget)
        return self.shown(COLUMNS, self.market.update_budget(wanted, **changes))


class DeleteBudget(MarketCommand):
    """Close empty budgets

    Transfer what is left first.

    Example::

        openstack market account transfer --from nightly-build project:5b3c... 2.5
        openstack market budget delete nightly-build
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('budget', metavar='<budget>', nargs='+', help='Name or id of a budget')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        for text in parsed_args.budget:
            self.market.delete_budget(budget_id(self.conn, text), ignore_missing=False)
