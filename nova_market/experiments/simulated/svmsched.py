# SPDX-License-Identifier: Apache-2.0
"""Experiments 1 to 4 of SVMSched: shares that bind all jobs, or long ones only, and shares by demand.

Repeats SVMSched (papers, section 6): 96 jobs of three partitions of a log, which are applications with a
queue each, on 6 nodes of 8 cores. Units: seconds, cores. The log is read from a path that is given.

1. Equal shares, `rigid`; 2. equal shares, `flexible`; 3. and 4. all jobs in the first second, shares
equal, and by the number of jobs. The paper does not state which policy runs in 3 and 4, nor which of its
two averages belongs to which; 3 is read as `rigid` and 4 as `flexible`, and the other two combinations are
measured too. It also swaps two shares (9.5 and 6 cores of 48 for 12 and 19 jobs): here each application
has its own.

Settled here, where the paper is silent: equal priorities, no memory, no boot time, estimates are run times
where the log has none, averages over the time from the first submission to the last end.
"""

import argparse
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.resource import Rows
from nova_market.errors import BadWorkload
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated.svmsched_claims import CASES, Case, Result, judge
from nova_market.experiments.simulated.svmsched_plots import plot_applications
from nova_market.sim.job.measures import measures_of
from nova_market.sim.job.outcome import Outcome
from nova_market.sim.job.policy_selector import SHORT_BELOW, QueueSetting
from nova_market.sim.job.simulation import Cluster, equal_shares, shares_by_jobs, simulate
from nova_market.sim.job.submission import Submissions, at_once, from_log
from nova_market.sim.job.use import use_of
from nova_market.sim.workload.swf import ORIGINS, Log, read_log

NAME = 'svmsched'
APPLICATIONS = (8, 4, 2)
"""Partitions of the paper's log, which are App1, App2 and App3 [6.2]."""

JOBS = 96

FIGURES = {
    'figure5': ('rigid',),
    'figure6': ('flexible',),
    'figure7': ('once-equal', 'once-by-demand'),
    NAME: ('rigid', 'flexible'),
}
"""Runs of each figure of the paper, and of the first two together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """by: the column of the log that names applications; applications: their numbers, () for all of them"""

    log: Path
    by: str = 'partition'
    applications: tuple[int, ...] = APPLICATIONS
    jobs: int = JOBS
    hosts: int = 6
    cores: int = 8
    short_below: float = SHORT_BELOW
    output: Path = field(default_factory=Path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment svmsched`."""
    parser.add_argument(
        '--workload', type=Path, required=True, metavar='SWF', help='a log, plain or gzip'
    )
    parser.add_argument(
        '--by', choices=list(ORIGINS), default='partition',
        help='the column of the log that names applications (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--applications', type=int, nargs='*', default=list(APPLICATIONS), metavar='N',
        help='their numbers in that column; none: all that there are (default: 8 4 2)',
    )  # fmt: skip
    parser.add_argument('--jobs', type=int, default=JOBS, help='the last N (default: %(default)d)')
    parser.add_argument('--hosts', type=int, default=6, help='default: %(default)d')
    parser.add_argument(
        '--cores', type=int, default=8,
        help='of each host; wider jobs are left out (default: %(default)d)',
    )  # fmt: skip
    parser.add_argument(
        '--short-below', type=float, default=SHORT_BELOW, metavar='S',
        help='seconds of the longest short job (default: %(default)g)',
    )  # fmt: skip


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(
        log=arguments.workload,
        by=arguments.by,
        applications=tuple(arguments.applications),
        jobs=arguments.jobs,
        hosts=arguments.hosts,
        cores=arguments.cores,
        short_below=arguments.short_below,
        output=arguments.output,
    )
    results = measure(setting)
    summary = described(results, setting) | judge(results)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, results, summary)
    return summary


def measure(setting: Setting) -> dict[str, Result]:
    """All cases, by name."""
    jobs = chosen(read_log(setting.log), setting)
    cluster = Cluster(hosts=setting.hosts, cores=setting.cores)
    return {case.name: _run(case, jobs, cluster, setting.short_below) for case in CASES}


def chosen(log: Log, setting: Setting) -> Submissions:
    """The last jobs of the applications that fit a host [6.2]; a queue for each application, in their order.

    :raises BadWorkload: there are none.
    """
    origin = log.origins[setting.by]
    names = setting.applications or tuple(np.unique(origin).tolist())
    narrow = log.jobs.processors <= setting.cores
    rows: Rows = np.flatnonzero(np.isin(origin, names) & narrow)[-max(setting.jobs, 0) :]
    if setting.jobs < 1 or not len(rows):
        raise BadWorkload(
            f'{setting.log} has no job of {setting.by} {", ".join(map(str, names))} with at most '
            f'{setting.cores} processors among the last {setting.jobs}: choose others with --by '
            'and --applications'
        )
    jobs = from_log(log.take(rows), host_cores=setting.cores)
    present = [name for name in names if (origin[rows] == name).any()]
    queue = np.array([present.index(name) for name in origin[rows].tolist()], dtype=np.intp)
    return jobs.in_queues(queue, tuple(f'App{number}' for number in range(1, len(present) + 1)))


def described(results: Mapping[str, Result], setting: Setting) -> dict[str, Any]:
    """What was run: for whoever wants to repeat it."""
    jobs = results['rigid'].jobs
    long = jobs.time_limit > setting.short_below
    return {
        'experiment': NAME,
        'workload': setting.log.name,
        'workload_sha256': hashlib.sha256(setting.log.read_bytes()).hexdigest(),
        'applications': dict(zip(jobs.queues, np.bincount(jobs.queue).tolist(), strict=True)),
        'core_seconds': float((jobs.run * jobs.width).sum()),
        'long_part': round(float(jobs.run[long].sum() / jobs.run.sum()), 4),
        'hosts': setting.hosts,
        'cores': setting.cores,
        'short_below': setting.short_below,
    }


def report(output: Path, results: Mapping[str, Result], summary: Mapping[str, Any]) -> None:
    """CSV of the table and of the jobs, figures 5 to 7 as PNG, and summary.json in `output`."""
    write_table(output / f'{NAME}.csv', summary['table'])
    for name, one in results.items():
        write_table(output / f'jobs-{name}.csv', job_rows(one.jobs, one.outcome))
    for figure, names in FIGURES.items():
        plot_applications(output / f'{figure}.png', [results[name] for name in names])
    write_summary(output / 'summary.json', summary)


def _run(case: Case, jobs: Submissions, cluster: Cluster, short_below: float) -> Result:
    submitted = at_once(jobs) if case.once else jobs
    shares = shares_by_jobs(jobs) if case.by_demand else equal_shares(jobs)
    setting = QueueSetting(shares=shares, short_below=short_below)
    outcome = simulate(submitted, cluster, case.policy, setting)
    return Result(
        case=case,
        jobs=submitted,
        outcome=outcome,
        shares=shares * cluster.total,
        long=jobs.time_limit > short_below,
        use=use_of(submitted, outcome),
        measures=measures_of(submitted, outcome, cluster.total),
    )


def job_rows(jobs: Submissions, outcome: Outcome) -> list[dict[str, Any]]:
    """A row for each job, with the times of the attempt that counts."""
    return [
        {
            'job': int(jobs.number[row]),
            'queue': jobs.queues[jobs.queue[row]],
            'cores': int(jobs.width[row]),
            'submit': float(jobs.submit[row]),
            'start': float(outcome.start[row]),
            'end': float(outcome.end[row]),
        }
        for row in range(len(jobs))
    ]
