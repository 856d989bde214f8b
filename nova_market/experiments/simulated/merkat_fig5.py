# SPDX-License-Identifier: Apache-2.0
"""Total satisfaction and jobs in time by contention: the market against FCFS, EASY and EDF.

Reproduces Merkat (INRIA RR-8648), section 3.2.2, figure 5: the first 1000 jobs of HPC2N on 120 nodes of
2 CPUs, inter-arrival times scaled by 0.1 (most contended) to 1, deadlines 1.5 to 10 times the run time,
budgets 2000 credits / that factor per period, four repetitions. The log is read from a path that is given.

Settled here, where the paper is silent: rounds of 60 s; the budget is an application's, not a task's; the
cloud is undivided and memory is plenty; suspending and resuming is free; FCFS and EDF do not pass the
first in the queue; EDF drops what can no longer be in time (`edf`), and without that it is `edf_keep`.
"""

import argparse
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.errors import BadWorkload
from nova_market.experiments.guests.recording import rounded, write_summary, write_table
from nova_market.experiments.simulated.verdict import Finding, not_judged, verdict
from nova_market.sim.baseline.batch import easy, edf, fcfs
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.workload.job import Terms, Workload, fitting, scaled, terms
from nova_market.sim.workload.swf import read_log

PROCESSORS = 240
JOBS = 1000
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BOUNDLESS = 1e9
"""MiB: memory is no bottleneck here."""

DISCIPLINES = ('market', 'fcfs', 'easy', 'edf', 'edf_keep')

CLOSE = 0.05
"""How far below EDF the satisfaction of the market may be where contention is low."""

