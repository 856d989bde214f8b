# SPDX-License-Identifier: Apache-2.0
"""nova-market-experiment: the papers' experiments, on real guests; and a day of the market, by numbers."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nova_market.cmd import command_line
from nova_market.cmd.sim import sqlite_stores
from nova_market.errors import NovaMarketError
from nova_market.experiments.guests import (
    demo,
    fairness_bystanders,
    fairness_fig1,
    fairness_fig3,
    fairness_fig4,
    idle_guests,
)
from nova_market.experiments.simulated import (
    cloudalloc_algorithms,
    cloudalloc_power,
    grid_beyond,
    grid_fig5,
    grid_fig6,
    grid_fig7,
    grid_fig8,
    idle_economy,
    job_policies,
    market_day,
    merkat_beyond,
    merkat_fig5,
    merkat_fig6,
    merkat_fig8,
    merkat_maui,
    svmsched,
)

PROGRAM = 'nova-market-experiment'
STATE = Path(tempfile.gettempdir()) / 'nova-market-experiment'

EXIT: Mapping[bool | None, int] = {True: 0, False: 1, None: 3}
"""By what a summary says of `passed`."""

Run = Callable[[argparse.Namespace], dict[str, Any]]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 the result is as expected, 1 it is not, 2 could not be run,
    3 as far as it was judged it is, but the run was too small to judge all of it.
    """
    arguments = _parser().parse_args(argv)
    try:
        summary = arguments.run(arguments)
    except (NovaMarketError, OSError) as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 2
    print(json.dumps(summary, indent=2))
    print(f'{arguments.output}: CSV, PNG and summary.json', file=sys.stderr)
    return EXIT[summary.get('passed', True)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description='Runs experiments of the papers on real libvirt guests (TCG or KVM) in namespaces of '
        'their own, and writes CSV, PNG and a JSON summary. Needs root and the packages of bindep.txt; '
        'the simulated ones need neither.',
    )
    parser.add_argument('--version', action='version', version=command_line.version())
    commands = parser.add_subparsers(dest='command', required=True, metavar='EXPERIMENT')
    fig3 = _add(
        commands, 'fairness-fig3', fairness_fig3.from_arguments, interval=10.0, duration=900.0,
        text='One host: user d runs two busy VMs, e one. Off: e gets 1/3; on: 1/2.',
    )  # fmt: skip
    fig3.add_argument(
        '--beside', type=int, default=0, metavar='N',
        help='busy processes that are no guests, on the same CPU (default: %(default)s)',
    )  # fmt: skip
    _add_two_hosts(commands)
    fig1 = _add(
        commands, 'fairness-fig1', fairness_fig1.from_arguments, interval=None, duration=60.0,
        text='CPU that the service costs, for 1 to 8 VMs and intervals of 1 to 16 s.',
    )  # fmt: skip
    fig1.add_argument(
        '--vms', type=int, nargs='+', default=[1, 2, 4, 8], metavar='N', help='default: 1 2 4 8'
    )
    shown = _add(
        commands, 'demo', demo.from_arguments, interval=2.0, duration=120.0,
        text='Figure 3 in two minutes, with a running commentary; without root on a host in memory.',
    )  # fmt: skip
    shown.add_argument(
        '--memory', action='store_true', help='use the host in memory even where root is there'
    )
    _add_idle_guests(commands)
    _add_day(commands)
    text = (
        'A full cloud in which nobody bids, with the default bid of before and of now; simulated.'
    )
    _add_simulated(commands, idle_economy.NAME, idle_economy, text)
    _add_merkat(commands)
    _add_jobs(commands)
    text = 'Leases on random families: time of each algorithm, and its distance to a proved bound; simulated.'
    _add_simulated(commands, cloudalloc_algorithms.NAME, cloudalloc_algorithms, text)
    text = (
        'What a day draws with all hosts on, and with hosts powered down, and its price; simulated.'
    )
    _add_simulated(commands, cloudalloc_power.NAME, cloudalloc_power, text)
    _add_grid(commands)
    return parser


def _add_two_hosts(commands: Any) -> None:
    fig4 = _add(
        commands, 'fairness-fig4', fairness_fig4.from_arguments, interval=10.0, duration=900.0,
        text='Two hosts and three users, CPU and disk, exchange over RabbitMQ.',
    )  # fmt: skip
    fig4.add_argument(
        '--bfq', action='store_true',
        help="put the guests' disks on a slow loop device under BFQ, where disk weights act",
    )  # fmt: skip
    bystanders = _add(
        commands, fairness_bystanders.NAME, fairness_bystanders.from_arguments, interval=10.0,
        duration=600.0,
        text='Two hosts, user d busy on both and e on one, beside 1 to 10 idle users: e gets 3/4.',
    )  # fmt: skip
    fairness_bystanders.add_arguments(bystanders)


