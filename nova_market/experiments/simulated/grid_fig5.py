# SPDX-License-Identifier: Apache-2.0
"""Figure 5 of grid-cloud: what users gain by trying again, and by keeping alternative offers.

Repeats INRIA RR-7837, section 4.3: 20 users of 500 tasks, one each 30 s, two Small clusters; four
strategies, five runs each. Parameters in grid_setting.py.

Differs from the paper: it counts one reason for each task that failed. With retrials all failures are
overdue tasks; the reasons are those of the first try, and are comparable between strategies.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nova_market.core.tender.negotiation import NoDeal
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated import grid_plots, grid_setting
from nova_market.experiments.simulated.grid_setting import Setting
from nova_market.experiments.simulated.verdict import verdict
from nova_market.sim.tender.outcome import Outcome
from nova_market.sim.tender.workload import users_of

NAME = 'grid-fig5'
USERS, TASKS, GAP, RUNS = 20, 500, 30.0, 5

STRATEGIES = {
    'none': (False, False),
    'alternatives': (False, True),
    'retry': (True, False),
    'retry and alternatives': (True, True),
}
"""(retry, alternatives)"""

Results = Mapping[str, Sequence[Outcome]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment grid-fig5`."""
    grid_setting.add_arguments(parser)
    parser.add_argument('--runs', type=int, default=RUNS, help='default: %(default)d')


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = grid_setting.setting_of(arguments)
    results = measure(setting, arguments.runs)
    summary = grid_setting.described(NAME, setting) | judge(results, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    write_table(setting.output / f'{NAME}.csv', summary['table'])
    grid_plots.plot_strategies(setting.output / f'{NAME}.png', summary['table'])
    write_summary(setting.output / 'summary.json', summary)
    return summary


def measure(setting: Setting, runs: int = RUNS) -> dict[str, list[Outcome]]:
    """The runs of each strategy; all have the same tasks."""
    found: dict[str, list[Outcome]] = {name: [] for name in STRATEGIES}
    for number in range(runs):
        tasks = users_of(
            [setting.tasks(TASKS)] * USERS, [[(0.0, GAP)]] * USERS, setting.seed + number
        )
        for name, (retry, alternatives) in STRATEGIES.items():
            chosen = grid_setting.market(
                setting, ['small', 'small'], retry=retry, alternatives=alternatives
            )
            found[name].append(grid_setting.run(chosen, tasks))
    return found


def judge(results: Results, setting: Setting) -> dict[str, Any]:
    """Claims of the paper's text; means over the runs."""
    success = {
        name: 100 * float(np.mean([one.success for one in runs])) for name, runs in results.items()
    }
    lost = {name: float(np.mean([one.lost for one in runs])) for name, runs in results.items()}
    spread = max(100 * float(np.std([one.success for one in runs])) for runs in results.values())
    # without a second try: later ones meet another market
    first = [one.refused for one in results['none']]
    refused = sum(sum(one.values()) for one in first)
    budget = sum(one.get(NoDeal.BUDGET, 0) for one in first) / max(refused, 1)
    gains = (
        success['alternatives'] - success['none'],
        success['retry and alternatives'] - success['retry'],
    )
    claims = {
        'retrials gain at least 25 points': grid_setting.whole(
            setting, success['retry'] - success['none'] >= 25.0
        ),
        'over 90 % of the refusals are for the budget': grid_setting.whole(setting, budget > 0.9),
        'alternatives change success by at most 3 points': max(map(abs, gains)) <= 3.0,
        'alternatives are not worse by more than runs differ': min(gains) >= -spread,
        'with retrials the value of what failed is least': max(
            lost['retry'], lost['retry and alternatives']
        )
        < min(lost['none'], lost['alternatives']),
    }
    return verdict(claims) | {
        'success': {name: round(one, 2) for name, one in success.items()},
        'lost': {name: round(one) for name, one in lost.items()},
        'budget_part': round(budget, 4),
        'spread': round(spread, 2),
        'table': [
            _row(name, number, one)
            for name, runs in results.items()
            for number, one in enumerate(runs, 1)
        ],
    }


def _row(name: str, number: int, one: Outcome) -> dict[str, Any]:
    reasons = {why.value: one.refused.get(why, 0) for why in NoDeal if why is not NoDeal.OVERDUE}
    return {
        'strategy': name,
        'run': number,
        'tasks': len(one.done),
        'done': int(one.done.sum()),
        **reasons,
        'overdue': one.failed_why.get(NoDeal.OVERDUE, 0),
        'refused_acceptances': one.gone,
        'won': round(one.won),
        'lost': round(one.lost),
    }
