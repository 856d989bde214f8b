# SPDX-License-Identifier: Apache-2.0
"""Figures 8 and 9 of grid-cloud: users who ask for much do not take what others need.

Repeats INRIA RR-7837, section 4.5: 30 users of 2000 tasks, ten each with a task each 500, 200 and 25 s,
on one cluster. Figure 8 is the first 60,000 s on each of the three clusters, figure 9 the small one to
the end. Parameters in grid_setting.py.

The paper has high users run more after medium ones have finished, at about 400,000 s. That is when those
issue their last task; tasks of theirs that are never due still wait then, and are done with those of the
high users.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from nova_market.core.resource import Array, Flags
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated import grid_plots, grid_setting
from nova_market.experiments.simulated.grid_setting import Setting
from nova_market.experiments.simulated.verdict import verdict
from nova_market.sim.tender.cluster import CLUSTERS
from nova_market.sim.tender.outcome import Outcome
from nova_market.sim.tender.workload import UserTasks, users_of

NAME, WHOLE = 'grid-fig8', 'grid-fig9'
TASKS, EACH = 2000, 10
GAPS = {'low': 500.0, 'medium': 200.0, 'high': 25.0}
FIRST = 60_000.0
WINDOW = 100_000.0
"""Seconds before and after the last task of the medium users that are compared in figure 9."""

SLACK = 0.02
"""Part of the tasks by which an order of failures may be the other way round: they are a few tasks."""

add_arguments = grid_setting.add_arguments


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Of grid-fig8."""
    setting = grid_setting.setting_of(arguments)
    results = {name: measure(setting, name, FIRST * setting.part) for name in CLUSTERS}
    summary = grid_setting.described(NAME, setting) | judge(results, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    write_table(setting.output / f'{NAME}.csv', summary['table'])
    grid_plots.plot_users(setting.output / f'{NAME}.png', results, FIRST * setting.part)
    write_summary(setting.output / 'summary.json', summary)
    return summary


def whole_from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Of grid-fig9."""
    setting = grid_setting.setting_of(arguments)
    outcome = measure(setting, 'small', float('inf'))
    summary = grid_setting.described(WHOLE, setting) | judge_whole(outcome, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    write_table(setting.output / f'{WHOLE}.csv', summary['table'])
    grid_plots.plot_users(setting.output / f'{WHOLE}.png', {'small': outcome}, outcome.end)
    write_summary(setting.output / 'summary.json', summary)
    return summary


def tasks_of(setting: Setting) -> list[UserTasks]:
    """Low, medium and high users, one after the other."""
    gaps = [[(0.0, gap)] for gap in GAPS.values() for _ in range(EACH)]
    return users_of([setting.tasks(TASKS)] * len(gaps), gaps, setting.seed)


def measure(setting: Setting, cluster: str, until: float) -> Outcome:
    return grid_setting.run(grid_setting.market(setting, [cluster], until=until), tasks_of(setting))


def judge(results: Mapping[str, Outcome], setting: Setting) -> dict[str, Any]:
    """Of tasks that are over by 60,000 s, how many failed."""
    table = [
        {'cluster': name, 'users': kind, **_counts(one, kind, one.end)}
        for name, one in results.items()
        for kind in GAPS
    ]
    failed = {(row['cluster'], row['users']): row['failed_part'] for row in table}
    ordered = all(
        failed[name, 'low'] <= failed[name, 'medium'] + SLACK
        and failed[name, 'medium'] <= failed[name, 'high'] + SLACK
        for name in results
    )
    claims = {
        'nobody fails on the powerful cluster': max(failed['powerful', kind] for kind in GAPS) == 0,
        'who asks for more fails more, on each': grid_setting.whole(setting, ordered),
        'on the small one high users fail more than they run': grid_setting.whole(
            setting, failed['small', 'high'] > 0.5
        ),
        'on the small one low and medium users run most': grid_setting.whole(
            setting, max(failed['small', 'low'], failed['small', 'medium']) < 0.25
        ),
    }
    return verdict(claims) | {'table': table}


def judge_whole(outcome: Outcome, setting: Setting) -> dict[str, Any]:
    """Tasks that high users run in a second, before and after the medium ones have issued their last."""
    medium = tasks_of(setting)[EACH : 2 * EACH]
    over = float(np.mean([one.arrival[-1] for one in medium]))
    window = WINDOW * setting.part
    high = outcome.ended[_of(outcome, 'high') & outcome.done]
    before = _rate(high, over - window, over)
    after = _rate(high, over, over + window)
    low = outcome.ended[_of(outcome, 'low') & outcome.done]
    rates = [_rate(low, begin, begin + window) for begin in (window, 2 * window, 3 * window)]
    claims = {
        'high users run more when the medium ones issue no more tasks': grid_setting.whole(
            setting, after > before
        ),
        'low users keep their rate meanwhile': grid_setting.whole(
            setting, max(rates) <= 1.15 * min(rates)
        ),
        'all tasks are over at the end': not bool(np.isnan(outcome.ended).any()),
    }
    return verdict(claims) | {
        'medium_issued': round(over),
        'medium_over': round(float(outcome.ended[_of(outcome, 'medium')].max())),
        'high_per_1000_s': [round(1000 * before, 2), round(1000 * after, 2)],
        'low_per_1000_s': [round(1000 * one, 2) for one in rates],
        'end': round(outcome.end),
        'table': [{'users': kind, **_counts(outcome, kind, outcome.end)} for kind in GAPS],
    }


def _of(outcome: Outcome, kind: str) -> Flags:
    number = list(GAPS).index(kind)
    mine: Flags = outcome.user // EACH == number
    return mine


def _counts(outcome: Outcome, kind: str, until: float) -> dict[str, Any]:
    mine = _of(outcome, kind) & (outcome.ended <= until)
    done, failed = int((outcome.done & mine).sum()), int((outcome.failed & mine).sum())
    return {
        'done': done,
        'failed': failed,
        'failed_part': round(failed / max(done + failed, 1), 4),
    }


def _rate(times: Array, begin: float, end: float) -> float:
    return float(((times >= begin) & (times < end)).sum()) / (end - begin)
