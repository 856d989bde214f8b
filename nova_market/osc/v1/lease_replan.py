# SPDX-License-Identifier: Apache-2.0
"""`openstack market lease replan`: future flexible leases are placed anew."""

import argparse
from typing import Any

from nova_market.osc.v1.job_wait import warn
from nova_market.osc.v1.lease_columns import MOVES, move_rows
from nova_market.osc.v1.market_command import MarketLister


class ReplanLease(MarketLister):
    """Place future flexible leases anew (admin only)

    Leases that begin soon, and those that are not flexible, stay. One row for each lease that moves; what
    that saves is written to standard error. With --dry-run nothing is changed.

    Examples::

        openstack market lease replan --dry-run
        openstack market lease replan --algorithm exact --objective power
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--algorithm', metavar='<algorithm>',
            help='greedy, greedy_consistent, search, exact or a plug-in; default: the one in force now',
        )  # fmt: skip
        parser.add_argument(
            '--objective', metavar='<objective>',
            help='power, earliest_finish, fewest_hosts, balance, price or a plug-in; default: the one in '
            'force now',
        )  # fmt: skip
        parser.add_argument(
            '--dry-run', action='store_true', help='Show what would change, and change nothing'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        names = ('algorithm', 'objective')
        request: dict[str, Any] = {
            name: value for name in names if (value := getattr(parsed_args, name)) is not None
        }
        done = self.market.replan_leases(**request, dry_run=parsed_args.dry_run)
        old, new = done.before, done.after
        warn(
            f'{len(done.moves)} of {done.leases} leases {"move" if done.written else "would move"} by '
            f'{done.algorithm} for {done.objective}: {old["hosts"]} -> {new["hosts"]} hosts, '
            f'{old["joules"] / 3.6e6:.3f} -> {new["joules"] / 3.6e6:.3f} kWh, '
            f'{old["cost"]:.6g} -> {new["cost"]:.6g} {done.unit}'
        )
        return MOVES, move_rows(done.moves)
