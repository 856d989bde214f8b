# SPDX-License-Identifier: Apache-2.0
"""`openstack market job output`: the last of what a job has written, once or while it runs."""

import argparse
import time
from collections.abc import Callable
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.columns import Column, count_argument
from nova_market.osc.v1.job import add_job
from nova_market.osc.v1.job_lookup import job_id_of
from nova_market.osc.v1.job_wait import OUTAGES, add_interval, passes, warn
from nova_market.osc.v1.market_command import MarketShowOne

COLUMNS: tuple[Column, ...] = (
    ('Job', 'job_id', None),
    ('Attempt', 'attempt', None),
    ('Rank', 'rank', None),
    ('Text', 'text', None),
    ('Bytes', 'bytes', None),
    ('Total Bytes', 'total_bytes', None),
)
REPLACED = '\ufffd'
"""What the service puts in the place of a byte that is no UTF-8."""


class ShowJobOutput(MarketShowOne):
    """Show the last 64 KiB of what a job has written

    Standard output and standard error are in one stream. The exit status is 0 whatever the job's is.

    Examples, of a job that runs until it has ended, and of the third server of an earlier attempt::

        openstack market job output --follow frame.sh
        openstack market job output --attempt 1 --rank 2 solver
    """

    @property
    def formatter_default(self) -> str:
        # the text as it is, not in a table
        return 'value'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_job(parser)
        parser.add_argument(
            '--attempt', metavar='<n>', type=count_argument, help='Attempt, default: the newest'
        )
        parser.add_argument(
            '--rank', metavar='<n>', type=int, default=0, help='Server of a gang, from 0; default 0'
        )
        parser.add_argument(
            '--follow', action='store_true', help='Show what is added, until the job has ended'
        )
        add_interval(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        plain = parsed_args.formatter == 'value' and not parsed_args.columns
        if parsed_args.follow and not plain:
            raise exceptions.CommandError('--follow shows plain text: give it without -f and -c')
        if parsed_args.follow and parsed_args.attempt is not None:
            raise exceptions.CommandError(
                '--follow shows the newest attempt: give it without --attempt'
            )
        wanted = job_id_of(self.conn, parsed_args.job)
        if parsed_args.follow:
            self._follow(wanted, parsed_args.rank, parsed_args.interval)
            return (), ()
        found = self.market.job_output(wanted, attempt=parsed_args.attempt, rank=parsed_args.rank)
        if not plain:
            return self.shown(COLUMNS, found)
        if found.total_bytes > found.bytes:
            warn(f'the first {found.total_bytes - found.bytes} of {found.total_bytes} bytes '
                 'are not kept: give --output-url when the job is created')  # fmt: skip
        self.app.stdout.write(found.text)
        if not found.total_bytes:
            self._explain_nothing(wanted)
        return (), ()

    def _explain_nothing(self, job_id: str) -> None:
        """Why there is nothing to show, on standard error."""
        job = self.market.get_job(job_id)
        begun = job.state not in ('held', 'waiting', 'starting') or job.attempt > 1
        why = f': {job.reason["text"]}' if job.reason and not begun else ''
        warn(
            'it has written nothing'
            if begun
            else f'it has not begun, so it has written nothing: it is {job.state}{why}'
        )

    def _follow(self, job_id: str, rank: int, interval: float) -> None:
        def read() -> tuple[bool, Any]:
            # the state first: what was written before the end is in the output that is read then
            ended = self.market.get_job(job_id).ended
            return ended, self.market.job_output(job_id, rank=rank)

        def write(text: str) -> None:
            self.app.stdout.write(text)
            self.app.stdout.flush()

        follow(read, write, interval)


def follow(
    read: Callable[[], tuple[bool, Any]],
    write: Callable[[str], None],
    interval: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Write what is added to an output until its job has ended.

    read: (has the job ended?, its output). A new attempt is written from its beginning.
    """
    attempt, seen = 0, 0
    while True:
        try:
            ended, found = read()
        except OUTAGES as error:
            # the job runs on while the service is away
            if not passes(error):
                raise
        else:
            if found.attempt != attempt:
                if attempt:
                    warn(f'attempt {found.attempt}')
                attempt, seen = found.attempt, 0
            added = found.total_bytes - seen
            if added > found.bytes:
                warn(f'{added - found.bytes} bytes are not kept any more')
            if added > 0:
                write(last(found.text, min(added, found.bytes)))
            seen = found.total_bytes
            if ended:
                return
        sleep(interval)


def last(text: str, count: int) -> str:
    """The last `count` bytes of an output as text; a replaced byte counts as one.

    Several bytes that are one broken character are replaced by one mark: then a few more are shown.
    """
    for start in range(len(text) - 1, -1, -1):
        count -= 1 if text[start] == REPLACED else len(text[start].encode())
        if count <= 0:
            return text[start:]
    return text
