# SPDX-License-Identifier: Apache-2.0
"""`openstack market set-aside`: what services cannot handle now (rule R3 of passes)."""

import argparse
from typing import Any

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import Column, add_limit
from nova_market.osc.v1.market_command import MarketLister

COLUMNS: tuple[Column, ...] = (
    ('Since', 'since', None),
    ('Service', 'service', None),
    ('Project', 'project_id', None),
    ('Kind', 'kind', None),
    ('ID', 'id', None),
    ('Stage', 'stage', None),
    ('Reason', 'reason', None),
)


class ListSetAside(MarketLister):
    """List what cannot be handled now, and why

    A job, a lease, a bid or anything else is set aside when its service cannot read it or act on it. All
    others go on. The service tries it again in each pass, and it leaves this list when that works.

    Examples, of your project, and of the whole cloud for an administrator::

        openstack market set-aside list
        openstack market set-aside list --all-projects --service jobs
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        parser.add_argument(
            '--service',
            metavar='<service>',
            help='Show those of this service: engine, controller, jobs, leases or notices',
        )
        add_limit(parser, 'lines')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        if parsed_args.service:
            query['service'] = parsed_args.service
        return self.listed(COLUMNS, self.market.set_aside(max_items=parsed_args.limit, **query))
