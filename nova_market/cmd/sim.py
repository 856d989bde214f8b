# SPDX-License-Identifier: Apache-2.0
"""nova-market-sim: runs scenarios of the simulator, one or a sweep, and writes what came of them."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nova_market.cmd import command_line
from nova_market.errors import ConfigurationError, NovaMarketError
from nova_market.ports import PlanStore
from nova_market.ports.stores import MarketStores
from nova_market.sim.scenario.sweep import Variant, results, tasks, variants
from nova_market.sim.scenario.tables import FORMATS, Results
from nova_market.sim.scenario.workers import Pool, pool_for

PROGRAM = 'nova-market-sim'


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0, or 2 when the scenario cannot be run."""
    arguments = _parser().parse_args(argv)
    try:
        chosen = variants(arguments.scenario, arguments.vary)
        formats = _formats(arguments.format)
        pool = pool_for(arguments.jobs, arguments.cluster)
        arguments.output.mkdir(parents=True, exist_ok=True)
        summary = run(chosen, arguments.output, pool, formats, arguments)
    except (NovaMarketError, OSError) as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 2
    print(json.dumps(summary, indent=2))
    return 0


def run(
    chosen: Sequence[Variant],
    output: Path,
    pool: Pool,
    formats: Sequence[str],
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Tables and summary.json in `output`, and pictures when they are asked for; the summary."""
    work = tasks(chosen, sqlite_stores)
    varied = list(chosen[0].values)
    lines: list[dict[str, Any]] = []
    shown = None
    began = time.monotonic()
    with Results(output, formats, varied) as sinks:
        for number, (variant, case) in enumerate(results(work, pool), 1):
            lines.append(sinks.add(case, variant.values))
            if shown is None and case.rounds is not None:
                shown = case
            if not arguments.quiet:
                _progress(number, len(work), time.monotonic() - began)
    summary: dict[str, Any] = {'scenario': chosen[0].scenario.name, 'runs': lines}
    (output / 'summary.json').write_text(json.dumps(summary, indent=2) + '\n', encoding='utf-8')
    if arguments.plot:
        _plot(output, lines, varied, shown)
    return summary


def sqlite_stores(wall: Callable[[], float]) -> tuple[MarketStores, PlanStore]:
    """Empty stores of the services, in memory."""
    # loaded where it is needed: most scenarios need no database
    from nova_market.wiring.sim_stores import open_stores

    return open_stores(wall)


def _plot(output: Path, lines: Sequence[dict[str, Any]], varied: Sequence[str], shown: Any) -> None:
    try:
        from nova_market.sim.scenario.plots import plot_rounds, plot_runs

        plot_runs(output / 'runs.png', lines, varied[0] if varied else 'scale')
        if shown is not None:
            plot_rounds(output / 'rounds.png', shown)
    except ImportError as error:
        raise ConfigurationError(
            f"pictures need matplotlib ({error}): pip install '.[sim]' in a checkout of nova-market"
        ) from error


def _formats(text: str) -> list[str]:
    chosen = text.split(',')
    unknown = sorted(set(chosen) - set(FORMATS))
    if unknown:
        raise ConfigurationError(f'format {unknown[0]!r:.40}: give {" or ".join(FORMATS)}')
    return chosen


def _progress(done: int, total: int, seconds: float) -> None:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return
    filled = 30 * done // total
    rest = seconds / done * (total - done)
    bar = '#' * filled + '.' * (30 - filled)
    end = '\n' if done == total else ''
    print(f'\r[{bar}] {done}/{total}, {rest:.0f} s left ', end=end, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description='Simulates batch workloads on the market and under batch schedulers.',
    )
    parser.add_argument('--version', action='version', version=command_line.version())
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    text = 'Run a scenario: tables and summary.json in a directory, the summary on standard output.'
    one = commands.add_parser('run', help=text, description=text)
    one.set_defaults(vary=[])
    text = 'Run a scenario with settings varied, every combination; results as those of run.'
    many = commands.add_parser('sweep', help=text, description=text)
    many.add_argument(
        '--vary', action='append', required=True, metavar='SETTING=A,B,...',
        help='values of a setting, named by its path: market.period=30,60; several times: all pairs',
    )  # fmt: skip
    for command in (one, many):
        _add_arguments(command)
    return parser


def _add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument('scenario', type=Path, metavar='SCENARIO.yaml')
    command.add_argument(
        '--output', type=Path, default=Path('simulation'), metavar='DIR',
        help='where results go (default: %(default)s)',
    )  # fmt: skip
    command.add_argument(
        '--format', default='csv', metavar='LIST',
        help='csv, parquet or csv,parquet (default: %(default)s)',
    )  # fmt: skip
    command.add_argument('--plot', action='store_true', help='runs.png and rounds.png as well')
    command.add_argument(
        '--jobs', type=int, default=1, metavar='N',
        help='processes at a time (default: %(default)d); the results are the same',
    )  # fmt: skip
    command.add_argument(
        '--cluster', default='', metavar='URL',
        help='run on a Dask or Ray cluster: dask://HOST:PORT or ray://HOST:PORT',
    )  # fmt: skip
    command.add_argument('--quiet', action='store_true', help='no progress bar')


if __name__ == '__main__':
    sys.exit(main())
