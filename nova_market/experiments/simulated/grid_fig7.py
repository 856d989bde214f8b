# SPDX-License-Identifier: Apache-2.0
"""Figure 7 of grid-cloud: PEs follow a load that changes.

Repeats INRIA RR-7837, section 4.4: 10 users of 2000 tasks on one Powerful cluster; a task each 75 s,
from 10,000 s on each 7.5 s, from 15,000 s each 75 s, and from 20,000 s each 750 s. Parameters in
grid_setting.py.

Differs from the paper: the run ends at 30,000 s; what is left then would take nine days at the last
rate.
"""

import argparse
from typing import Any

import numpy as np

from nova_market.core.resource import Array
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated import grid_plots, grid_setting
from nova_market.experiments.simulated.grid_setting import Setting
from nova_market.experiments.simulated.verdict import verdict
from nova_market.sim.tender.cluster import CATALOGUE
from nova_market.sim.tender.outcome import Outcome
from nova_market.sim.tender.workload import UserTasks, users_of

NAME = 'grid-fig7'
USERS, TASKS = 10, 2000
GAPS = ((0.0, 75.0), (10_000.0, 7.5), (15_000.0, 75.0), (20_000.0, 750.0))
END = 30_000.0
SETTLE = 1000.0
"""Seconds at the beginning of each phase that are not judged: tasks of the phase before run on, workers idle
for 600 s."""

BACK_BY, BACK_TO = 17_000.0, 48

add_arguments = grid_setting.add_arguments


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = grid_setting.setting_of(arguments)
    tasks, outcome = measure(setting)
    summary = grid_setting.described(NAME, setting) | judge(tasks, outcome, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    write_table(
        setting.output / f'{NAME}.csv',
        [
            {
                'time': one.time,
                'allocated': one.allocated,
                'running': one.running,
                'waiting': one.waiting,
            }
            for one in outcome.samples
        ],
    )
    grid_plots.plot_pes(setting.output / f'{NAME}.png', outcome.samples)
    write_summary(setting.output / 'summary.json', summary)
    return summary


def measure(setting: Setting) -> tuple[list[UserTasks], Outcome]:
    """A part has fewer users, with the same times."""
    users = max(round(USERS * setting.part), 1)
    tasks = users_of([TASKS] * users, [GAPS] * users, setting.seed)
    return tasks, grid_setting.run(grid_setting.market(setting, ['powerful'], until=END), tasks)


def judge(tasks: list[UserTasks], outcome: Outcome, setting: Setting) -> dict[str, Any]:
    """By phase, against the PEs that the tasks which arrive in it keep busy."""
    rows = [_phase(tasks, outcome, number) for number in range(len(GAPS))]
    allocated = np.array([one.allocated for one in outcome.samples])
    running = np.array([one.running for one in outcome.samples])
    times = np.array([one.time for one in outcome.samples])
    steps = np.diff(allocated)
    wide = int(CATALOGUE.pes.max())
    most = BACK_TO * setting.part
    claims = {
        'running PEs are within 10 % of the work that arrives': grid_setting.whole(
            setting, all(abs(row['running'] / row['expected'] - 1.0) <= 0.1 for row in rows)
        ),
        'no fewer PEs are allocated than run': bool((allocated >= running).all()),
        f'PEs come and go by {wide}': bool((steps % wide == 0).all()),
        f'at most {BACK_TO} PEs are allocated again at {BACK_BY:.0f} s': grid_setting.whole(
            setting, bool(allocated[times >= BACK_BY][0] <= most)
        ),
        'the high load doubles the PEs at least': rows[1]['allocated'] >= 2 * rows[0]['allocated'],
    }
    return verdict(claims) | {'table': rows, 'failed': int(outcome.failed.sum())}


def _phase(tasks: list[UserTasks], outcome: Outcome, number: int) -> dict[str, float]:
    begin = GAPS[number][0] + SETTLE
    end = GAPS[number + 1][0] if number + 1 < len(GAPS) else END
    work = sum(float(one.work[_within(one.arrival, begin, end)].sum()) for one in tasks)
    samples = [one for one in outcome.samples if begin <= one.time < end]
    return {
        'from': begin,
        'to': end,
        'expected': round(work / (end - begin) / float(CATALOGUE.speed.max()), 2),
        'running': round(float(np.mean([one.running for one in samples])), 2),
        'allocated': round(float(np.mean([one.allocated for one in samples])), 2),
        'waiting': round(float(np.mean([one.waiting for one in samples])), 2),
    }


def _within(times: Array, begin: float, end: float) -> Any:
    return (times >= begin) & (times < end)
