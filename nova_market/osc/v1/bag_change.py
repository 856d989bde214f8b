# SPDX-License-Identifier: Apache-2.0
"""`openstack market bag set` and `cancel`."""

import argparse
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.bag import BAG, add_bag, bag_id_of
from nova_market.osc.v1.columns import credit_argument
from nova_market.osc.v1.job_argument import NumberArgument
from nova_market.osc.v1.market_command import MarketShowOne
from nova_market.osc.v1.time_argument import DURATION, FUTURE, duration_argument, future_argument

GIVEN = ('name', 'utility', 'weight', 'order', 'poll', 'budget', 'deadline', 'within')


class SetBag(MarketShowOne):
    """Change how a bag of tasks negotiates, while it does

    All tasks that wait are tried again by what is set. A deadline is that of all tasks that wait.

    Examples::

        openstack market bag set --budget 200 --utility fastest film
        openstack market bag set --deadline 2026-11-24T18:00:00Z film
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_bag(parser)
        parser.add_argument('--name', metavar='<name>', help='Name of the bag')
        _add_strategy(parser)
        budget = parser.add_mutually_exclusive_group()
        budget.add_argument(
            '--budget',
            metavar='<credits>',
            type=credit_argument,
            help='Most that all tasks may cost together',
        )
        budget.add_argument('--no-budget', action='store_true', help='Spend what the project has')
        deadline = parser.add_mutually_exclusive_group()
        deadline.add_argument(
            '--deadline',
            metavar='<time>',
            type=future_argument,
            help=f'Time by which all waiting tasks are to be done, {FUTURE}',
        )
        deadline.add_argument(
            '--within', metavar=DURATION, type=duration_argument, help='The same from now on'
        )
        deadline.add_argument(
            '--no-deadline', action='store_true', help='Waiting tasks have no deadline'
        )
        for name, text in (
            ('retry', 'A task without a suitable offer waits; otherwise it has failed'),
            ('alternatives', 'Other suitable offers are tried when the best one is gone'),
        ):
            parser.add_argument(
                f'--{name}', action=argparse.BooleanOptionalAction, default=None, help=text
            )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        given = vars(parsed_args)
        changed = {name: given[name] for name in GIVEN if given[name] is not None}
        if parsed_args.no_budget:
            changed['budget'] = None
        if parsed_args.no_deadline:
            changed['deadline'] = None
        for name in ('retry', 'alternatives'):
            if given[name] is not None:
                changed[name] = given[name]
        if not changed:
            raise exceptions.CommandError('nothing is to be changed: give at least one option')
        bag_id = bag_id_of(self.conn, parsed_args.bag)
        return self.shown(BAG, self.market.update_bag(bag_id, **changed))


class CancelBag(MarketShowOne):
    """Cancel a bag of tasks: what waits is dropped, and nothing is negotiated any more

    Its jobs go on, unless --jobs is given.

    Example::

        openstack market bag cancel --jobs film
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_bag(parser)
        parser.add_argument('--jobs', action='store_true', help='Cancel its jobs too')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        bag_id = bag_id_of(self.conn, parsed_args.bag)
        return self.shown(BAG, self.market.cancel_bag(bag_id, jobs=parsed_args.jobs))


def _add_strategy(parser: argparse.ArgumentParser) -> None:
    """What is tried first, and which offer is taken."""
    parser.add_argument(
        '--order',
        choices=('risk', 'importance'),
        help='Which waiting task is tried first: the one of the greatest risk, which is its size by '
        'the time to its deadline, times its importance; or the most important one',
    )
    parser.add_argument(
        '--utility',
        metavar='<utility>',
        help='Which offer is best: cost_time, fastest, cheapest, weighted, or a plug-in',
    )
    parser.add_argument(
        '--weight',
        metavar='<0-1>',
        type=NumberArgument(0, 'a weight'),
        help='Weight of time against cost, for --utility weighted',
    )
    parser.add_argument(
        '--poll',
        metavar=DURATION,
        type=duration_argument,
        help='Time between two tries where no task ends',
    )
