# SPDX-License-Identifier: Apache-2.0
"""`openstack market job`: jobs that wait, run and have ended, and what their owner does with them."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from openstack.exceptions import HttpException
from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.columns import add_limit
from nova_market.osc.v1.job_columns import JOB, JOBS, JOBS_LONG, SCRIPTS
from nova_market.osc.v1.job_lookup import JOB_HELP, JOBS_HELP, job_id_of, jobs_of
from nova_market.osc.v1.market_command import MarketLister, MarketShowOne, refusal
from nova_market.sdk.v1.job import ENDED, LIVE


def add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('job', metavar='<job>', help=JOB_HELP)


class ListJob(MarketLister):
    """List jobs that have not ended, newest first

    The reason is why a job waits. The expected start is an estimate: it assumes that every job runs until
    its time limit.

    Examples, one's own jobs in one queue, and what has failed::

        openstack market job list --queue render
        openstack market job list --state failed --long
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        parser.add_argument('--queue', metavar='<queue>', help='Show those of this queue')
        parser.add_argument('--name', metavar='<name>', help='Show those of this name')
        parser.add_argument(
            '--array', metavar='<array>', help='Show the elements of this array (id)'
        )
        parser.add_argument('--user', metavar='<user>', help='Show those of this user (id)')
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            '--state',
            metavar='<state>',
            choices=(*LIVE, *sorted(ENDED)),
            action='append',
            help=f'Show those in this state (repeat for several): {", ".join((*LIVE, *sorted(ENDED)))}',
        )
        group.add_argument('--all', action='store_true', help='Show those that have ended too')
        add_limit(parser, 'jobs')
        parser.add_argument('--long', action='store_true', help='Show more columns')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        query = of_projects(self, parsed_args)
        given = {
            'queue': parsed_args.queue,
            'name': parsed_args.name,
            'array_id': parsed_args.array,
            'user_id': parsed_args.user,
        }
        query |= {name: value for name, value in given.items() if value is not None}
        if not parsed_args.all:
            query['states'] = parsed_args.state or LIVE
        found = self.market.jobs(max_items=parsed_args.limit, **query)
        return self.listed(JOBS_LONG if parsed_args.long else JOBS, found)


class ShowJob(MarketShowOne):
    """Show a job: state, reason, expected start, attempts, what it has cost

    An attempt is shown by its number and the rank of the server in it, such as 2.0 for the first server of
    the second attempt.

    Examples::

        openstack market job show frame.sh
        openstack market job show frames/3 --script
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_job(parser)
        parser.add_argument('--script', action='store_true', help='Show its scripts too')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        job = self.market.get_job(job_id_of(self.conn, parsed_args.job))
        return self.shown((*JOB, *SCRIPTS) if parsed_args.script else JOB, job)


class _OfJobs(MarketLister):
    """A command that asks something of several jobs; all are tried, whatever becomes of the others."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('job', metavar='<job>', nargs='+', help=JOBS_HELP)
        return parser

    def each(self, named: Sequence[str], ask: Callable[[str], Any]) -> Any:
        changed, refused = [], []
        for text in named:
            try:
                changed += [ask(str(one.id)) for one in self.chosen(jobs_of(self.conn, text))]
            except (HttpException, exceptions.CommandError) as error:
                shown_ = refusal(error) if isinstance(error, HttpException) else str(error)
                refused.append(f'{text}: {shown_}')
        if refused:
            done = f'; of {len(changed)} others it was accepted' if changed else ''
            raise exceptions.CommandError('; '.join(refused) + done)
        return self.listed(JOBS, changed)

    def chosen(self, jobs: Sequence[Any]) -> Sequence[Any]:
        """Of an array's elements those that it makes sense for; a job that was named is always asked."""
        return jobs


class CancelJob(_OfJobs):
    """Cancel jobs: take them from their queue, or end them where they run

    A job that runs gets SIGTERM and, when its notice is over, SIGKILL. A job that has ended stays as it is.

    Example, a job and all elements of an array::

        openstack market job cancel prepare frames
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.each(parsed_args.job, self.market.cancel_job)

    def chosen(self, jobs: Sequence[Any]) -> Sequence[Any]:
        return jobs if len(jobs) == 1 else [one for one in jobs if not one.ended]


class RequeueJob(_OfJobs):
    """Let jobs that run or have ended wait again, from their beginning

    A job that comes after others is held again while one of them has not ended. When all of them have, it
    runs however they ended.

    Example::

        openstack market job requeue frames/3
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.each(parsed_args.job, self.market.requeue_job)

    def chosen(self, jobs: Sequence[Any]) -> Sequence[Any]:
        unasked = {'finished', 'waiting', 'held'}
        return jobs if len(jobs) == 1 else [one for one in jobs if one.state not in unasked]
