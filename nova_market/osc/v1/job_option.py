# SPDX-License-Identifier: Apache-2.0
"""What `job create` may be given: on the command line, or on `#MARKET` lines of the script.

No option has a default here: what is not given is not sent, and the service decides.
"""

import argparse
from collections.abc import Mapping
from typing import Any, NoReturn

from osc_lib import exceptions

from nova_market.core.job.script import script_options
from nova_market.errors import BadScript
from nova_market.osc.v1.columns import count_argument, credit_argument
from nova_market.osc.v1.job_argument import (
    ArrayArgument,
    NumberArgument,
    memory_argument,
    variable_argument,
    whole_argument,
)
from nova_market.osc.v1.time_argument import DURATION, FUTURE, duration_argument, future_argument

AS_TYPED = {
    **{
        name: '--' + name.replace('_', '-')
        for name in (
            'queue', 'name', 'time_limit', 'output_url', 'flavor', 'servers', 'after', 'after_condition',
            'priority', 'begin', 'value', 'retries', 'array', 'least_run_time', 'notice', 'checkpoint',
            'preempt_action',
        )
    },
    'environment': '--env',
    'resources': '--cores, --memory, --disk',
}  # fmt: skip
"""Entries of a request for a job, and the options that they are typed with."""

RESOURCES = ('cores', 'memory_mib', 'disk_gib')
SENT = (
    'queue', 'name', 'time_limit', 'flavor', 'servers', 'kind', 'priority', 'after', 'after_condition',
    'retries', 'least_run_time', 'notice', 'preempt_action', 'output_url', 'begin', 'value',
)  # fmt: skip
"""Options that are entries of the request under the same name."""


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """All of them; what is not given is no attribute of the parsed arguments."""
    absent: Any = {'default': argparse.SUPPRESS}
    parser.add_argument('--queue', metavar='<queue>', help='Queue (name or id)', **absent)
    parser.add_argument(
        '--name',
        metavar='<name>',
        help='Name of the job; default: the name of the script, or "wrap"',
        **absent,
    )
    parser.add_argument(
        '--time-limit',
        metavar=DURATION,
        type=duration_argument,
        help='Longest run, such as 90s, 15m, 2h, 1d12h, or as Slurm writes it: 1-02:30:00',
        **absent,
    )
    add_size(parser, absent)
    _add_order(parser, absent)
    _add_preemption(parser, absent)
    parser.add_argument(
        '--env',
        dest='environment',
        metavar='<name>[=<value>]',
        type=variable_argument,
        action='append',
        help='Environment variable of the script (repeat for several); without a value, the one that '
        'it has here',
        **absent,
    )
    parser.add_argument(
        '--output-url',
        metavar='<url>',
        help='URL that the whole output is sent to by HTTP PUT, such as a temporary URL of an object '
        'store; without it only the last 64 KiB are kept',
        **absent,
    )


def add_size(parser: argparse.ArgumentParser, absent: Any) -> None:
    """A flavor, or what it must have at least, and the number of servers."""
    parser.add_argument(
        '--flavor',
        metavar='<flavor>',
        help='Flavor of each server, one of those of the queue; default: the first that fits',
        **absent,
    )
    parser.add_argument(
        '--cores',
        metavar='<n>',
        type=NumberArgument(0, 'a number of cores'),
        help='Least cores of each server, in place of --flavor; default 1 with --memory or --disk',
        **absent,
    )
    parser.add_argument(
        '--memory',
        dest='memory_mib',
        metavar='<size>',
        type=memory_argument,
        help='Least memory of each server, such as 512M or 4G, in place of --flavor',
        **absent,
    )
    parser.add_argument(
        '--disk',
        dest='disk_gib',
        metavar='<GiB>',
        type=NumberArgument(0, 'GiB of disk'),
        help='Least disk of each server in GiB, in place of --flavor',
        **absent,
    )
    parser.add_argument(
        '--servers',
        metavar='<n>',
        type=count_argument,
        help='Number of servers that start together or not at all, default 1',
        **absent,
    )


