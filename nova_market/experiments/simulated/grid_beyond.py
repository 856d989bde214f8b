# SPDX-License-Identifier: Apache-2.0
"""Beyond the figures of grid-cloud: other price rules, what nobody could surpass, and arrivals of a log.

Parameters in grid_setting.py; the workload is that of figure 5: 20 users, a task each 30 s, two Small
clusters.

1. Eq. (5) of INRIA RR-7837 as printed and as settled, a rule with a fixed point (`anchored`), and the price
   that clears the market, which needs to know what all users have.
2. The importance of what is done, against a schedule that knows all tasks beforehand and may divide and
   interrupt them: an upper bound by a linear program.
3. Order by importance and by risk with the arrivals and sizes of a log.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.tender.negotiation import Order
from nova_market.core.tender.price import PriceSettings, anchored
from nova_market.experiments.guests.recording import jain, write_summary, write_table
from nova_market.experiments.simulated import grid_plots, grid_setting
from nova_market.experiments.simulated.grid_fig5 import GAP, TASKS, USERS
from nova_market.experiments.simulated.grid_setting import RULES, Setting
from nova_market.experiments.simulated.verdict import not_judged, verdict
from nova_market.sim.baseline.bound import satisfaction_bound
from nova_market.sim.tender.cluster import CATALOGUE, CLUSTERS, Hosts
from nova_market.sim.tender.log_tasks import log_tasks
from nova_market.sim.tender.outcome import Outcome
from nova_market.sim.tender.tender_run import MarketSetting
from nova_market.sim.tender.workload import UserTasks, users_of
from nova_market.sim.workload.job import Terms, Workload
from nova_market.sim.workload.swf import read_log

NAME = 'grid-beyond'
CLOUDS = ('small', 'small')
LOAD = 2.08
"""Of the log: that of figure 6."""

SLOTS = 60
"""Of the linear program. Fewer loosen the bound."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Results:
    """rules: by name; bound: importance; log: by order, {} without a log"""

    rules: Mapping[str, Outcome]
    bound: float
    log: Mapping[str, Outcome]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment grid-beyond`."""
    grid_setting.add_arguments(parser)
    parser.add_argument(
        '--workload', type=Path, metavar='SWF',
        help='a log whose arrivals and run times the third part uses (default: it is left out)',
    )  # fmt: skip


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = grid_setting.setting_of(arguments)
    results = measure(setting, arguments.workload)
    summary = grid_setting.described(NAME, setting) | judge(results, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    write_table(setting.output / f'{NAME}.csv', summary['table'])
    grid_plots.plot_prices(setting.output / f'{NAME}.png', results.rules)
    write_summary(setting.output / 'summary.json', summary)
    return summary


def measure(setting: Setting, log: Path | None) -> Results:
    """All three parts."""
    users = users_of([setting.tasks(TASKS)] * USERS, [[(0.0, GAP)]] * USERS, setting.seed)
    rules = {name: grid_setting.run(one, users) for name, one in markets(setting).items()}
    return Results(
        rules=rules,
        bound=importance_bound(users),
        log={} if log is None else _on_log(setting, log),
    )


def markets(setting: Setting) -> dict[str, MarketSetting]:
    """The same users and clouds under each rule."""
    plain = grid_setting.market(setting, CLOUDS)
    money = plain.budget * USERS
    anchor = PriceSettings(anchor=money / (usable_mips() * plain.bank_period))
    with_anchor = [replace(one, rule=anchored, prices=anchor) for one in plain.clouds]
    return {
        **{name: grid_setting.market(replace(setting, rule=name), CLOUDS) for name in RULES},
        'anchored': replace(plain, clouds=with_anchor),
        'clearing': replace(plain, clearing=True),
    }


def usable_mips() -> float:
    """Of all clouds."""
    return sum(Hosts(CLUSTERS[name], CATALOGUE).usable_mips() for name in CLOUDS)


def importance_bound(users: Sequence[UserTasks]) -> float:
    """The most importance that any schedule could get done.

    Tasks that are not due before all work could be over count as done, and take nobody's time; those of
    negative importance are left out, as they would be by the linear program.
    """
    tasks = [np.concatenate([getattr(one, name) for one in users]) for name in _FIELDS]
    arrival, work, deadline, importance = tasks
    # every task fits the slowest PE of the catalogue, and no other fits a Small host
    speed = float(CATALOGUE.speed.min())
    over = arrival.max() + work.sum() / usable_mips()
    wanted = importance > 0
    free = wanted & (deadline > over)
    rows = np.flatnonzero(wanted & ~free)
    rows = rows[np.argsort(arrival[rows], kind='stable')]
    run = work[rows] / speed
    workload = Workload(
        number=rows.astype(np.int64),
        submit=arrival[rows],
        run=run,
        processors=np.ones(len(rows), dtype=np.int64),
        estimate=run,
        memory_mib=np.full(len(rows), np.nan),
    )
    terms = Terms(deadline=deadline[rows], budget=importance[rows])
    total = float(importance[rows].sum())
    part = satisfaction_bound(workload, round(usable_mips() / speed), terms, SLOTS)
    return float(importance[free].sum()) + (part + 1.0) / 2.0 * total


_FIELDS = ('arrival', 'work', 'deadline', 'importance')


def judge(results: Results, setting: Setting) -> dict[str, Any]:
    """What is expected of a better rule, of a bound, and of the order by risk."""
    rows = [_row(name, one, results.bound) for name, one in results.rules.items()]
    spread = {row['rule']: row['price_spread'] for row in rows}
    none = not_judged('no log was given: --workload')
    log = results.log
    claims = {
        'a price with a fixed point moves less than that of eq. (5)': spread['anchored']
        < spread['printed'],
        'no rule gets more done than the bound': max(row['of_bound'] for row in rows) <= 1.0,
        'every rule treats users alike (Jain over .95)': grid_setting.whole(
            setting, min(row['jain'] for row in rows) > 0.95
        ),
        'with the arrivals of a log less value fails by risk': log['risk'].lost
        < log['importance'].lost
        if log
        else none,
    }
    return verdict(claims) | {
        'bound': round(results.bound),
        'table': rows,
        'log': {
            name: {
                'done': round(100 * one.success, 2),
                'won': round(one.won),
                'lost': round(one.lost),
            }
            for name, one in log.items()
        },
    }


def _on_log(setting: Setting, path: Path) -> dict[str, Outcome]:
    users = log_tasks(read_log(path), mips=usable_mips(), load=LOAD, seed=setting.seed)
    return {
        order.value: grid_setting.run(grid_setting.market(setting, CLOUDS, order=order), users)
        for order in (Order.RISK, Order.IMPORTANCE)
    }


def _row(name: str, one: Outcome, bound: float) -> dict[str, Any]:
    """price_spread: factor between the 5 % and the 95 % quantile, while tasks arrive or wait."""
    prices = np.array([sample.prices for sample in one.samples]).ravel()
    low, median, high = np.quantile(prices, [0.05, 0.5, 0.95])
    work = np.bincount(one.user, one.work * one.done)
    asked = np.bincount(one.user, one.work)
    return {
        'rule': name,
        'done': round(100 * one.success, 2),
        'won': round(one.won),
        'lost': round(one.lost),
        'of_bound': round(one.won / bound, 4),
        'price_low': float(f'{low:.4g}'),
        'price_median': float(f'{median:.4g}'),
        'price_high': float(f'{high:.4g}'),
        'price_spread': float(f'{high / low:.4g}'),
        'jain': round(jain((work / asked).tolist()), 4),
        'end': round(one.end),
    }
