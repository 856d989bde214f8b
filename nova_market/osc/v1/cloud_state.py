# SPDX-License-Identifier: Apache-2.0
"""`openstack market heaviness` and `host`: what the market sees of the cloud."""

import argparse
from typing import Any

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Amount, Column
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

    Heaviness compares what a project holds and uses of the whole cloud with what it is entitled to. Hosts
    report it when they confirm allocations. On hosts whose policy uses heaviness, not bids alone, heavier
    projects get smaller parts of a busy host.

    Example::

        openstack market heaviness show --project astronomy
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(HEAVINESS, self.market.heaviness(**of_projects(self, parsed_args)))


class ListHost(MarketLister):
    """List hosts and what they offer (admin only)

    Example::

        openstack market host list
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.listed(HOST, self.market.hosts())
