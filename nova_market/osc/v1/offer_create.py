# SPDX-License-Identifier: Apache-2.0
"""`openstack market offer create`: what a job, a lease or servers would cost, and when."""

import argparse
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.job_argument import NumberArgument
from nova_market.osc.v1.job_option import RESOURCES, add_size
from nova_market.osc.v1.job_wait import warn
from nova_market.osc.v1.lease_option import add_place, add_time, lease_body
from nova_market.osc.v1.market_command import MarketLister
from nova_market.osc.v1.offer import LEASES_MADE, MADE, accepted_offer, add_script, job_of
from nova_market.osc.v1.time_argument import DURATION, FUTURE, duration_argument, future_argument

OF_LEASE = ('hosts', 'nodes', 'whole')
OF_TIME = ('purpose', 'utilisation', 'duration', 'start', 'window', 'flexible')
OF_JOB = ('time_limit', 'flavor', 'deadline', 'script', 'wrap', 'env')
OTHERS: Mapping[str, Sequence[str]] = {
    'job': (*OF_LEASE, *OF_TIME),
    'lease': (*OF_JOB, 'servers'),
    'server': (*OF_JOB, *OF_LEASE, *RESOURCES),
}
"""Options that are not for this kind."""

OPTION = {
    name: '--' + (sent or name.replace('_', '-'))
    for name, sent in {
        'hosts': 'host', 'duration': 'for', 'memory_mib': 'memory', 'disk_gib': 'disk', 'nodes': '',
        'whole': '', 'purpose': '', 'utilisation': '', 'start': '', 'window': '', 'flexible': '',
        'time_limit': '', 'flavor': '', 'deadline': '', 'wrap': '', 'env': '', 'servers': '', 'cores': '',
    }.items()
}  # fmt: skip


class CreateOffer(MarketLister):
    """Ask what a job, a lease or servers would cost, and when

    A job is asked for with --queue and --time-limit, a lease with --lease and the options of `lease create`,
    room for servers with --server and --for. The best offer is the first one: --utility chooses what is best.
    No offer is a booking: accept one in time, or hold one of a job. With --accept best, the job is submitted,
    or the lease booked, for the best one at once.

    Examples, a look at what there is, the cheapest way that is done by the evening, four hosts for a day of
    this week, and room for three servers::

        openstack market offer create --queue render --time-limit 2h --cores 4
        openstack market offer create --queue render --time-limit 2h --deadline 2026-11-22T18:00:00Z \\
            --utility cheapest --accept best frame.sh
        openstack market offer create --lease --nodes 4 --whole --for 1d \\
            --window 2026-11-23T00:00:00Z 2026-11-28T00:00:00Z
        openstack market offer create --server m1.large --servers 3 --for 8h --accept best
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument('--queue', metavar='<queue>', help='For a job in this queue (name or id)')
        what.add_argument('--lease', action='store_true', help='For a lease')
        what.add_argument(
            '--server', metavar='<flavor>', help='For room for servers of this public flavor'
        )
        parser.add_argument(
            '--time-limit',
            metavar=DURATION,
            type=duration_argument,
            help='Longest run of the job, such as 90s, 15m, 2h, 1d12h',
        )
        add_place(parser)
        add_time(parser, required=False)
        add_size(parser, {'default': argparse.SUPPRESS})
        parser.add_argument(
            '--deadline',
            metavar='<time>',
            type=future_argument,
            help=f'Show only offers that are done by this time, {FUTURE}',
        )
        parser.add_argument(
            '--utility',
            metavar='<utility>',
            help='What is best: cost_time (default), fastest, cheapest, weighted, or a plug-in',
        )
        parser.add_argument(
            '--weight',
            metavar='<0-1>',
            type=NumberArgument(0, 'a weight'),
            help='Weight of time against cost, for --utility weighted; default 0.5',
        )
        parser.add_argument(
            '--accept', choices=('best',), help='Accept the best offer: submit the script, or book'
        )
        add_script(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        request, job = _request(parsed_args)
        offers, why = self.market.create_offers(**request)
        for sentence in why:
            warn(f'no offer: {sentence}')
        if parsed_args.accept is not None:
            offers = [self._accepted(offers, job), *offers[1:]]
        return self.listed(MADE if parsed_args.queue else LEASES_MADE, offers)

    def _accepted(self, offers: Sequence[Any], job: dict[str, Any]) -> Any:
        """The best one, as it was accepted.

        :raises CommandError: there is none.
        """
        if not offers:
            raise exceptions.CommandError('there is no offer to accept; nothing was submitted')
        there = offers[0].region
        market = self.market.in_region(there)
        accepted = accepted_offer(market, offers[0].id, job, str(uuid.uuid4()))
        done = (
            f'job {accepted.job_id} is submitted' if job else f'lease {accepted.lease_id} is booked'
        )
        warn(done + (f' in region {there}' if there else ''))
        return accepted


def _request(parsed_args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the request as it is sent, the job that is submitted for the best offer; {}: none).

    :raises CommandError: an option is missing, or is of another kind.
    """
    given = vars(parsed_args)
    kind = 'job' if parsed_args.queue else 'lease' if parsed_args.lease else 'server'
    for name in OTHERS[kind]:
        if given.get(name) is not None:
            raise exceptions.CommandError(
                f'{OPTION.get(name, name)}: not for a {kind}: leave it out'
            )
    needed = 'time_limit' if kind == 'job' else 'duration'
    if given[needed] is None:
        raise exceptions.CommandError(f'{OPTION[needed]}: it is missing: a {kind} needs it')
    best = {name: given[name] for name in ('utility', 'weight') if given[name] is not None}
    if kind == 'job':
        return best | _job_request(given), _job(parsed_args)
    sizes = {name: given[name] for name in RESOURCES if name in given}
    body = lease_body(given) | sizes
    if kind == 'server':
        body['flavor'] = parsed_args.server
        if 'servers' in given:
            body['count'] = given['servers']
    return {'kind': kind, kind: body, **best}, {}


def _job_request(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ('queue', 'time_limit', 'flavor', 'servers', 'deadline')
    request = {name: given[name] for name in names if given.get(name) is not None}
    if sized := {name: given[name] for name in RESOURCES if name in given}:
        request['resources'] = {'cores': 1, **sized}
    return request


def _job(parsed_args: argparse.Namespace) -> dict[str, Any]:
    if parsed_args.accept is not None:
        return job_of(parsed_args)
    if parsed_args.script or parsed_args.wrap:
        raise exceptions.CommandError(
            'a script without --accept best: give both, or accept an offer afterwards'
        )
    return {}
