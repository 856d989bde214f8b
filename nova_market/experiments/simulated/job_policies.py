# SPDX-License-Identifier: Apache-2.0
"""Job policies on any log: waits, slowdown, utilisation, wide jobs; and which policies starve a wide job.

Beyond SVMSched (papers, section 6), which compares its two policies on one workload. Rules J3 and J7 of
doc/source/specs/jobs.rst. Units: seconds, cores. The log is read from a path that is given.

Starvation is shown where it is so by construction (wide_job): a wide job beside a stream of narrow ones,
and beside one that is twice as long. A policy starves it when it waits until the stream ends, twice as
long then too.
On the log no such claim can be made: the measures are printed, and all jobs must end under policies whose
shares allow them to.
"""

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.resource import Array
from nova_market.errors import BadWorkload
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated.job_policies_plot import plot_policies
from nova_market.experiments.simulated.verdict import Finding, not_judged, verdict
from nova_market.experiments.simulated.wide_job import GAP, SOON, wide_wait
from nova_market.sim.job.job_run import WorkerSetting
from nova_market.sim.job.measures import measures_of
from nova_market.sim.job.policy_selector import SHORT_BELOW, QueueSetting
from nova_market.sim.job.simulation import (
    FIRST_COME,
    Cluster,
    equal_shares,
    shares_by_jobs,
    simulate,
)
from nova_market.sim.job.submission import GROUPINGS, Submissions, from_log
from nova_market.sim.workload.job import scaled
from nova_market.sim.workload.swf import Log, read_log

NAME = 'job-policies'

POLICIES = (FIRST_COME, 'rigid', 'flexible', 'easy', 'conservative', 'fair_tree')

STARVING = ('flexible', 'rigid', 'value')
KEEPING = (FIRST_COME, 'easy', 'conservative', 'fair_tree')
"""Policies that pass a wide job over for ever, and those that keep room for it."""

NARROW = (50, 100)
"""Jobs of the two streams."""

