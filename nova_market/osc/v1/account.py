# SPDX-License-Identifier: Apache-2.0
"""`openstack market account`: balances, grants, revocations and transfers."""

import argparse
import sys
from typing import Any

from osc_lib import exceptions

from nova_market.core.ledger.money import credit_text
from nova_market.osc.v1.columns import Column, Credits, payment_argument
from nova_market.osc.v1.job_argument import NumberArgument
from nova_market.osc.v1.lookup import account_id, own_or_known_account, project_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne
from nova_market.sdk.v1.account import Movement

LIST: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Kind', 'kind', None),
    ('Name', 'name', None),
    ('Project', 'project_id', None),
    ('Balance', 'balance', Credits),
    ('Weight', 'weight', None),
)
SHOW: tuple[Column, ...] = (
    *LIST,
    ('Claimed', 'claimed', Credits),
    ('Renew Amount', 'renew_amount', Credits),
    ('Renew Every', 'renew_every', None),
    ('Closed', 'closed', None),
)

ACCOUNT_HELP = (
    'Id of an account (project:<id>, budget:<id>, bank, escrow, mint), '
    'or the name of a budget or of a project'
)


MAX_WEIGHT = 1_000_000
"""The API's own limit of an account's weight."""


def add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'account', metavar='<account>', nargs='?', help=f'{ACCOUNT_HELP}; default: your project'
    )


def add_projects(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        '--project', metavar='<project>', help='Show those of this project (name or id)'
    )
    group.add_argument(
        '--all-projects', action='store_true', help='Show those of all projects (admin only)'
    )


def add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--key',
        metavar='<key>',
        help='Idempotency key: sent twice with one key, the credits move once. Default: a new key',
    )


def of_projects(command: MarketCommand, parsed_args: argparse.Namespace) -> dict[str, Any]:
    """The query that --project and --all-projects stand for."""
    if parsed_args.all_projects:
        return {'all_projects': 'true'}
    if parsed_args.project:
        return {'project_id': project_id_of(command.conn, parsed_args.project)}
    return {}


class ListAccount(MarketLister):
    """List accounts

    Example::

        openstack market account list --all-projects --sort-column Balance
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(LIST, self.market.accounts(**of_projects(self, parsed_args)))


class ShowAccount(MarketShowOne):
    """Show an account

    Examples::

        openstack market account show
        openstack market account show -f value -c balance
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_account(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = own_or_known_account(self.conn, parsed_args.account)
        return self.shown(SHOW, self.market.get_account(wanted))


class SetAccount(MarketShowOne):
    """Change the name or the weight of an account

    Credits that the operator distributes are divided among projects by weight (admin only).

    Example::

        openstack market account set --weight 2 astronomy
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('account', metavar='<account>', help=ACCOUNT_HELP)
        parser.add_argument('--name', metavar='<name>', help='New name')
        parser.add_argument(
            '--weight',
            metavar='<weight>',
            type=NumberArgument(0, 'a number', MAX_WEIGHT),
            help=f'New weight, 0 to {MAX_WEIGHT}',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        given = {'name': parsed_args.name, 'weight': parsed_args.weight}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise exceptions.CommandError('nothing to change: give --name or --weight')
        wanted = own_or_known_account(self.conn, parsed_args.account)
        return self.shown(SHOW, self.market.update_account(wanted, **changes))


class _OfAmount(MarketShowOne):
    """A command of the administrator on an account and an amount."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('account', metavar='<account>', help=ACCOUNT_HELP)
        parser.add_argument(
            'amount', metavar='<credits>', type=payment_argument, help='Credits, more than 0'
        )
        add_key(parser)
        return parser


class GrantAccount(_OfAmount):
    """Issue credits to an account (admin only)

    The credits are new: they come from the account mint. Shows the account afterwards.

    Example::

        openstack market account grant --key 2026-q4-astronomy astronomy 5000
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = own_or_known_account(self.conn, parsed_args.account)
        _report(self.market.grant(wanted, parsed_args.amount, key=parsed_args.key), parsed_args.key)
        return self.shown(SHOW, self.market.get_account(wanted))


class RevokeAccount(_OfAmount):
    """Take credits back from an account (admin only)

    At most its balance. Shows the account afterwards.

    Example::

        openstack market account revoke astronomy 500
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = own_or_known_account(self.conn, parsed_args.account)
        _report(
            self.market.revoke(wanted, parsed_args.amount, key=parsed_args.key), parsed_args.key
        )
        return self.shown(SHOW, self.market.get_account(wanted))


class TransferAccount(MarketShowOne):
    """Move credits to another account

    Shows the paying account afterwards. A transfer to another project needs the role manager,
    unless the operator has changed that.

    Examples, to a budget of your project and to another project::

        openstack market account transfer nightly-build 20
        openstack market account transfer --from nightly-build project:5b3c... 2.5
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('target', metavar='<account>', help=ACCOUNT_HELP)
        parser.add_argument(
            'amount', metavar='<credits>', type=payment_argument, help='Credits, more than 0'
        )
        parser.add_argument(
            '--from',
            dest='source',
            metavar='<account>',
            help='Account that pays; default: your project',
        )
        add_key(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        source = own_or_known_account(self.conn, parsed_args.source)
        target = account_id(self.conn, parsed_args.target)
        moved = self.market.transfer(source, target, parsed_args.amount, key=parsed_args.key)
        _report(moved, parsed_args.key)
        return self.shown(SHOW, self.market.get_account(source))


def _report(moved: Movement, key: str | None) -> None:
    """On stderr, where a key was used before: the table of the account does not show it."""
    if moved.repeated:
        sys.stderr.write(
            f'{key} was used before for the same {credit_text(moved.amount)} credits from {moved.debit} '
            f'to {moved.credit}: nothing was moved now\n'
        )
