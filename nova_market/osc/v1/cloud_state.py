# SPDX-License-Identifier: Apache-2.0
"""`openstack market heaviness` and `host`: what the market sees of the cloud."""

import argparse
from typing import Any

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Amount, Column, listed
from nova_market.osc.v1.market_command import MarketLister

HEAVINESS: tuple[Column, ...] = (
    ('Project', 'project_id', None),
    ('Period', 'period', None),
    ('Heaviness', 'heaviness', Amount),
)
HOST: tuple[Column, ...] = (
    ('Name', 'name', None),
    ('Zone', 'zone', None),
    ('Enabled', 'enabled', None),
    ('Answering', 'answering', None),
    ('Cores', 'cores', Amount),
    ('Memory MiB', 'memory_mib', Amount),
)


class ShowHeaviness(MarketLister):
    """Show how heavy a project is

    What it holds and uses of the whole cloud, against what it is entitled to, as the hosts said that
    confirmed one of the last rounds. Where heaviness counts, not bids alone, heavier projects have smaller
    parts of a host that is busy.

    Example::

        openstack market heaviness show --project astronomy
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return listed(HEAVINESS, self.market.heaviness(**of_projects(self, parsed_args)))


class ListHost(MarketLister):
    """List hosts and what they have to give (admin only)

    Example::

        openstack market host list
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return listed(HOST, self.market.hosts())