WHOLE = 'whole'
SHARES = (WHOLE, 'equal', 'jobs')

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """jobs: the first N, 0 for all; scale: factor of the times between arrivals; shares: one of SHARES"""

    log: Path
    policies: tuple[str, ...] = POLICIES
    by: str = 'user'
    jobs: int = 0
    hosts: int = 1
    cores: int = 240
    scale: float = 1.0
    shares: str = WHOLE
    short_below: float = SHORT_BELOW
    workers: WorkerSetting = field(default_factory=WorkerSetting)
    output: Path = field(default_factory=Path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment job-policies`."""
    parser.add_argument(
        '--workload', type=Path, required=True, metavar='SWF', help='a log, plain or gzip'
    )
    parser.add_argument(
        '--policy', nargs='+', default=list(POLICIES), metavar='NAME',
        help=f'plug-ins of nova_market.job_policy, and {FIRST_COME} (default: {" ".join(POLICIES)})',
    )  # fmt: skip
    parser.add_argument(
        '--by', choices=GROUPINGS, default='user',
        help='the column of the log that makes queues; none: one queue (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--jobs', type=int, default=0, metavar='N', help='the first N (default: all)'
    )
    parser.add_argument('--hosts', type=int, default=1, help='default: %(default)d')
    parser.add_argument(
        '--cores', type=int, default=240,
        help='of each host; wider jobs are gangs of servers on several (default: %(default)d)',
    )  # fmt: skip
    parser.add_argument(
        '--scale', type=float, default=1.0, metavar='F',
        help='factor of the times between arrivals: 0.1 is ten times the load (default: %(default)g)',
    )  # fmt: skip
    parser.add_argument(
        '--shares', choices=SHARES, default=WHOLE,
        help='of each queue: the whole cloud, equal parts, or by its number of jobs (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--short-below', type=float, default=SHORT_BELOW, metavar='S',
        help='seconds of the longest short job (default: %(default)g)',
    )  # fmt: skip
    for name, what in (
        ('boot', 'until a worker is there'),
        ('keep', 'that a worker without a job stays for the next one'),
    ):
        parser.add_argument(
            f'--{name}', type=float, default=0.0, metavar='S',
            help=f'seconds {what} (default: %(default)g)',
        )  # fmt: skip


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(
        log=arguments.workload,
        policies=tuple(dict.fromkeys(arguments.policy)),
        by=arguments.by,
        jobs=arguments.jobs,
        hosts=arguments.hosts,
        cores=arguments.cores,
        scale=arguments.scale,
        shares=arguments.shares,
        short_below=arguments.short_below,
        workers=WorkerSetting(boot=arguments.boot, keep=arguments.keep),
        output=arguments.output,
    )
    jobs, left_out = submitted(read_log(setting.log), setting)
    rows = [measured(jobs, policy, setting) for policy in setting.policies]
    waited = starvation(setting.policies)
    summary = described(jobs, left_out, setting) | judge(rows, waited, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, rows, waited, summary)
    return summary


def submitted(log: Log, setting: Setting) -> tuple[Submissions, int]:
    """(the jobs of the log that fit the cloud, how many do not).

    :raises BadWorkload: none does, or there are no such shares.
    """
    if setting.jobs < 0 or setting.shares not in SHARES:
        raise BadWorkload(
            f'{setting.jobs} jobs and shares {setting.shares!r:.40}: give 0 or more, and '
            f'one of {", ".join(SHARES)}'
        )
    count = setting.jobs or len(log.jobs)
    first = log.take(np.arange(min(count, len(log.jobs))))
    jobs = from_log(
        replace(first, jobs=scaled(first.jobs, setting.scale)),
        host_cores=setting.cores,
        grouping=setting.by,
    )
    room = jobs.servers <= setting.hosts * (setting.cores // jobs.cores)
    if not room.any():
        raise BadWorkload(
            f'{setting.log} has no job that fits {setting.hosts} hosts of {setting.cores} cores: give more'
        )
    return jobs.take(np.flatnonzero(room)), int((~room).sum())


def measured(jobs: Submissions, policy: str, setting: Setting) -> Row:
    """One policy in numbers."""
    cluster = Cluster(hosts=setting.hosts, cores=setting.cores)
    # a share of the whole cloud is no limit beside the room, so no job needs to be exempt from it
    short_below = 0.0 if setting.shares == WHOLE else setting.short_below
    queues = QueueSetting(shares=_shares(jobs, setting.shares), short_below=short_below)
    outcome = simulate(jobs, cluster, policy, queues, setting.workers)
    found = asdict(measures_of(jobs, outcome, cluster.total))
    row: Row = {'policy': policy}
    row |= {name: round(value, 4) for name, value in found.items()}
    return row | {'booted': outcome.booted, 'reused': outcome.reused}


def starvation(policies: Sequence[str]) -> dict[str, list[float]]:
    """Seconds that a wide job waits beside each of the streams NARROW, under each policy."""
    return {policy: [wide_wait(policy, narrow) for narrow in NARROW] for policy in policies}


def described(jobs: Submissions, left_out: int, setting: Setting) -> Row:
    """What was run: for whoever wants to repeat it."""
    span = float(np.ptp(jobs.submit))
    work = float((jobs.run * jobs.width).sum())
    total = setting.hosts * setting.cores
    return {
        'experiment': NAME,
        'workload': setting.log.name,
        'workload_sha256': hashlib.sha256(setting.log.read_bytes()).hexdigest(),
        'jobs': len(jobs),
        'left_out': left_out,
        'queues': len(jobs.queues),
        'widest': int(jobs.width.max()),
        'hosts': setting.hosts,
        'cores': setting.cores,
        'scale': setting.scale,
        'shares': setting.shares,
        'offered_load': round(work / (span * total), 4) if span > 0 else None,
        'boot': setting.workers.boot,
        'keep': setting.workers.keep,
    }


def judge(rows: Sequence[Row], waited: Mapping[str, Sequence[float]], setting: Setting) -> Row:
    """The tables, and the claims about starvation, with a verdict."""
    claims: dict[str, Finding] = {}
    for policy, seconds in waited.items():
        if policy in STARVING:
            claims[f'{policy}: a wide job waits until the stream of narrow ones ends'] = all(
                wait >= narrow * GAP - GAP for wait, narrow in zip(seconds, NARROW, strict=True)
            )
        elif policy in KEEPING:
            claims[f'{policy}: a wide job waits the same, however long the stream is'] = (
                max(seconds) <= SOON and len(set(seconds)) == 1
            )
    for row in rows:
        claims[f'{row["policy"]}: every job ends'] = (
            row['unfinished'] == 0
            if setting.shares == WHOLE
            else not_judged('a job that is larger than the share of its queue never starts')
        )
        # JSON has no infinity
    shown = {
        policy: [wait if np.isfinite(wait) else None for wait in seconds]
        for policy, seconds in waited.items()
    }
    return {'table': list(rows), 'wide_job': shown, **verdict(claims)}


def report(
    output: Path, rows: Sequence[Row], waited: Mapping[str, Sequence[float]], summary: Row
) -> None:
    """CSV, PNG and summary.json in `output`."""
    write_table(output / f'{NAME}.csv', rows)
    plot_policies(output / f'{NAME}.png', rows, waited, NARROW)
    write_summary(output / 'summary.json', summary)


def _shares(jobs: Submissions, shares: str) -> Array:
    if shares == WHOLE:
        return np.ones(len(jobs.queues))
    return shares_by_jobs(jobs) if shares == 'jobs' else equal_shares(jobs)
