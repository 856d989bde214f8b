# SPDX-License-Identifier: Apache-2.0
"""`openstack market limits`: what the operator allows to a project, and how much of that it has."""

import argparse
from collections.abc import Mapping
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.core.timestamp import length_text
from nova_market.osc.v1.columns import Column
from nova_market.osc.v1.lookup import project_id_of
from nova_market.osc.v1.market_command import MarketShowOne

SECONDS = frozenset(
    {
        'max_short_below', 'max_notice', 'max_least_run_time', 'longest', 'horizon',
        'full_refund_within',
    }
)  # fmt: skip
"""Limits that are times."""


class Bounds(FormattableColumn[Any]):
    """A limit in a line; of what is counted, how much there is of how much."""

    def human_readable(self) -> str:
        return '\n'.join(f'{name}: {_text(name, one)}' for name, one in (self._value or {}).items())


LIMITS: tuple[Column, ...] = (
    ('Project', 'project_id', None),
    ('Queues', 'queues', Bounds),
    ('Jobs', 'jobs', Bounds),
    ('Leases', 'leases', Bounds),
)


class ShowLimits(MarketShowOne):
    """Show what the operator allows to your project, and how much of that it has

    A limit that is counted is shown as what there is of how much. `free` tells whether leases that cost
    nothing may be booked.

    Example::

        openstack market limits show
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--project', metavar='<project>', help='Show those of this project (name or id)'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        project = parsed_args.project
        query = {'project_id': project_id_of(self.conn, project)} if project else {}
        return self.shown(LIMITS, self.market.limits(**query))


def _text(name: str, one: Any) -> str:
    if isinstance(one, Mapping):
        used = 'not known now' if one['used'] is None else f'{one["used"]:.6g}'
        return f'{used}, no limit' if one['max'] is None else f'{used} of {one["max"]:.6g}'
    if isinstance(one, list):
        return ' '.join(one)
    if one is None:
        return 'no limit'
    if name in SECONDS:
        return length_text(int(one))
    return f'{one:.6g}' if isinstance(one, float) else str(one).lower()
