# SPDX-License-Identifier: Apache-2.0
"""160 parallel applications with deadlines on ten nodes: the market against EASY backfilling.

Reproduces Merkat (INRIA RR-8648), section 3.2.3, without guests: nodes of 700 CPU units are 70 cores, an
application has 1 to 8 processes, each in a server of a core; four runs. Maui, as the paper says, is first
come, first served with backfilling, on servers that are there already. Units: seconds, cores, credits per
period.

Work is `zephyr`, the run times that section 3.3.2 tells of a trace of such applications (normal, 2479 s and
1243.5 s, drawn again below a minute; sizes uniform), or `lublin`, sizes and run times of the model of Lublin
and Feitelson, at least ten minutes: a server takes longer to boot than its jobs of seconds run. Arrivals are
the model's.

Settled here, where the paper is silent: the offered load (work / cores in the time of the arrivals) is 4, at
which EASY does about as well as the paper's Maui; deadlines are 1.5 to 10 run times, as in section 3.2.2; the
budget is n / f for n processes and a factor f, scaled so that 8 / 1.5 is the paper's highest, 28700, and at
least its lowest, 1000; a server boots in 45 s and resumes in 8 s (900 MB over a gigabit link); rounds every
60 s; memory is plenty (63 of 230 GB).
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.app.policies.value_density import value_density
from nova_market.errors import BadWorkload
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated.verdict import Finding, verdict
from nova_market.sim.baseline.batch import easy, edf
from nova_market.sim.baseline.schedule import Schedule
from nova_market.sim.market.applications import MarketSetting
from nova_market.sim.market.undivided import undivided_run
from nova_market.sim.workload.job import FACTORS, Terms, Workload, offered_load
from nova_market.sim.workload.lublin import generate, kind_for

CORES = 70
APPLICATIONS = 160
WIDEST = 8
BUDGETS = (1000.0, 28700.0)
BOOT, RESUME = 45.0, 8.0
PERIOD = 60.0
PLENTY = 1e9

ZEPHYR = (2479.0, 1243.5)
SHORTEST = {'zephyr': 60.0, 'lublin': 600.0}

PAPERS = 'full_deadline'
"""The deadline-driven controller of section 3.2.1, with which the paper compares Maui."""

POLICIES: dict[str, Policy] = {PAPERS: full_deadline, 'value_density': value_density}
DISCIPLINES = (*POLICIES, 'easy', 'edf')

CLAIM = 0.15
"""At least so much more of the applications in time (the paper: 82.5 % and 58.1 %)."""

Row = dict[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """policy: whose verdict is the run's; both are measured and judged"""

    applications: int = APPLICATIONS
    work: str = 'zephyr'
    load: float = 4.0
    runs: int = 4
    seed: int = 1
    policy: str = PAPERS
    output: Path = field(default_factory=Path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment merkat-maui`."""
    plain = Setting()
    parser.add_argument(
        '--applications', type=int, default=plain.applications, help='default: %(default)d'
    )
    parser.add_argument(
        '--work', choices=sorted(SHORTEST), default=plain.work,
        help='what the applications are like (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--load', type=float, default=plain.load,
        help='work that arrives / work that the cloud can do meanwhile (default: %(default)g)',
    )  # fmt: skip
    parser.add_argument('--runs', type=int, default=plain.runs, help='default: %(default)d')
    parser.add_argument('--seed', type=int, default=plain.seed, help='default: %(default)d')
    parser.add_argument(
        '--policy', choices=list(POLICIES), default=plain.policy,
        help='whose verdict the exit code is; both are measured and judged (default: %(default)s, '
        "the paper's)",
    )  # fmt: skip


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(
        applications=arguments.applications,
        work=arguments.work,
        load=arguments.load,
        runs=arguments.runs,
        seed=arguments.seed,
        policy=arguments.policy,
        output=arguments.output,
    )
    rows = measure(setting)
    summary = judge(rows, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, rows, summary)
    return summary


def measure(setting: Setting) -> list[Row]:
    """A row for each run and discipline."""
    if setting.applications < 2 or setting.runs < 1 or not 0.01 <= setting.load <= 100:
        raise BadWorkload(
            f'{setting.applications} applications, {setting.runs} runs, load {setting.load:g}: '
            'give at least 2 applications, 1 run, and a load of 0.01 to 100'
        )
    rows: list[Row] = []
    for number in range(setting.runs):
        jobs, wanted = workload(setting, number)
        for name in DISCIPLINES:
            schedule = _schedule(name, jobs, wanted)
            share = schedule.satisfaction(wanted)
            rows.append(
                {
                    'run': number,
                    'discipline': name,
                    'in_time': schedule.success(wanted),
                    'satisfaction': share,
                    'credits': share * float(wanted.budget.sum()),
                }
            )
    return rows


def workload(setting: Setting, number: int) -> tuple[Workload, Terms]:
    """The applications of one run, and what their users want."""
    rng = np.random.default_rng([setting.seed, number])
    jobs = _like(generate(setting.applications, kind_for(WIDEST), rng), setting.work, rng)
    first = float(jobs.submit[0])
    scale = offered_load(jobs, CORES) / setting.load
    jobs = replace(jobs, submit=(jobs.submit - first) * scale)
    factor = rng.uniform(*FACTORS, len(jobs))
    base = BUDGETS[1] * FACTORS[0] / WIDEST
    budget = np.clip(base * jobs.processors / factor, *BUDGETS)
    return jobs, Terms(deadline=jobs.submit + factor * jobs.run, budget=budget)


def _like(jobs: Workload, work: str, rng: np.random.Generator) -> Workload:
    shortest, count = SHORTEST[work], len(jobs)
    if work == 'lublin':
        run = np.maximum(jobs.run, shortest)
        return replace(jobs, run=run, estimate=run)
    run = rng.normal(*ZEPHYR, count)
    while (low := run < shortest).any():
        run[low] = rng.normal(*ZEPHYR, int(low.sum()))
    sizes = rng.integers(1, WIDEST, count, endpoint=True)
    return replace(jobs, run=run, estimate=run, processors=sizes)


def _schedule(name: str, jobs: Workload, wanted: Terms) -> Schedule:
    batch: dict[str, Callable[[], Schedule]] = {
        'easy': lambda: easy(jobs, CORES),
        'edf': lambda: edf(jobs, CORES, wanted),
    }
    if name in batch:
        return batch[name]()
    setting = MarketSetting(period=PERIOD, start_cost=BOOT, resume_cost=RESUME)
    return (
        undivided_run(jobs, wanted, (float(CORES), PLENTY), POLICIES[name], setting).run().schedule
    )


def judge(rows: Sequence[Row], setting: Setting) -> dict[str, Any]:
    """What the paper claims, for its own policy and for ours; `passed` is the verdict of setting.policy."""
    in_time = {name: _mean(rows, name, 'in_time') for name in DISCIPLINES}
    worth = {name: _mean(rows, name, 'satisfaction') for name in DISCIPLINES}
    verdicts = {name: verdict(_claims(name, in_time, worth, setting)) for name in POLICIES}
    return {
        'experiment': 'merkat-maui',
        'applications': setting.applications,
        'work': setting.work,
        'load': setting.load,
        'runs': setting.runs,
        'seed': setting.seed,
        'in_time': {name: round(value, 4) for name, value in in_time.items()},
        'satisfaction': {name: round(value, 4) for name, value in worth.items()},
        'credits': {name: round(_mean(rows, name, 'credits')) for name in DISCIPLINES},
        'verdicts': verdicts,
        'policy': setting.policy,
        'passed': verdicts[setting.policy]['passed'],
    }


def _claims(
    policy: str, in_time: Mapping[str, float], worth: Mapping[str, float], setting: Setting
) -> dict[str, Finding]:
    claims: dict[str, Finding] = {
        'the market has at least 15 points more in time than EASY': in_time[policy]
        >= in_time['easy'] + CLAIM,
        'the market satisfies': worth[policy] > 0,
    }
    if setting.work == 'zephyr':
        claims['and EASY does not, though it has more than half in time'] = (
            worth['easy'] < 0 and in_time['easy'] > 0.5
        )
    return claims


def _mean(rows: Sequence[Row], name: str, column: str) -> float:
    return float(np.mean([float(row[column]) for row in rows if row['discipline'] == name]))


def report(output: Path, rows: Sequence[Row], summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    write_table(output / 'merkat-maui.csv', rows)
    _plot(output / 'merkat-maui.png', rows)
    write_summary(output / 'summary.json', summary)


def _plot(path: Path, rows: Sequence[Row]) -> None:
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for axis, column in zip(axes, ('in_time', 'credits'), strict=True):
        values = [
            [float(row[column]) for row in rows if row['discipline'] == name]
            for name in DISCIPLINES
        ]
        axis.bar(DISCIPLINES, [np.mean(v) for v in values], yerr=[np.std(v) for v in values])
        axis.set_ylabel({'in_time': 'part in time', 'credits': 'satisfaction, credits'}[column])
        axis.axhline(0.0, color='black', linewidth=0.8)
        axis.tick_params(axis='x', labelsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
