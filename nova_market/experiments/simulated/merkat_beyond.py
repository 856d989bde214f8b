# SPDX-License-Identifier: Apache-2.0
"""A better policy on the workload of figure 5, and what deciding apart costs.

Beyond Merkat (INRIA RR-8648), section 3.2.2, where EDF is better than the market at high contention: the same
workload, levels and repetitions with the policy value_density, against EDF that drops what is lost, against a
central scheduler that orders by the same worth, and against a bound of what any scheduler could get.

The price of decentralisation is 1 - (budgets in time on the market) / (the same of the central scheduler).
"""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.app.policies.value_density import value_density
from nova_market.experiments.guests.recording import rounded, write_summary, write_table
from nova_market.experiments.simulated import merkat_fig5
from nova_market.experiments.simulated.merkat_fig5 import (
    BOUNDLESS,
    LEVELS,
    Row,
    Setting,
    means_of,
)
from nova_market.experiments.simulated.verdict import Finding, not_judged, verdict
from nova_market.sim.baseline.batch import edf
from nova_market.sim.baseline.bound import satisfaction_bound
from nova_market.sim.baseline.central import by_worth
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.workload.job import Terms, Workload, fitting, scaled, terms
from nova_market.sim.workload.swf import read_log

DISCIPLINES = ('value_density', 'edf', 'central', 'bound')

NEVER_BELOW = 0.01
"""How far below EDF the satisfaction may be at any level."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment merkat-beyond`: those of merkat-fig5."""
    merkat_fig5.add_arguments(parser)


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = merkat_fig5.setting_of(arguments)
    rows = list(measure(setting))
    summary = judge(rows, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, rows, summary)
    return summary


def measure(setting: Setting) -> Iterator[Row]:
    """A row for each level, repetition and discipline; the bound has no success."""
    log = fitting(read_log(setting.log).jobs.first(setting.jobs), setting.processors)
    for level in setting.levels:
        for repetition in range(setting.repetitions):
            jobs = scaled(log, level)
            wanted = terms(jobs, np.random.default_rng([setting.seed, repetition]))
            where: Row = {'level': level, 'repetition': repetition}
            for row in compare(jobs, wanted, setting.processors, setting.period):
                yield where | row


def compare(jobs: Workload, wanted: Terms, processors: int, period: float) -> Iterator[Row]:
    """A row for each discipline on one workload."""
    market = undivided_run(
        jobs,
        wanted,
        (float(processors), BOUNDLESS),
        value_density,
        MarketSetting(period=period),
    ).run()
    schedules = {
        'value_density': market.schedule,
        'edf': edf(jobs, processors, wanted),
        'central': by_worth(jobs, processors, wanted, period),
    }
    for name, schedule in schedules.items():
        yield {
            'discipline': name,
            'satisfaction': schedule.satisfaction(wanted),
            'success': schedule.success(wanted),
            'suspensions': float(market.suspensions.sum()) if schedule is market.schedule else 0.0,
        }
    bound = satisfaction_bound(jobs, processors, wanted)
    yield {'discipline': 'bound', 'satisfaction': bound, 'success': np.nan, 'suspensions': 0.0}


def judge(rows: Sequence[Row], setting: Setting) -> dict[str, Any]:
    """Whether the market is never below EDF, and the price of deciding apart."""
    means = {name: means_of(rows, name, 'satisfaction') for name in DISCIPLINES}
    won = {name: (1.0 + values) / 2.0 for name, values in means.items()}
    gain = means['value_density'] - means['edf']
    claims: dict[str, Finding] = {
        'the market is not below EDF at any level': (gain > -NEVER_BELOW).all(),
        'and above it where contention is highest': gain[0] > 0
        if setting.levels[0] <= LEVELS[0]
        else not_judged(f'no level of {LEVELS[0]:g}'),
        'nobody is above the bound': all(
            (means[name] <= means['bound'] + 1e-6).all() for name in DISCIPLINES
        ),
    }
    return {
        'experiment': 'merkat-beyond',
        'log': setting.log.name,
        'log_sha256': hashlib.sha256(setting.log.read_bytes()).hexdigest(),
        'jobs': setting.jobs,
        'period': setting.period,
        'repetitions': setting.repetitions,
        'seed': setting.seed,
        'levels': list(setting.levels),
        'satisfaction': {name: rounded(values) for name, values in means.items()},
        'success': {name: rounded(means_of(rows, name, 'success')) for name in DISCIPLINES[:-1]},
        'suspensions': rounded(means_of(rows, 'value_density', 'suspensions')),
        'gain_over_edf': rounded(gain),
        'price_of_decentralisation': rounded(1.0 - won['value_density'] / won['central']),
        'part_of_the_bound': rounded(won['value_density'] / won['bound']),
        **verdict(claims),
    }


def report(output: Path, rows: Sequence[Row], summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    write_table(output / 'merkat-beyond.csv', rows)
    _plot(output / 'merkat-beyond.png', rows, summary['levels'])
    write_summary(output / 'summary.json', summary)


def _plot(path: Path, rows: Sequence[Row], levels: list[float]) -> None:
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4))
    for name in DISCIPLINES:
        axis.errorbar(
            levels,
            means_of(rows, name, 'satisfaction'),
            means_of(rows, name, 'satisfaction', np.std),
            label=name,
            capsize=2,
            linewidth=1.2,
        )
    axis.set_xlabel('factor of inter-arrival times')
    axis.set_ylabel('satisfaction / all budgets')
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