def _add_order(parser: argparse.ArgumentParser, absent: Any) -> None:
    _add_array(parser, absent)
    parser.add_argument(
        '--after',
        metavar='<job>',
        action='append',
        help='Start it when this job or array has ended (name or id; repeat for several)',
        **absent,
    )
    parser.add_argument(
        '--after-condition',
        choices=('success', 'end'),
        help='success: all of --after must finish, otherwise it is cancelled; end: however they ended; '
        'default success',
        **absent,
    )
    parser.add_argument(
        '--priority',
        metavar='<n>',
        type=whole_argument,
        help='Within the queue a lower number goes first, default 100',
        **absent,
    )
    parser.add_argument(
        '--begin',
        metavar='<time>',
        type=future_argument,
        help=f'Do not start it before this time, {FUTURE}',
        **absent,
    )
    parser.add_argument(
        '--value',
        metavar='<credits>',
        type=credit_argument,
        help='What the whole job is worth to you; policy "value" orders by it',
        **absent,
    )
    parser.add_argument(
        '--retries',
        metavar='<n>',
        type=whole_argument,
        help='How often it is run again when its server is lost, default 1',
        **absent,
    )


def _add_array(parser: argparse.ArgumentParser, absent: Any) -> None:
    # not above: every run of `openstack` loads this module, and that one takes long
    from nova_market.core.job.queue import MAX_ARRAY, MAX_ARRAY_INDEX

    parser.add_argument(
        '--array',
        metavar='<indices>',
        type=ArrayArgument(MAX_ARRAY, MAX_ARRAY_INDEX),
        help='Create one job for each index, such as 0-99; the script reads MARKET_ARRAY_INDEX',
        **absent,
    )


def _add_preemption(parser: argparse.ArgumentParser, absent: Any) -> None:
    parser.add_argument(
        '--best-effort',
        dest='kind',
        action='store_const',
        const='best_effort',
        help="Run it outside of the queue's share; it is preempted when a production job needs the room",
        **absent,
    )
    parser.add_argument(
        '--least-run-time',
        metavar=DURATION,
        type=duration_argument,
        help='How long it runs before it may be preempted',
        **absent,
    )
    parser.add_argument(
        '--notice',
        metavar=DURATION,
        type=duration_argument,
        help='Time from SIGTERM to its end when it is preempted, default 30s',
        **absent,
    )
    parser.add_argument(
        '--checkpoint',
        metavar='<script>',
        help='File with a script that is run during the notice',
        **absent,
    )
    parser.add_argument(
        '--preempt-action',
        choices=('requeue', 'suspend', 'shelve', 'stop'),
        help='What becomes of it when it is preempted, default requeue',
        **absent,
    )


class _LineParser(argparse.ArgumentParser):
    """Raises what argparse would end the program with."""

    def error(self, message: str) -> NoReturn:
        raise BadScript(message)


def script_values(text: str) -> tuple[dict[str, Any], tuple[int, ...]]:
    """(options of the script's #MARKET lines, numbers of such lines that do not count).

    :raises errors.BadScript: names the line, and what is wrong with it.
    """
    found = script_options(text)
    parser = _LineParser(add_help=False, allow_abbrev=False)
    add_job_options(parser)
    values = argparse.Namespace()
    for line in found.lines:
        try:
            parser.parse_args(line.words, values)
        except BadScript as error:
            raise BadScript(
                f'line {line.number}: {error}; "openstack market job create --help" lists the options'
            ) from None
    return vars(values), found.late


def merged(script: Mapping[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """Options of the command line win over those of the script; variables are merged by name."""
    typed = {name: value for name, value in vars(given).items() if name in _known()}
    both = {**script, **typed}
    if 'flavor' in typed:
        # the other way to say how large a server is
        both = {name: value for name, value in both.items() if name not in RESOURCES}
        both |= {name: typed[name] for name in RESOURCES if name in typed}
    elif typed.keys() & set(RESOURCES):
        both.pop('flavor', None)
    if variables := [*script.get('environment', ()), *typed.get('environment', ())]:
        both['environment'] = variables
    return both


def request_of(values: Mapping[str, Any], script: str) -> dict[str, Any]:
    """One job of the request, without what names of other jobs stand for.

    :raises CommandError: names what is missing or does not go together.
    """
    if 'queue' not in values:
        raise exceptions.CommandError(
            'no queue: give --queue <queue>; "openstack market queue list" shows them'
        )
    if 'time_limit' not in values:
        raise exceptions.CommandError(
            'no time limit: give --time-limit, such as 2h; the job is ended when it has run so long'
        )
    sized = {name: values[name] for name in RESOURCES if name in values}
    if sized and 'flavor' in values:
        raise exceptions.CommandError(
            'give --flavor, or --cores, --memory and --disk, but not both'
        )
    body = {name: values[name] for name in SENT if name in values}
    if sized:
        body['resources'] = {'cores': 1, **sized}
    if 'environment' in values:
        body['environment'] = dict(values['environment'])
    return {**body, 'script': script}


def _known() -> set[str]:
    return {*SENT, *RESOURCES, 'array', 'environment', 'checkpoint'}