Row = dict[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    log: Path
    jobs: int = JOBS
    processors: int = PROCESSORS
    levels: tuple[float, ...] = LEVELS
    repetitions: int = 4
    period: float = 60.0
    seed: int = 1
    workers: int = 1
    output: Path = field(default_factory=Path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment merkat-fig5`."""
    parser.add_argument(
        '--log', type=Path, required=True, metavar='SWF',
        help='the HPC2N log of the Parallel Workloads Archive, plain or gzip',
    )  # fmt: skip
    parser.add_argument('--jobs', type=int, default=JOBS, help='the first N (default: %(default)d)')
    parser.add_argument(
        '--levels', type=float, nargs='+', default=list(LEVELS), metavar='F',
        help='factors of the inter-arrival times (default: 0.1 to 1)',
    )  # fmt: skip
    parser.add_argument('--repetitions', type=int, default=4, help='default: %(default)d')
    parser.add_argument('--seed', type=int, default=1, help='default: %(default)d')
    parser.add_argument(
        '--period', type=float, default=60.0, metavar='S',
        help='seconds of one round (default: %(default)g)',
    )  # fmt: skip
    parser.add_argument(
        '--workers', type=int, default=1, help='processes at a time (default: %(default)d)'
    )


def setting_of(arguments: argparse.Namespace) -> Setting:
    return Setting(
        log=arguments.log,
        jobs=arguments.jobs,
        levels=tuple(sorted(arguments.levels)),
        repetitions=arguments.repetitions,
        period=arguments.period,
        seed=arguments.seed,
        workers=arguments.workers,
        output=arguments.output,
    )


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = setting_of(arguments)
    setting.output.mkdir(parents=True, exist_ok=True)
    rows = list(measure(setting))
    summary = judge(rows, setting)
    report(setting.output, rows, summary)
    return summary


def measure(setting: Setting) -> Iterator[Row]:
    """A row for each level, repetition and discipline; the same with any number of workers."""
    if not 0.5 <= setting.period <= 86400 or setting.repetitions < 1 or setting.jobs < 1:
        raise BadWorkload(
            f'period {setting.period:g}, {setting.repetitions} repetitions, {setting.jobs} jobs: '
            'give 0.5 to 86400 seconds, and at least one of the others'
        )
    log = fitting(read_log(setting.log).jobs.first(setting.jobs), setting.processors)
    cases = [(level, r) for level in setting.levels for r in range(setting.repetitions)]
    one = partial(_case, log, setting)
    if setting.workers > 1:
        with ProcessPoolExecutor(setting.workers, get_context('spawn')) as pool:
            for rows in pool.map(one, cases):
                yield from rows
    else:
        for case in cases:
            yield from one(case)


def _case(log: Workload, setting: Setting, case: tuple[float, int]) -> list[Row]:
    level, repetition = case
    jobs = scaled(log, level)
    # deadlines of a repetition are those of all levels: levels differ by contention alone
    wanted = terms(jobs, np.random.default_rng([setting.seed, repetition]))
    rows: list[Row] = []
    for name in DISCIPLINES:
        schedule = _schedule(name, jobs, wanted, setting)
        rows.append(
            {
                'level': level,
                'repetition': repetition,
                'discipline': name,
                'satisfaction': schedule.satisfaction(wanted),
                'success': schedule.success(wanted),
                'makespan': schedule.makespan(),
            }
        )
    return rows


def _schedule(name: str, jobs: Workload, wanted: Terms, setting: Setting) -> Schedule:
    capacity = setting.processors
    run: dict[str, Callable[[], Schedule]] = {
        'fcfs': lambda: fcfs(jobs, capacity),
        'easy': lambda: easy(jobs, capacity),
        'edf': lambda: edf(jobs, capacity, wanted),
        'edf_keep': lambda: edf(jobs, capacity, wanted, drop=False),
        'market': lambda: market(jobs, wanted, setting),
    }
    return run[name]()


def market(jobs: Workload, wanted: Terms, setting: Setting) -> Schedule:
    """Every job as an application with the policy of section 3.2.1."""
    run = undivided_run(
        jobs,
        wanted,
        (float(setting.processors), BOUNDLESS),
        full_deadline,
        MarketSetting(period=setting.period),
    )
    return run.run().schedule


def judge(rows: Sequence[Row], setting: Setting) -> dict[str, Any]:
    """What the paper claims, on these numbers, as far as these levels can show it."""
    means = {name: means_of(rows, name, 'satisfaction') for name in DISCIPLINES}
    success = {name: means_of(rows, name, 'success') for name in DISCIPLINES}
    levels = list(setting.levels)
    middle = [i for i, level in enumerate(levels) if 0.4 <= level <= 0.7]
    light = [i for i, level in enumerate(levels) if level >= 0.8]
    gain = {name: means['market'] - means[name] for name in DISCIPLINES}
    claims: dict[str, Finding] = {
        'the market is above FCFS at every level': (gain['fcfs'] > 0).all(),
        'the market is above EASY at every level': (gain['easy'] > 0).all(),
        'the market is above EDF that drops nothing at every level': (gain['edf_keep'] > 0).all(),
        'EDF is above the market where contention is highest': gain['edf'][0] < 0
        if levels[0] <= LEVELS[0]
        else not_judged(f'no level of {LEVELS[0]:g}'),
        'the market is above EDF at medium contention': (gain['edf'][middle] > 0).all()
        if middle
        else not_judged('no level from .4 to .7'),
        'and close to it where contention is low': (gain['edf'][light] > -CLOSE).all()
        if light
        else not_judged('no level from .8 up'),
    }
    return {
        'experiment': 'merkat-fig5',
        'log': setting.log.name,
        'log_sha256': hashlib.sha256(setting.log.read_bytes()).hexdigest(),
        'jobs': setting.jobs,
        'period': setting.period,
        'repetitions': setting.repetitions,
        'seed': setting.seed,
        'levels': levels,
        'satisfaction': {name: rounded(values) for name, values in means.items()},
        'success': {name: rounded(values) for name, values in success.items()},
        'deviation': {
            name: rounded(means_of(rows, name, 'satisfaction', np.std)) for name in DISCIPLINES
        },
        **verdict(claims),
    }


def means_of(
    rows: Sequence[Row], discipline: str, column: str, fold: Callable[..., Any] = np.mean
) -> Any:
    """One number for each level, in their order: the mean (or another fold) of the repetitions."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if row['discipline'] == discipline:
            found.setdefault(float(row['level']), []).append(float(row[column]))
    return np.array([fold(found[level]) for level in sorted(found)])


def report(output: Path, rows: Sequence[Row], summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    write_table(output / 'merkat-fig5.csv', rows)
    _plot(output / 'merkat-fig5.png', rows, summary['levels'])
    write_summary(output / 'summary.json', summary)


def _plot(path: Path, rows: Sequence[Row], levels: list[float]) -> None:
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for name in DISCIPLINES:
        for axis, column in zip(axes, ('satisfaction', 'success'), strict=True):
            axis.errorbar(
                levels,
                means_of(rows, name, column),
                means_of(rows, name, column, np.std),
                label=name,
                capsize=2,
                linewidth=1.2,
            )
    for axis, label in zip(
        axes, ('satisfaction / all budgets', 'part of jobs in time'), strict=True
    ):
        axis.set_xlabel('factor of inter-arrival times')
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
