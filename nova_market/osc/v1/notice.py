# SPDX-License-Identifier: Apache-2.0
"""`openstack market notice`: events by mail and to a webhook (rule N2 of notices)."""

import argparse
from typing import Any

from openstack.exceptions import NotFoundException
from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Column, Lines, add_limit, count_argument
from nova_market.osc.v1.job_columns import Duration
from nova_market.osc.v1.lookup import project_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne
from nova_market.osc.v1.time_argument import DURATION, duration_argument

LISTED: tuple[Column, ...] = (
    ('User', 'user_id', None),
    ('Project', 'project_id', None),
    ('Events', 'events', Lines),
    ('Mail', 'mail', None),
    ('Confirmed', 'confirmed', None),
    ('Webhook', 'webhook', None),
    ('Stopped', 'stopped', None),
)
SHOWN: tuple[Column, ...] = (
    *LISTED,
    ('Mine', 'mine', None),
    ('All Projects', 'all_projects', None),
    ('Digest', 'digest', Duration),
    ('At Most', 'at_most', None),
    ('Changed At', 'changed_at', None),
)
SECRET: tuple[Column, ...] = (('Secret', 'secret', None),)
KEPT = ('events', 'mail', 'webhook', 'mine', 'all_projects', 'digest', 'at_most')


class SetNotice(MarketShowOne):
    """Ask for events by mail or to a webhook

    These are events of your current project. What is not given stays as it was. A new address gets a mail
    with a code, and nothing else until you have confirmed it. A new webhook gets a secret that each request
    is signed with; it is shown once.

    Examples, mail about what ends badly, everything about leases once an hour, and all to a webhook::

        openstack market notice set --mail ann@example.org --events job.failed,lease.failed
        openstack market notice set --events 'lease.*' --digest 1h --at-most 5
        openstack market notice set --webhook https://hooks.example.org/market
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        mail = parser.add_mutually_exclusive_group()
        mail.add_argument('--mail', metavar='<address>', help='Send mail to this address')
        mail.add_argument('--no-mail', action='store_true', help='Send no mail')
        hook = parser.add_mutually_exclusive_group()
        hook.add_argument('--webhook', metavar='<URL>', help='Post to this URL of https')
        hook.add_argument('--no-webhook', action='store_true', help='Post nothing')
        parser.add_argument(
            '--events', metavar='<pattern>[,<pattern>...]',
            help="Names or patterns, such as 'lease.*,job.failed'; default at first: '*'",
        )  # fmt: skip
        parser.add_argument(
            '--digest', metavar=DURATION, type=_digest,
            help='Send what happens within this time as one message, 0: send each event at once',
        )  # fmt: skip
        parser.add_argument(
            '--at-most', metavar='<n>', type=count_argument,
            help='Messages an hour; the last one has all the rest. Default at first: 20',
        )  # fmt: skip
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            '--mine', action='store_true', help='Only events of your own jobs and leases'
        )
        whose.add_argument(
            '--whole-project', action='store_true', help='Events of the whole project (default)'
        )
        whose.add_argument(
            '--all-projects', action='store_true',
            help='Events of all projects, and those of the cloud, such as plans that wait (admin only)',
        )  # fmt: skip
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = {'events': ['*'], **self._standing(), **_changes(parsed_args)}
        if not wanted.get('mail') and not wanted.get('webhook'):
            raise exceptions.CommandError(
                'nowhere to send to: give --mail or --webhook; "notice unset" ends all notices'
            )
        stored = self.market.set_notice(**wanted)
        return self.shown((*SHOWN, *SECRET) if stored.secret else SHOWN, stored)

    def _standing(self) -> dict[str, Any]:
        try:
            found = self.market.get_notice()
        except NotFoundException:
            return {}
        return {name: getattr(found, name) for name in KEPT}


class ConfirmNotice(MarketShowOne):
    """Confirm your address by the code that was sent there

    Example::

        openstack market notice confirm 4fJx0gQkWmZ1
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('code', metavar='<code>', help='Code from the mail')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOWN, self.market.confirm_notice(parsed_args.code))


class ListNotice(MarketLister):
    """List notices: your own, and those of all users for who manages the project

    Example::

        openstack market notice list
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        add_limit(parser, 'users')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        return self.listed(LISTED, self.market.notices(max_items=parsed_args.limit, **query))


class ShowNotice(MarketShowOne):
    """Show which events you get, and where

    Example::

        openstack market notice show
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_whose(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOWN, self.market.get_notice(**_whose(self, parsed_args)))


class UnsetNotice(MarketCommand):
    """End your notices; what waits is not sent

    Example::

        openstack market notice unset
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_whose(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.market.unset_notice(**_whose(self, parsed_args))


def _add_whose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--user', metavar='<user-id>', help='Those of another user, for who manages the project'
    )
    parser.add_argument('--project', metavar='<project>', help='Of this project (name or id)')


def _whose(command: MarketCommand, parsed_args: argparse.Namespace) -> dict[str, str]:
    found = {}
    if parsed_args.user:
        found['user_id'] = parsed_args.user
    if parsed_args.project:
        found['project_id'] = project_id_of(command.conn, parsed_args.project)
    return found


def _digest(text: str) -> int:
    return 0 if text == '0' else duration_argument(text)


def _changes(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """What is given of the command."""
    given = vars(parsed_args)
    names = ('mail', 'webhook', 'digest', 'at_most')
    found = {name: given[name] for name in names if given[name] is not None}
    found |= {name: '' for name in ('mail', 'webhook') if given[f'no_{name}']}
    if parsed_args.events is not None:
        found['events'] = [one.strip() for one in parsed_args.events.split(',')]
    if parsed_args.mine or parsed_args.whole_project or parsed_args.all_projects:
        found |= {'mine': parsed_args.mine, 'all_projects': parsed_args.all_projects}
    return found
