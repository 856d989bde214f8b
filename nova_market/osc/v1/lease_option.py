# SPDX-License-Identifier: Apache-2.0
"""What a lease may be asked for with, to book it or for offers."""

import argparse
from collections.abc import Mapping
from typing import Any

from nova_market.osc.v1.columns import count_argument
from nova_market.osc.v1.job_argument import NumberArgument
from nova_market.osc.v1.time_argument import DURATION, FUTURE, duration_argument, future_argument

AS_TYPED = {
    'duration': '--for', 'earliest': '--start', 'finish': '--window', 'hosts': '--host', 'nodes': '--nodes',
    'memory_mib': '--memory', 'disk_gib': '--disk', 'cores': '--cores', 'utilisation': '--utilisation',
}  # fmt: skip
"""Entries of a request for a lease, and the options that they are typed with."""

SENT = ('name', 'purpose', 'hosts', 'nodes', 'utilisation', 'duration')
FLAGS = ('whole', 'flexible')


def add_place(parser: argparse.ArgumentParser) -> None:
    """On which hosts, how much of each, and what for."""
    parser.add_argument('--purpose', metavar='<text>', help='What the lease is for')
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        '--host', metavar='<host>', action='append', dest='hosts',
        help='Host with a node of the lease (repeat for several); without it hosts are chosen',
    )  # fmt: skip
    where.add_argument(
        '--nodes', metavar='<n>', type=count_argument, help='On so many hosts, default 1'
    )
    parser.add_argument(
        '--whole', action='store_true', default=None, help='Each node is a whole host'
    )
    parser.add_argument(
        '--utilisation', metavar='<0-1>', type=NumberArgument(0, 'a utilisation'),
        help='Part of its cores that a node is expected to keep busy, default 1',
    )  # fmt: skip


def add_time(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """For how long, and when."""
    parser.add_argument(
        '--for', dest='duration', metavar=DURATION, required=required, type=duration_argument,
        help='Duration of the lease, such as 90m, 8h, 2d',
    )  # fmt: skip
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        '--start', metavar='<time>', type=future_argument,
        help=f'When it starts, {FUTURE}; default: now',
    )  # fmt: skip
    when.add_argument(
        '--window', metavar=('<from>', '<to>'), nargs=2, type=future_argument,
        help='Any time between these two, each as for --start',
    )  # fmt: skip
    parser.add_argument(
        '--flexible', action='store_true', default=None, help='It may be moved until it begins soon'
    )


def lease_body(given: Mapping[str, Any]) -> dict[str, Any]:
    """The request, without the sizes of nodes."""
    body = {name: given[name] for name in (*SENT, *FLAGS) if given.get(name) is not None}
    if given.get('start'):
        body['earliest'] = given['start']
    if given.get('window'):
        body['earliest'], body['finish'] = given['window']
    return body
