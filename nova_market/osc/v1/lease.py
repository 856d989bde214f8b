# SPDX-License-Identifier: Apache-2.0
"""`openstack market lease`: hosts and parts of hosts, booked in advance."""

import argparse
import uuid
from collections.abc import Sequence
from typing import Any

from openstack.exceptions import HttpException
from osc_lib import exceptions

from nova_market.core.ledger.money import credit_text
from nova_market.osc.v1.account import add_key, add_projects, of_projects
from nova_market.osc.v1.columns import add_limit
from nova_market.osc.v1.job_argument import NumberArgument, memory_argument
from nova_market.osc.v1.job_wait import warn
from nova_market.osc.v1.lease_columns import EVENTS, LEASE, LEASES
from nova_market.osc.v1.lease_option import AS_TYPED, add_place, add_time, lease_body
from nova_market.osc.v1.lookup import known_project_id, lease_id_of
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne, refusal
from nova_market.osc.v1.time_argument import PAST, past_argument

STATES = ('planned', 'starting', 'active', 'ending', 'ended', 'failed')
SIZES = {'cores': 'cores', 'memory': 'memory_mib', 'disk': 'disk_gib'}


class CreateLease(MarketShowOne):
    """Book a lease

    It starts at --start, or at any time in the window that allows its duration. What it costs is held from
    your project's credits. What cannot be had is refused with the requirement that fails, and with what could
    be had instead; nothing is booked then.

    Examples, two hosts by name, twenty cores on each of four hosts some time before Friday, and any whole
    host for an hour from now on::

        openstack market lease create --host rack1-1 --host rack1-2 --whole --for 8h \\
            --start 2026-11-23T09:00:00Z
        openstack market lease create --nodes 4 --cores 20 --memory 64G --for 6h \\
            --window 2026-11-23T00:00:00Z 2026-11-27T18:00:00Z --flexible
        openstack market lease create --whole --for 1h
    """

    OPTIONS = AS_TYPED

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--name', metavar='<name>', help='Name of the lease')
        add_place(parser)
        parser.add_argument(
            '--cores', metavar='<n>', type=NumberArgument(0, 'an amount'), help='Cores of each node'
        )
        parser.add_argument(
            '--memory', metavar='<size>', type=memory_argument,
            help='Memory of each node, such as 512M or 64G',
        )  # fmt: skip
        parser.add_argument(
            '--disk', metavar='<GiB>', type=NumberArgument(0, 'an amount'),
            help='Disk of each node in GiB',
        )  # fmt: skip
        add_time(parser, required=True)
        add_key(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        given = vars(parsed_args)
        request = lease_body(given)
        request |= {sent: given[name] for name, sent in SIZES.items() if given[name] is not None}
        key = parsed_args.key or str(uuid.uuid4())
        try:
            return self.shown(LEASE, self.market.create_lease(key=key, **request))
        except HttpException as error:
            for line in _refusal_lines(error):
                warn(line)
            raise exceptions.CommandError(refusal(error, self.OPTIONS)) from error


class ListLease(MarketLister):
    """List leases, newest first

    Examples::

        openstack market lease list
        openstack market lease list --all-projects --host rack1-1 --state active
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        parser.add_argument(
            '--state', choices=STATES, help=f'Show those in this state: {", ".join(STATES)}'
        )
        parser.add_argument('--host', metavar='<host>', help='Show those with a node on this host')
        parser.add_argument(
            '--since',
            metavar='<time>',
            type=past_argument,
            help=f'Show those that end after this time, {PAST}',
        )
        parser.add_argument(
            '--until',
            metavar='<time>',
            type=past_argument,
            help='Show those that begin before this time, such as +1d (from now) or tomorrow',
        )
        add_limit(parser, 'leases')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        for name in ('state', 'host', 'since', 'until'):
            if (value := getattr(parsed_args, name)) is not None:
                query[name] = value
        return self.listed(LEASES, self.market.leases(max_items=parsed_args.limit, **query))


class OfLease(MarketShowOne):
    """A command about one lease."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('lease', metavar='<lease>', help='Name or id of a lease')
        return parser


class ShowLease(OfLease):
    """Show a lease

    Example::

        openstack market lease show 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(LEASE, self.market.get_lease(lease_id_of(self.conn, parsed_args.lease)))


class SetLease(OfLease):
    """Change the name or the purpose of a lease, and whether it may be moved

    Example::

        openstack market lease set --flexible 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--name', metavar='<name>', help='New name')
        parser.add_argument('--purpose', metavar='<text>', help='What it is for')
        group = parser.add_mutually_exclusive_group()
        group.add_argument('--flexible', action='store_true', default=None, help='It may be moved')
        group.add_argument(
            '--fixed', dest='flexible', action='store_false', default=None, help='It may not'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        changed = {
            name: value
            for name in ('name', 'purpose', 'flexible')
            if (value := getattr(parsed_args, name)) is not None
        }
        if not changed:
            raise exceptions.CommandError(
                'nothing to change: give --name, --purpose, --flexible or --fixed'
            )
        return self.shown(
            LEASE, self.market.update_lease(lease_id_of(self.conn, parsed_args.lease), **changed)
        )


class DeleteLease(OfLease):
    """Give up a lease

    A part of what is not used comes back to the project that has booked it. The operator sets how much, and
    until when all of it does.

    Example::

        openstack market lease delete 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(
            LEASE, self.market.delete_lease(lease_id_of(self.conn, parsed_args.lease))
        )


class GiveLease(OfLease):
    """Give a lease to another project

    The project that has booked it goes on paying, and gets what comes back.

    Example::

        openstack market lease give 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a physics
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('project', metavar='<project>', help='Project (name or id)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        project = known_project_id(self.conn, parsed_args.project)
        return self.shown(
            LEASE, self.market.give_lease(lease_id_of(self.conn, parsed_args.lease), project)
        )


class ListLeaseEvent(MarketLister):
    """Show what happened to a lease and why, newest first

    Example::

        openstack market lease events 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('lease', metavar='<lease>', help='Name or id of a lease')
        add_limit(parser, 'events', 50)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(
            EVENTS,
            self.market.lease_events(
                lease_id_of(self.conn, parsed_args.lease), max_items=parsed_args.limit
            ),
        )


def _refusal_lines(error: HttpException) -> Sequence[str]:
    """What fails, and what could be had instead."""
    try:
        found = error.response.json()['errors'][0]  # type: ignore[union-attr]
        return [
            *(
                f'from {one["start"]} to {one["end"]}: {one["sentence"]}'
                for one in found.get('faults', ())
            ),
            *(
                f'instead ({one["change"].replace("_", " ")}): {", ".join(one["hosts"])} from '
                f'{one["start"]} to {one["end"]}, for {credit_text(one["cost"])} credits'
                for one in found.get('options', ())
            ),
        ]
    except (AttributeError, ValueError, LookupError, TypeError):
        return ()
