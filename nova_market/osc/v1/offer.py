# SPDX-License-Identifier: Apache-2.0
"""`openstack market offer`: offers are listed, shown, accepted, held, released."""

import argparse
import uuid
from collections.abc import Sequence
from typing import Any

from openstack.exceptions import HttpException
from osc_lib import exceptions

from nova_market.core.ledger.money import credit_text
from nova_market.errors import BadScript
from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Amount, Column, Credits, Names, add_limit
from nova_market.osc.v1.job_argument import variable_argument
from nova_market.osc.v1.job_columns import Duration, Given
from nova_market.osc.v1.job_create import script_of
from nova_market.osc.v1.job_wait import warn
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne, refusal
from nova_market.osc.v1.time_argument import DURATION, duration_argument

STATES = ('open', 'held', 'accepted', 'closed', 'released', 'expired')
MADE: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Cost', 'cost', Credits),
    ('Start', 'start', None),
    ('Finish', 'finish', None),
    ('How', 'how', None),
    ('Flavor', 'flavor', Given),
    ('Places', 'count', Given),
    ('State', 'state', None),
    ('Region', 'region', Given),
)
OFFERS: tuple[Column, ...] = (
    *MADE,
    ('Queue', 'queue', Given),
    ('Job', 'job_id', Given),
    ('Lease', 'lease_id', Given),
)
OFFER: tuple[Column, ...] = (
    *OFFERS[:-1],
    ('Servers', 'servers', None),
    ('Time Limit', 'time_limit', Duration),
    ('Seconds', 'seconds', Duration),
    ('Utility', 'utility', None),
    ('Deadline', 'deadline', Given),
    ('Valid Until', 'valid_until', None),
    ('Fees', 'fees', Credits),
    ('Accepted', 'accepted_at', Given),
    ('Refunded', 'refunded', Credits),
    ('Request', 'request_id', None),
)
LEASES_MADE: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Cost', 'cost', Credits),
    ('Market Cost', 'market_cost', Credits),
    ('Start', 'start', None),
    ('Finish', 'finish', None),
    ('Nodes', 'nodes', None),
    ('Cores', 'cores', Amount),
    ('Change', 'change', Given),
    ('State', 'state', None),
)
LEASE_OFFER: tuple[Column, ...] = (
    *LEASES_MADE,
    ('Kind', 'kind', None),
    ('Lease', 'lease_id', Given),
    ('Servers', 'servers', Given),
    ('Flavor', 'flavor', Given),
    ('Whole', 'whole', None),
    ('Memory MiB', 'memory_mib', Amount),
    ('Disk GiB', 'disk_gib', Amount),
    ('Hosts', 'hosts', Names),
    ('Utility', 'utility', None),
    ('Valid Until', 'valid_until', None),
    ('Accepted', 'accepted_at', Given),
    ('Region', 'region', Given),
    ('Request', 'request_id', None),
)


def columns_of(offer: Any) -> tuple[Column, ...]:
    """All that there is of an offer."""
    return OFFER if offer.kind in (None, 'job') else LEASE_OFFER


def add_script(parser: argparse.ArgumentParser) -> None:
    """What the job runs."""
    parser.add_argument(
        'script', metavar='<script>', nargs='?', help='File with the script; - for standard input'
    )
    parser.add_argument(
        '--wrap', metavar='<command>', help='Command for /bin/sh, in place of a script'
    )
    parser.add_argument(
        '--name',
        metavar='<name>',
        help='Name of the job; default: the name of the script, or "wrap"',
    )
    parser.add_argument(
        '--env',
        metavar='<name>[=<value>]',
        type=variable_argument,
        action='append',
        help='Environment variable of the script (repeat for several); without a value, the one that '
        'it has here',
    )


def has_script(parsed_args: argparse.Namespace) -> bool:
    """Whether anything of a job was given."""
    return any(getattr(parsed_args, name) for name in ('script', 'wrap', 'env', 'name'))


