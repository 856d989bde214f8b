# SPDX-License-Identifier: Apache-2.0
"""`openstack market bag tasks` and `events`: where each task is, what was tried for it, and why."""

import argparse
from typing import Any

from nova_market.osc.v1.bag import add_bag, bag_id_of
from nova_market.osc.v1.columns import Column, Credits, Fields, add_limit
from nova_market.osc.v1.job_columns import Duration, Given
from nova_market.osc.v1.market_command import MarketLister

STATES = ('waiting', 'taking', 'placed', 'done', 'failed', 'dropped', 'cancelled')
TASKS: tuple[Column, ...] = (
    ('Name', 'name', None),
    ('State', 'state', None),
    ('Why', 'why', Given),
    ('Time Limit', 'time_limit', Duration),
    ('Importance', 'importance', None),
    ('Deadline', 'deadline', Given),
    ('Due', 'due_at', Given),
    ('Cost', 'cost', Credits),
    ('Spent', 'spent', Credits),
    ('Job', 'job_id', Given),
    ('Reason', 'reason', Given),
)
EVENTS: tuple[Column, ...] = (
    ('At', 'at', None),
    ('Task', 'task', Given),
    ('Action', 'action', None),
    ('Reason', 'reason', None),
    ('Numbers', 'numbers', Fields),
)


class ListBagTask(MarketLister):
    """Show the tasks of a bag, in the order of the file

    Example::

        openstack market bag tasks --state dropped film
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_bag(parser)
        parser.add_argument(
            '--state', choices=STATES, help=f'Show those in this state: {", ".join(STATES)}'
        )
        add_limit(parser, 'tasks')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = {'state': parsed_args.state} if parsed_args.state else {}
        bag_id = bag_id_of(self.conn, parsed_args.bag)
        found = self.market.bag_tasks(bag_id, max_items=parsed_args.limit, **query)
        return self.listed(TASKS, found)


class ListBagEvent(MarketLister):
    """Show what a bag has tried, what was refused, taken or dropped, and why, newest first

    Example::

        openstack market bag events --task frame-17 film
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_bag(parser)
        parser.add_argument(
            '--task', metavar='<task>', help='Show those of this task, and of the whole bag'
        )
        add_limit(parser, 'events', 50)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = {'task': parsed_args.task} if parsed_args.task else {}
        bag_id = bag_id_of(self.conn, parsed_args.bag)
        found = self.market.bag_events(bag_id, max_items=parsed_args.limit, **query)
        return self.listed(EVENTS, found)
