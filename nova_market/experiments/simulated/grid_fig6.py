# SPDX-License-Identifier: Apache-2.0
"""Figure 6 of grid-cloud: waiting tasks in the order of importance, or of risk.

Repeats INRIA RR-7837, section 4.3.1: 20 users of 5000 tasks, one each 50 s, two Small clusters.
Parameters in grid_setting.py.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from nova_market.core.tender.negotiation import Order
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated import grid_plots, grid_setting
from nova_market.experiments.simulated.grid_setting import Setting
from nova_market.experiments.simulated.verdict import verdict
from nova_market.sim.tender.outcome import Outcome
from nova_market.sim.tender.workload import users_of

NAME = 'grid-fig6'
USERS, TASKS, GAP = 20, 5000, 50.0
BINS = 24
"""Of importance, in the figure."""

add_arguments = grid_setting.add_arguments


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = grid_setting.setting_of(arguments)
    results = measure(setting)
    summary = grid_setting.described(NAME, setting) | judge(results, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    write_table(
        setting.output / f'{NAME}.csv', [row for one in results for row in bins(one, results[one])]
    )
    grid_plots.plot_importance(setting.output / f'{NAME}.png', results)
    write_summary(setting.output / 'summary.json', summary)
    return summary


def measure(setting: Setting) -> dict[str, Outcome]:
    """Both orders, on the same tasks."""
    tasks = users_of([setting.tasks(TASKS)] * USERS, [[(0.0, GAP)]] * USERS, setting.seed)
    return {
        order.value: grid_setting.run(
            grid_setting.market(setting, ['small', 'small'], order=order), tasks
        )
        for order in (Order.RISK, Order.IMPORTANCE)
    }


def judge(results: Mapping[str, Outcome], setting: Setting) -> dict[str, Any]:
    """The paper has 77 and 66 %, +11 % of the value of what was done, -62 % of what failed."""
    risk, importance = results['risk'], results['importance']
    parts = {name: 100 * one.success for name, one in results.items()}
    won, lost = risk.won / importance.won - 1.0, risk.lost / max(importance.lost, 1e-9) - 1.0
    classes = {
        name: {
            kind: 100 * float(one.done[flags].mean())
            for kind, flags in (('high', one.high), ('low', ~one.high))
        }
        for name, one in results.items()
    }
    claims = {
        'by risk 74 to 80 % are done': 74.0 <= parts['risk'] <= 80.0,
        'by importance 62 to 70 % are done': 62.0 <= parts['importance'] <= 70.0,
        'by risk at least 7 points more are done': parts['risk'] - parts['importance'] >= 7.0,
        'their value is at least 4 % higher': won >= 0.04,
        'the value of what failed is at least 20 % lower': lost <= -0.2,
        'within two points of an independent simulation (74.5 and 65.8 %)': abs(
            parts['risk'] - 74.5
        )
        <= 2.0
        and abs(parts['importance'] - 65.8) <= 2.0,
        'more of the high and of the low importance are done': all(
            classes['risk'][kind] > classes['importance'][kind] for kind in ('high', 'low')
        ),
    }
    judged = {name: grid_setting.whole(setting, one) for name, one in claims.items()}
    return verdict(judged) | {
        'done': {name: round(one, 2) for name, one in parts.items()},
        'classes': {
            name: {kind: round(part, 2) for kind, part in one.items()}
            for name, one in classes.items()
        },
        'value_of_done': round(100 * won, 2),
        'value_of_failed': round(100 * lost, 2),
        'won': {name: round(one.won) for name, one in results.items()},
        'lost': {name: round(one.lost) for name, one in results.items()},
        'price': {name: _prices(one) for name, one in results.items()},
        'refused_acceptances': {name: one.gone for name, one in results.items()},
    }


def bins(order: str, one: Outcome) -> list[dict[str, Any]]:
    """Tasks and failures by importance, of each kind."""
    rows = []
    for kind, flags in (('high', one.high), ('low', ~one.high)):
        values = one.importance[flags]
        edges = np.linspace(values.min(), values.max(), BINS + 1)
        total, _ = np.histogram(values, edges)
        failed, _ = np.histogram(values[~one.done[flags]], edges)
        rows += [
            {
                'order': order,
                'kind': kind,
                'from': round(float(edges[row]), 3),
                'tasks': int(total[row]),
                'failed': int(failed[row]),
            }
            for row in range(BINS)
        ]
    return rows


def _prices(one: Outcome) -> list[float]:
    """Least, median and highest price of work."""
    prices = np.array([sample.prices for sample in one.samples])
    return [float(f'{value:.4g}') for value in (prices.min(), np.median(prices), prices.max())]
