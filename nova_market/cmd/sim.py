# SPDX-License-Identifier: Apache-2.0
"""nova-market-sim: runs a scenario of the simulator and writes what came of each job."""

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from nova_market.errors import NovaMarketError
from nova_market.sim import scenario as scenarios
from nova_market.sim.scenario import Case, Scenario

PROGRAM = 'nova-market-sim'

COLUMNS = (
    'scale', 'seed', 'discipline', 'job', 'submit', 'run', 'processors',
    'deadline', 'budget', 'start', 'end', 'in_time', 'paid',
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0, or 2 when the scenario cannot be run."""
    arguments = _parser().parse_args(argv)
    try:
        scenario = scenarios.load(arguments.scenario)
        arguments.output.mkdir(parents=True, exist_ok=True)
        summary = run(scenario, arguments.output, quiet=arguments.quiet)
    except (NovaMarketError, OSError) as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 2
    print(json.dumps(summary, indent=2))
    return 0


def run(scenario: Scenario, output: Path, *, quiet: bool = True) -> dict[str, Any]:
    """jobs.csv and summary.json in `output`; the summary."""
    rows: list[dict[str, Any]] = []
    total = len(scenarios.cases(scenario))
    with (output / 'jobs.csv').open('w', newline='', encoding='utf-8') as stream:
        csv.writer(stream).writerow(COLUMNS)
        began = time.monotonic()
        for number, case in enumerate(scenarios.runs(scenario), 1):
            _write(stream, case)
            rows.append(_line(case))
            if not quiet:
                _progress(number, total, time.monotonic() - began)
    summary = {'scenario': scenario.name, 'runs': rows}
    (output / 'summary.json').write_text(json.dumps(summary, indent=2) + '\n', encoding='utf-8')
    return summary


def _line(case: Case) -> dict[str, Any]:
    wait = case.schedule.wait(case.jobs)
    started = wait[np.isfinite(wait)]
    return {
        'scale': case.scale,
        'seed': case.seed,
        'discipline': case.discipline,
        'jobs': len(case.jobs),
        'satisfaction': round(case.schedule.satisfaction(case.terms), 6),
        'in_time': round(case.schedule.success(case.terms), 6),
        'finished': round(float(case.schedule.finished().mean()), 6) if len(case.jobs) else 0.0,
        'mean_wait': round(float(started.mean()), 3) if len(started) else 0.0,
        'makespan': round(case.schedule.makespan(), 3),
    }


def _write(stream: TextIO, case: Case) -> None:
    jobs, schedule = case.jobs, case.schedule
    paid = np.zeros(len(jobs)) if case.paid is None else case.paid
    columns = (
        jobs.number, jobs.submit, jobs.run, jobs.processors, case.terms.deadline,
        case.terms.budget, schedule.start, schedule.end, schedule.in_time(case.terms), paid,
    )  # fmt: skip
    writer = csv.writer(stream)
    for values in zip(*(column.tolist() for column in columns), strict=True):
        # what never began or ended is empty, not "nan"
        known = ('' if value != value else _text(value) for value in values)
        writer.writerow((case.scale, case.seed, case.discipline, *known))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f'{value:.6f}'.rstrip('0').rstrip('.') if isinstance(value, float) else str(value)


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
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    text = (
        'Run a scenario: jobs.csv and summary.json in a directory, the summary on standard output.'
    )
    command = commands.add_parser('run', help=text, description=text)
    command.add_argument('scenario', type=Path, metavar='SCENARIO.yaml')
    command.add_argument(
        '--output', type=Path, default=Path('simulation'), metavar='DIR',
        help='where results go (default: %(default)s)',
    )  # fmt: skip
    command.add_argument('--quiet', action='store_true', help='no progress bar')
    return parser


if __name__ == '__main__':
    sys.exit(main())
