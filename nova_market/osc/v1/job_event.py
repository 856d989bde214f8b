# SPDX-License-Identifier: Apache-2.0
"""`openstack market job events`: what happened to a job, and why."""

import argparse
from typing import Any

from nova_market.osc.v1.columns import add_limit
from nova_market.osc.v1.job import add_job
from nova_market.osc.v1.job_columns import EVENTS
from nova_market.osc.v1.job_lookup import job_id_of
from nova_market.osc.v1.market_command import MarketLister


class ListJobEvent(MarketLister):
    """Show what happened to a job and why, newest first

    Example::

        openstack market job events --limit 20 frame.sh
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_job(parser)
        add_limit(parser, 'events', 50)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        wanted = job_id_of(self.conn, parsed_args.job)
        return self.listed(EVENTS, self.market.job_events(wanted, max_items=parsed_args.limit))
