# SPDX-License-Identifier: Apache-2.0
"""`openstack market bag`: bags of tasks, which negotiate for their owners; created, listed, shown."""

import argparse
import uuid
from typing import Any

from cliff.columns import FormattableColumn
from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.bag_file import bag_of
from nova_market.osc.v1.columns import Column, Credits, Fields, add_limit
from nova_market.osc.v1.job_columns import Duration, Given, Names
from nova_market.osc.v1.lookup import is_uuid
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne
from nova_market.sdk.v1.bag import LIVE

STATES = ('filling', 'open', 'cancelled', 'done')


class Counts(FormattableColumn[Any]):
    """How many tasks are where, those that there are."""

    def human_readable(self) -> str:
        return ', '.join(f'{count} {name}' for name, count in (self._value or {}).items() if count)


BAGS: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('State', 'state', None),
    ('Tasks', 'tasks', Counts),
    ('Spent', 'spent', Credits),
    ('Committed', 'committed', Credits),
    ('Next Try', 'next_try', Given),
)
BAG: tuple[Column, ...] = (
    *BAGS,
    ('Why', 'why', Fields),
    ('Reason', 'reason', Given),
    ('Succeeded', 'succeeded', None),
    ('Failed', 'failed', None),
    ('Budget', 'budget', Credits),
    ('Queues', 'queues', Names),
    ('Order', 'order', None),
    ('Utility', 'utility', None),
    ('Weight', 'weight', None),
    ('Retry', 'retry', None),
    ('Alternatives', 'alternatives', None),
    ('Poll', 'poll', Duration),
    ('Created', 'created_at', None),
    ('Changed', 'changed_at', None),
    ('Ended', 'ended_at', Given),
    ('Project', 'project_id', None),
    ('User', 'user_id', None),
)


def add_bag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('bag', metavar='<bag>', help='Id or name of a bag')


def bag_id_of(conn: Any, text: str) -> str:
    """The id of a bag. A name stands for the bag of that name that goes on, or else for the newest one."""
    if is_uuid(text):
        return text
    found = list(conn.market.bags(name=text))
    live = [one for one in found if one.state in LIVE and not one.ended_at]
    if len(live) > 1:
        ids = ', '.join(one.id for one in live[:3]) + (', ...' if len(live) > 3 else '')
        raise exceptions.CommandError(
            f'{len(live)} bags are named {text}: give the id of one: {ids}'
        )
    if not found:
        raise exceptions.CommandError(
            f'there is no bag {text}: "openstack market bag list" shows them'
        )
    return str((live or found)[0].id)


class CreateBag(MarketShowOne):
    """Create a bag of tasks, which asks for offers, chooses and accepts them for you

    The file, YAML or JSON, has the queues, settings, defaults for all tasks, and the tasks. Offers are
    accepted with your roles as they are now, and are paid by your project.

    Example::

        openstack market bag create film.yaml
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('file', metavar='<file>', help='File with the bag, in YAML or JSON')
        parser.add_argument(
            '--name', metavar='<name>', help='Name of the bag, in place of the one in the file'
        )
        parser.add_argument(
            '--queue',
            metavar='<queue>',
            action='append',
            help='Queue (name or id) that is asked, in place of those in the file (repeat for several)',
        )
        parser.add_argument(
            '--key',
            metavar='<key>',
            help='Idempotency key: sent twice with one key, it is created once. Default: a new key',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        request = bag_of(parsed_args.file)
        if parsed_args.name:
            request['name'] = parsed_args.name
        if parsed_args.queue:
            request['queues'] = parsed_args.queue
        key = parsed_args.key or str(uuid.uuid4())
        return self.shown(BAG, self.market.create_bag(key=key, **request))


class ListBag(MarketLister):
    """List bags of tasks, newest first

    Examples::

        openstack market bag list
        openstack market bag list --state open
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        parser.add_argument(
            '--state', choices=STATES, help=f'Show those in this state: {", ".join(STATES)}'
        )
        add_limit(parser, 'bags')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        if parsed_args.state:
            query['state'] = parsed_args.state
        return self.listed(BAGS, self.market.bags(max_items=parsed_args.limit, **query))


class ShowBag(MarketShowOne):
    """Show a bag of tasks: how many of them are where and why, what they cost, when it tries again

    Example::

        openstack market bag show film
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_bag(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(BAG, self.market.get_bag(bag_id_of(self.conn, parsed_args.bag)))
