# SPDX-License-Identifier: Apache-2.0
"""`openstack market job create`: submits a script, once, and waits for its end when asked to."""

import argparse
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from osc_lib import exceptions

from nova_market.core.job.script import MAX_SCRIPT, check_script
from nova_market.errors import BadScript
from nova_market.osc.v1.columns import Column, Fields
from nova_market.osc.v1.job_columns import JOB, Given
from nova_market.osc.v1.job_lookup import after_id_of
from nova_market.osc.v1.job_option import (
    AS_TYPED,
    add_job_options,
    merged,
    request_of,
    script_values,
)
from nova_market.osc.v1.job_wait import LiveLine, add_interval, exit_status, wait_for, warn
from nova_market.osc.v1.market_command import MarketShowOne

WRAP = 'wrap'
"""Name of a job without a script file, as sbatch has it."""

ARRAY: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', None),
    ('Queue', 'queue', None),
    ('Jobs', 'jobs', None),
    ('States', 'states', Fields),
    ('Exit Code', 'exit_code', Given),
)


class CreateJob(MarketShowOne):
    """Submit a job, or an array of jobs

    The script is run in a server of the queue. Lines of it that begin with #MARKET and stand before its
    first command are options of this command, as #SBATCH lines are of sbatch; what is given here wins. The
    time limit must be given in one of both places.

    With --wait the exit status is that of the job: its exit code, or 1 when it has none, because it was
    cancelled or lost; of an array the largest one. Interrupting the command does not end the job.

    Examples, a script, a command, and an array that starts after another job::

        openstack market job create --queue render --time-limit 2h frame.sh
        openstack market job create --queue render --time-limit 10m --wait --wrap 'make -j4 check'
        openstack market job create --array 0-99 --after prepare --memory 4G frame.sh
    """

    OPTIONS = AS_TYPED
    _status = 0

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'script',
            metavar='<script>',
            nargs='?',
            help='File with the script; - for standard input',
        )
        parser.add_argument(
            '--wrap', metavar='<command>', help='Command for /bin/sh, in place of a script'
        )
        add_job_options(parser)
        parser.add_argument(
            '--wait',
            action='store_true',
            help='Wait for the end of the job, and end with its exit code',
        )
        add_interval(parser)
        parser.add_argument(
            '--key',
            metavar='<key>',
            help='Idempotency key: sent twice with one key, the job is submitted once. Default: a new key',
        )
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        # what a command that shows something returns is not its exit status
        return super().run(parsed_args) or self._status

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        try:
            name, script = script_of(parsed_args)
            typed, late = script_values(script)
        except BadScript as error:
            raise exceptions.CommandError(f'{parsed_args.script or "--wrap"}: {error}') from None
        for number in late:
            warn(f'line {number}: #MARKET after the first command is not read')
        values = {'name': name, **merged(typed, parsed_args)}
        if 'after' in values:
            values['after'] = list(
                dict.fromkeys(after_id_of(self.conn, one) for one in values['after'])
            )
        body = request_of(values, script)
        if 'checkpoint' in values:
            # what a script names is beside it, wherever the command is typed
            beside = 'checkpoint' not in vars(parsed_args) and parsed_args.script not in (None, '-')
            folder = Path(parsed_args.script).parent if beside else Path()
            body['checkpoint'] = _checked(str(folder / values['checkpoint']))
        if 'array' in values:
            body['array'] = list(values['array'])
        made = self.market.create_jobs([body], key=parsed_args.key or str(uuid.uuid4()))
        return self._submitted(made, parsed_args)

    def _submitted(self, made: Sequence[Any], parsed_args: argparse.Namespace) -> Any:
        array = made[0].array_id

        def read() -> Sequence[Any]:
            if array:
                return list(self.market.jobs(array_id=array))
            return [self.market.get_job(made[0].id)]

        if parsed_args.wait:
            jobs = waited(read, array or made[0].id, parsed_args.interval)
            self._status = exit_status(jobs)
        else:
            jobs = read()
        if not array:
            return self.shown(JOB, jobs[0])
        return self.shown(ARRAY, _Array(array, jobs))


class _Array:
    """What is shown of all elements of an array together."""

    def __init__(self, array_id: str, jobs: Sequence[Any]) -> None:
        self.id, self.name, self.queue = array_id, jobs[0].name, jobs[0].queue
        self.jobs = len(jobs)
        self.states = dict(Counter(one.state for one in jobs))
        codes = [one.exit_code for one in jobs if one.exit_code is not None]
        self.exit_code = max(codes, default=None)


def waited(read: Callable[[], Sequence[Any]], named: str, interval: float) -> Sequence[Any]:
    """The jobs when they have ended; where they are is shown on standard error meanwhile."""
    line = LiveLine(sys.stderr)
    try:
        return wait_for(read, line.show, interval)
    except KeyboardInterrupt:
        line.end()
        warn(f'not waiting any more; "openstack market job cancel {named}" ends it')
        raise
    finally:
        line.end()


def script_of(parsed_args: argparse.Namespace) -> tuple[str, str]:
    """Name and text of what is submitted.

    :raises BadScript: it is none.
    """
    given, wrap = parsed_args.script, parsed_args.wrap
    if (given is None) == (wrap is None):
        raise exceptions.CommandError('give a script, or --wrap <command>')
    if wrap is not None:
        if not wrap.strip():
            raise exceptions.CommandError('--wrap is empty: give a command')
        return WRAP, f'#!/bin/sh\n{wrap}\n'
    text = _read(given)
    check_script(text)
    return _name(given), text


def _checked(path: str) -> str:
    """The text of a checkpoint script."""
    text = _read(path)
    try:
        check_script(text)
    except BadScript as error:
        raise exceptions.CommandError(f'{path}: {error}') from None
    return text


def _read(path: str) -> str:
    """A file of text; what is longer than a script may be is not read."""
    try:
        if path == '-':
            content = sys.stdin.buffer.read(MAX_SCRIPT + 1)
        else:
            with Path(path).open('rb') as file:
                content = file.read(MAX_SCRIPT + 1)
    except OSError as error:
        raise exceptions.CommandError(f'{path}: {error.strerror}') from None
    if len(content) > MAX_SCRIPT:
        raise exceptions.CommandError(
            f'{path} has more than {MAX_SCRIPT} bytes: have the script fetch what is longer'
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise exceptions.CommandError(
            f'{path} is no text in UTF-8 (byte {error.start}): give a script'
        ) from None


def _name(path: str) -> str:
    """The file's name, with what a job's name cannot have replaced."""
    plain = re.sub(r'[^A-Za-z0-9_.+:@-]', '-', Path(path).name if path != '-' else 'stdin')
    return plain.lstrip('_.+:@-')[:64] or 'script'
