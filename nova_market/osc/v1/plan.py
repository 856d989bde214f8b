# SPDX-License-Identifier: Apache-2.0
"""`openstack market plan`: live migrations that even out what servers get (rule A3)."""

import argparse
from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.core.ledger.money import credit_text
from nova_market.osc.v1.columns import Column, Percent, add_limit
from nova_market.osc.v1.job_columns import Given
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne

STATES = ('proposed', 'approved', 'rejected', 'running', 'done', 'failed', 'superseded')

WIDTH = 100
"""Columns of a line of a move."""


class Moves(FormattableColumn[Any]):
    """What each migration does and why, a few lines each; amounts in credits, errors in percent."""

    def human_readable(self) -> str:
        return '\n'.join(line for move in self._value or () for line in _move(move))


LIST: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Period', 'period', None),
    ('Mode', 'mode', None),
    ('State', 'state', None),
    ('Created At', 'created_at', None),
)
SHOW: tuple[Column, ...] = (
    *LIST,
    ('Decided By', 'decided_by', None),
    ('Decided At', 'decided_at', Given),
    ('Moves', 'moves', Moves),
)


class ListPlan(MarketLister):
    """List migration plans, newest first (admin only)

    Example::

        openstack market plan list --state proposed
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--state', choices=STATES, help='Only plans in this state')
        add_limit(parser, 'plans', 20)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        plans = self.market.plans(state=parsed_args.state, max_items=parsed_args.limit)
        return self.listed(LIST, plans)


class OfPlan(MarketShowOne):
    """A command on one plan."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', metavar='<plan>', help='Id of a plan')
        return parser


class ShowPlan(OfPlan):
    """Show a migration plan with the reason of each move (admin only)

    Example::

        openstack market plan show 8a1c1a0e-6f3e-4f7a-9a59-3f0f4ff1f8a1
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.get_plan(parsed_args.plan))


class ApprovePlan(OfPlan):
    """Let the engine carry out a proposed plan (admin only)

    Example::

        openstack market plan approve 8a1c1a0e-6f3e-4f7a-9a59-3f0f4ff1f8a1
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.approve_plan(parsed_args.plan))


class RejectPlan(OfPlan):
    """Refuse a proposed plan (admin only)

    Example::

        openstack market plan reject 8a1c1a0e-6f3e-4f7a-9a59-3f0f4ff1f8a1
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.reject_plan(parsed_args.plan))


def _move(move: Mapping[str, Any]) -> list[str]:
    before, after = (
        Percent(move[name]).human_readable() for name in ('error_before', 'error_after')
    )
    gain, cost = (credit_text(round(move[name])) for name in ('gain', 'cost'))
    return [
        f'{move["server_id"]} from {move["source"]} to {move["destination"]}: {move["state"]}',
        f'  largest error on {move["source"]}: {before}, then {after}',
        f'  gain: {gain} credits a period; the copy costs {cost} credits',
        *_wrapped(move['reason']),
        *_wrapped(move['outcome']),
    ]


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent='  ', subsequent_indent='    ')