def job_of(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """The job as it is sent.

    :raises CommandError: there is no script, or it is none.
    """
    try:
        name, script = script_of(parsed_args)
    except BadScript as error:
        raise exceptions.CommandError(f'{parsed_args.script or "--wrap"}: {error}') from None
    body = {'name': parsed_args.name or name, 'script': script}
    return body | ({'environment': dict(parsed_args.env)} if parsed_args.env else {})


def add_region(parser: argparse.ArgumentParser) -> None:
    """Where an offer was made."""
    parser.add_argument(
        '--region', metavar='<region>', help='Region that made the offer; default: the one you use'
    )


class ListOffer(MarketLister):
    """List the offers that your project was made, newest first

    Examples::

        openstack market offer list
        openstack market offer list --state accepted --queue render
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        parser.add_argument('--queue', metavar='<queue>', help='Show those for this queue')
        parser.add_argument(
            '--kind',
            choices=('job', 'lease', 'server'),
            help='Show those for jobs, leases or servers',
        )
        parser.add_argument(
            '--state', choices=STATES, help=f'Show those in this state: {", ".join(STATES)}'
        )
        add_limit(parser, 'offers')
        add_region(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        for name in ('queue', 'state', 'kind'):
            if (value := getattr(parsed_args, name)) is not None:
                query[name] = value
        offers = self.market.in_region(parsed_args.region).offers(
            max_items=parsed_args.limit, **query
        )
        return self.listed(OFFERS, offers)


class OfOffer(MarketShowOne):
    """A command about one offer."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('offer', metavar='<offer>', help='Id of an offer')
        add_region(parser)
        return parser


class ShowOffer(OfOffer):
    """Show an offer

    Example::

        openstack market offer show 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        offer = self.market.in_region(parsed_args.region).get_offer(parsed_args.offer)
        return self.shown(columns_of(offer), offer)


class AcceptOffer(OfOffer):
    """Submit a job for an offer, or book its lease

    The offer is computed again. If it can be had for no more and no later, the job is submitted or the lease
    booked, and the better of both terms counts; otherwise nothing is charged, and the offers that there are
    instead are shown. A lease needs no script.

    Examples, of a job and of a lease::

        openstack market offer accept 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a frame.sh
        openstack market offer accept 0f6a3d3c-93c4-4a2f-8a55-6a3f3f0d6c1e
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_script(parser)
        parser.add_argument(
            '--key',
            metavar='<key>',
            help='Idempotency key: sent twice with one key, it is accepted once. Default: a new key',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        job = job_of(parsed_args) if has_script(parsed_args) else {}
        key = parsed_args.key or str(uuid.uuid4())
        market = self.market.in_region(parsed_args.region)
        offer = accepted_offer(market, parsed_args.offer, job, key)
        return self.shown(columns_of(offer), offer)


class HoldOffer(OfOffer):
    """Keep the room of an offer from other offers for a while, for a fee that is paid at once

    Jobs that are submitted without an offer do not wait for it.

    Example::

        openstack market offer hold 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a --for 5m
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--for', dest='seconds', metavar=DURATION, type=duration_argument, default=300,
            help='How long, default 5m',
        )  # fmt: skip
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        market = self.market.in_region(parsed_args.region)
        return self.shown(OFFER, market.hold_offer(parsed_args.offer, parsed_args.seconds))


class ReleaseOffer(OfOffer):
    """Give up an offer that is open or held

    Example::

        openstack market offer release 7d1c6b0a-5f0e-4b5e-9d1a-1f2e3d4c5b6a
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        offer = self.market.in_region(parsed_args.region).release_offer(parsed_args.offer)
        return self.shown(columns_of(offer), offer)


def accepted_offer(market: Any, offer_id: str, job: dict[str, Any], key: str) -> Any:
    """The offer as it was accepted.

    :raises CommandError: it was not; what there is instead is written to standard error.
    """
    try:
        return market.accept_offer(offer_id, key=key, **job)
    except HttpException as error:
        for line in _alternatives(error):
            warn(line)
        raise exceptions.CommandError(refusal(error)) from error


def _alternatives(error: HttpException) -> Sequence[str]:
    try:
        found = error.response.json()['errors'][0].get('alternatives', ())  # type: ignore[union-attr]
        return [
            f'instead: {one["id"]} costs {credit_text(one["cost"])}, {_where(one)}' for one in found
        ]
    except (AttributeError, ValueError, LookupError, TypeError):
        return ()


def _where(offer: dict[str, Any]) -> str:
    if 'nodes' in offer:
        return f'from {offer["start"]} to {offer["finish"]}, on {offer["nodes"]} hosts'
    return f'is done at {offer["finish"]}, on {offer["flavor"]}'