def _add_merkat(commands: Any) -> None:
    text = (
        'A batch workload on the market, FCFS, EASY and EDF: satisfaction by contention; simulated.'
    )
    _add_simulated(commands, 'merkat-fig5', merkat_fig5, text)
    text = 'The workload of merkat-fig5 with a better policy, a central scheduler and a bound; simulated.'
    _add_simulated(commands, 'merkat-beyond', merkat_beyond, text)
    text = '160 parallel applications on ten nodes: the market against EASY backfilling; simulated.'
    _add_simulated(commands, 'merkat-maui', merkat_maui, text)
    text = 'Two batch frameworks that grow and shrink with their queues and the price; simulated.'
    _add_simulated(commands, 'merkat-fig6', merkat_fig6, text)
    text = (
        'A deadline that is moved while the application runs, beside best-effort ones; simulated.'
    )
    _add_simulated(commands, 'merkat-fig8', merkat_fig8, text)


def _add_jobs(commands: Any) -> None:
    text = 'Jobs of three applications in queues with shares that bind all or long ones; simulated.'
    _add_simulated(commands, svmsched.NAME, svmsched, text)
    text = 'Job policies on any log: waits, slowdown, utilisation, and a wide job that may starve; simulated.'
    _add_simulated(commands, job_policies.NAME, job_policies, text)


def _add_grid(commands: Any) -> None:
    text = 'What users of a tender gain by trying again and by keeping offers; simulated.'
    _add_simulated(commands, grid_fig5.NAME, grid_fig5, text)
    text = 'Waiting tasks of a tender in the order of importance, or of risk; simulated.'
    _add_simulated(commands, grid_fig6.NAME, grid_fig6, text)
    text = 'Workers of a tender follow a load that changes; simulated.'
    _add_simulated(commands, grid_fig7.NAME, grid_fig7, text)
    text = 'Users of a tender who ask for little, more and too much, on three clusters; simulated.'
    _add_simulated(commands, grid_fig8.NAME, grid_fig8, text)
    text = 'Other price rules of a tender, a bound, and the arrivals of a log; simulated.'
    _add_simulated(commands, grid_beyond.NAME, grid_beyond, text)
    text = 'The same users on the small cluster until all tasks are over; simulated.'
    parser = commands.add_parser(grid_fig8.WHOLE, help=text, description=text)
    parser.set_defaults(run=grid_fig8.whole_from_arguments)
    grid_fig8.add_arguments(parser)
    _add_output(parser, grid_fig8.WHOLE)


def _add_simulated(commands: Any, name: str, experiment: Any, text: str) -> None:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=experiment.from_arguments)
    experiment.add_arguments(parser)
    _add_output(parser, name)


def _add_idle_guests(commands: Any) -> None:
    text = (
        'Nobody bids: an engine and projects of weight 1, 2 and 3 with a busy VM each on one CPU.'
    )
    parser = commands.add_parser(idle_guests.NAME, help=text, description=text)
    parser.set_defaults(run=lambda arguments: idle_guests.from_arguments(arguments, sqlite_stores))
    idle_guests.add_arguments(parser)
    _add_run(parser, idle_guests.NAME, 300.0)


def _add_day(commands: Any) -> None:
    text = 'A day of the VM market: three projects whose bids change, one that runs out of credit.'
    day = commands.add_parser('market-day', help=text, description=text)
    day.set_defaults(run=market_day.from_arguments)
    day.add_argument(
        '--period', type=_seconds, default=60.0, metavar='S',
        help='seconds of one round (default: %(default)g)',
    )  # fmt: skip
    _add_output(day, 'market-day')


def _add(
    commands: Any, name: str, run: Run, *, text: str, interval: float | None, duration: float
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=run)
    if interval is None:
        parser.add_argument(
            '--interval', type=_seconds, nargs='+', default=[1.0, 2.0, 4.0, 8.0, 16.0], metavar='S',
            help='seconds between rounds, several values (default: 1 2 4 8 16)',
        )  # fmt: skip
    else:
        parser.add_argument(
            '--interval', type=_seconds, default=interval, metavar='S',
            help='seconds between rounds (default: %(default)g)',
        )  # fmt: skip
    parser.add_argument('--off', action='store_true', help='without nova-fairness, as a baseline')
    _add_run(parser, name, duration)
    return parser


def _add_run(parser: argparse.ArgumentParser, name: str, duration: float) -> None:
    """What experiments on guests have in common."""
    parser.add_argument(
        '--duration',
        type=_seconds,
        default=duration,
        metavar='S',
        help='seconds to run (default: %(default)g)',
    )
    parser.add_argument(
        '--state',
        type=Path,
        default=STATE,
        metavar='DIR',
        help='where hosts and guests live (default: %(default)s)',
    )
    _add_output(parser, name)


def _add_output(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        '--output', type=Path, default=Path('experiments') / name, metavar='DIR',
        help='where results go (default: %(default)s)',
    )  # fmt: skip


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 <= value <= 86400:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number of seconds from 0.5 to 86400')
    return value


if __name__ == '__main__':
    sys.exit(main())
