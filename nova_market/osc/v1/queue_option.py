# SPDX-License-Identifier: Apache-2.0
"""Options of `openstack market queue` that limit what a queue takes."""

import argparse

from nova_market.osc.v1.columns import count_argument
from nova_market.osc.v1.job_argument import whole_argument
from nova_market.osc.v1.time_argument import DURATION, duration_argument

LIMITS = (
    'max_waiting', 'max_running', 'max_time_limit', 'max_servers', 'max_array', 'max_notice',
    'max_least_run_time', 'max_retries',
)  # fmt: skip
"""Entries of the request that these options stand for."""


def add_limits(parser: argparse.ArgumentParser) -> None:
    for name, what in (
        ('waiting', 'jobs that wait'),
        ('running', 'jobs that run at once'),
        ('servers', 'servers of one job'),
        ('array', 'jobs of one array'),
    ):
        parser.add_argument(
            f'--max-{name}', metavar='<n>', type=count_argument, help=f'Largest number of {what}'
        )
    parser.add_argument(
        '--max-retries',
        metavar='<n>',
        type=whole_argument,
        help='Largest number of retries of a job, as the operator allows by default',
    )
    for name, what in (
        ('time-limit', 'time limit of a job'),
        ('notice', 'notice of a job, as the operator allows by default'),
        (
            'least-run-time',
            'least run time of a best-effort job, as the operator allows by default',
        ),
    ):
        parser.add_argument(
            f'--max-{name}', metavar=DURATION, type=duration_argument, help=f'Longest {what}'
        )
