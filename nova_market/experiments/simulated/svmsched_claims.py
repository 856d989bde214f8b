# SPDX-License-Identifier: Apache-2.0
"""What SVMSched claims of its experiments, and what our runs of them show.

SVMSched (papers, sections 6.3 to 6.5). The limits of the claims are those of a stand-in for the paper's
log, which
cannot be had: wide enough for other jobs of the same kind, narrow enough to fail when a share is not kept.
Units: seconds, cores.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nova_market.core.resource import Array, Flags
from nova_market.experiments.simulated.verdict import Finding, not_judged, verdict
from nova_market.sim.job.measures import Measures, waits
from nova_market.sim.job.outcome import Outcome
from nova_market.sim.job.submission import Submissions
from nova_market.sim.job.use import Use, use_after_starts

ENOUGH = 20
"""Jobs below which averages and durations show nothing."""

MORE_CORES = 8
FASTER = (0.05, 0.12)
MORE_AVERAGE = 1.5
BY_DEMAND = 1.8
"""What the claims ask for; the paper has 13 cores, 7 %, 2.5 cores and 1.97."""

ROUNDING = 1e-6
"""Cores: use is whole numbers, shares are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """number: of the paper's experiment, 0 for none; printed: what the paper states of it"""

    name: str
    number: int
    policy: str
    by_demand: bool = False
    once: bool = False
    printed: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """For people."""
        shares = 'shares by demand' if self.by_demand else 'equal shares'
        return f'{self.policy}, {shares}' + (', all jobs at once' if self.once else '')


CASES = (
    Case(
        name='rigid', number=1, policy='rigid',
        printed={'duration': '> 35000', 'peak': '27', 'average': '15'},
    ),
    Case(
        name='flexible', number=2, policy='flexible',
        printed={'duration': '32700', 'peak': '40', 'average': '17.5'},
    ),
    Case(name='once-equal', number=3, policy='rigid', once=True, printed={'average': '17.5'}),
    Case(
        name='once-by-demand', number=4, policy='flexible', by_demand=True, once=True,
        printed={'average': '34.5'},
    ),
    Case(name='once-equal-flexible', number=0, policy='flexible', once=True),
    Case(name='once-by-demand-rigid', number=0, policy='rigid', by_demand=True, once=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Result:
    """One run. shares: (queues,) in cores; long: (jobs,) those that are not short"""

    case: Case
    jobs: Submissions
    outcome: Outcome
    shares: Array
    long: Flags
    use: Use
    measures: Measures


RIGID, FLEXIBLE, AT_ONCE, BY_JOBS = (case.name for case in CASES if case.number)


def judge(results: Mapping[str, Result]) -> dict[str, Any]:
    """The table against the paper, and its claims, with a verdict. results: by the names of CASES"""
    return {
        'table': [_row(one) for one in results.values()],
        'share_cores': {name: one.shares.round(3).tolist() for name, one in results.items()},
        **verdict(_claims(results)),
    }


def _claims(results: Mapping[str, Result]) -> dict[str, Finding]:
    rigid, flexible = results[RIGID], results[FLEXIBLE]
    first, second = rigid.measures, flexible.measures
    faster = 1.0 - second.makespan / first.makespan if first.makespan > 0 else 0.0
    kept: dict[str, Finding] = {
        'rigid: no application uses more than its share': _most_over(rigid) <= ROUNDING,
        'flexible: no long job takes its application over its share': (
            _most_over(flexible, only_long=True) <= ROUNDING
        ),
    }
    gained: dict[str, Finding] = {
        f'flexible uses at least {MORE_CORES} cores more at its peak': (
            second.peak_cores >= first.peak_cores + MORE_CORES
        ),
        f'flexible takes {FASTER[0]:.0%} to {FASTER[1]:.0%} less time': (
            FASTER[0] <= faster <= FASTER[1]
        ),
        f'flexible uses at least {MORE_AVERAGE:g} cores more on average': (
            second.average_cores >= first.average_cores + MORE_AVERAGE
        ),
        'flexible: the other applications wait no longer than with rigid': (
            _wait_of_others(flexible) <= _wait_of_others(rigid)
        ),
        f'all at once, shares by demand: at least {BY_DEMAND:g} times the average of equal ones': (
            _average(results, BY_JOBS) >= BY_DEMAND * _average(results, AT_ONCE)
        ),
    }
    if len(rigid.jobs) < ENOUGH:
        few = not_judged(f'{len(rigid.jobs)} jobs, {ENOUGH} are needed')
        gained = dict.fromkeys(gained, few)
    return kept | gained


def _most_over(result: Result, *, only_long: bool = False) -> float:
    """Cores by which a start took its queue over its share, at most; -inf without a start."""
    job = result.outcome.holdings.job
    over = use_after_starts(result.jobs, result.outcome) - result.shares[result.jobs.queue[job]]
    counted = over[result.long[job]] if only_long else over
    return float(counted.max(initial=-np.inf))


def _wait_of_others(result: Result) -> float:
    """Mean wait of all applications but the one with most work."""
    jobs = result.jobs
    work = np.bincount(jobs.queue, jobs.run * jobs.width, minlength=len(jobs.queues))
    others = waits(jobs, result.outcome)[jobs.queue != int(work.argmax())]
    return float(others.mean()) if len(others) else 0.0


def _average(results: Mapping[str, Result], name: str) -> float:
    return results[name].measures.average_cores


def _row(result: Result) -> dict[str, Any]:
    """A line of the table; `paper` is what is printed there."""
    case, measures = result.case, result.measures
    waited = waits(result.jobs, result.outcome)
    row = {
        'run': case.name,
        'experiment': case.number or '',
        'policy': case.policy,
        'shares': 'by demand' if case.by_demand else 'equal',
        'submitted': 'at once' if case.once else 'as in the log',
        'unfinished': measures.unfinished,
        'duration': measures.makespan,
        'duration_paper': case.printed.get('duration', ''),
        'peak': measures.peak_cores,
        'peak_paper': case.printed.get('peak', ''),
        'average': round(measures.average_cores, 2),
        'average_paper': case.printed.get('average', ''),
    }
    for number, name in enumerate(result.jobs.queues):
        mine = waited[result.jobs.queue == number]
        row |= {
            f'{name}_peak': result.use.peaks()[number],
            f'{name}_wait': round(float(mine.mean()), 1) if len(mine) else 0.0,
        }
    return row
