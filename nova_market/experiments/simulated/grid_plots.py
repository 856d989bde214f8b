# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 9 of grid-cloud, and prices. Needs matplotlib (extra `sim`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.sim.tender.outcome import Outcome, Sample

REASONS = ('done', 'budget', 'deadline', 'gone', 'no_offer', 'overdue')


def plot_strategies(path: Path, table: Sequence[Mapping[str, Any]]) -> None:
    """Figure 5: for each run of each strategy what came of the tasks."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(8, 4.2))
    bottom = np.zeros(len(table))
    for name in REASONS:
        # a task that was tried again is counted at its end
        retried = [str(row['strategy']).startswith('retry') for row in table]
        keep = [name == 'done' or again == (name == 'overdue') for again in retried]
        height = np.array([row[name] * one for row, one in zip(table, keep, strict=True)])
        axis.bar(range(len(table)), height, bottom=bottom, label=name.replace('_', ' '), width=0.85)
        bottom += height
    names = list(dict.fromkeys(str(row['strategy']) for row in table))
    runs = len(table) // len(names)
    axis.set_xticks([runs * number + (runs - 1) / 2 for number in range(len(names))], names)
    axis.set_ylabel('tasks')
    axis.legend(loc='lower right', fontsize=8)
    _save(plt, figure, path)


def plot_importance(path: Path, results: Mapping[str, Outcome]) -> None:
    """Figure 6: all tasks and those that failed, by importance, of each order and kind."""
    plt = _pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(9, 6))
    for row, (order, one) in zip(axes, results.items(), strict=True):
        for axis, (kind, flags) in zip(row, (('high', one.high), ('low', ~one.high)), strict=True):
            values = one.importance[flags]
            axis.hist(values, bins=40, color='0.8', label='all')
            axis.hist(values[~one.done[flags]], bins=40, color='C3', label='failed')
            part = 100 * float(one.done[flags].mean())
            axis.set_title(f'by {order}, {kind} importance: {part:.1f} % done', fontsize=10)
            axis.set_ylabel('tasks')
            axis.legend(fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel('importance')
    _save(plt, figure, path)


def plot_pes(path: Path, samples: Sequence[Sample]) -> None:
    """Figure 7: PEs of workers, those that run, and tasks that wait for one."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(8, 4))
    times = [one.time for one in samples]
    for name in ('allocated', 'running', 'waiting'):
        axis.step(times, [getattr(one, name) for one in samples], where='post', label=name, lw=1.1)
    axis.set_xlabel('seconds')
    axis.set_ylabel('PEs, tasks')
    axis.grid(alpha=0.3)
    axis.legend()
    _save(plt, figure, path)


def plot_users(path: Path, results: Mapping[str, Outcome], until: float) -> None:
    """Figures 8 and 9: tasks done and failed over time, of one user of each ten."""
    plt = _pyplot()
    figure, axes = plt.subplots(
        len(results), 1, figsize=(8, 3.2 * len(results)), squeeze=False, sharex=True
    )
    for axis, (name, one) in zip(axes[:, 0], results.items(), strict=True):
        for number, kind in enumerate(('low', 'medium', 'high')):
            mine = one.user == 10 * number
            for flags, style in ((one.done, '-'), (one.failed, ':')):
                ends = np.sort(one.ended[mine & flags])
                axis.step(
                    np.concatenate([[0.0], ends, [until]]),
                    np.concatenate([np.arange(len(ends) + 1), [len(ends)]]),
                    style,
                    color=f'C{number}',
                    where='post',
                    label=f'{kind}, {"done" if style == "-" else "failed"}',
                )
        axis.set_title(f'{name} cluster', fontsize=10)
        axis.set_ylabel('tasks')
        axis.grid(alpha=0.3)
        axis.legend(loc='upper left', fontsize=8)
    axes[-1, 0].set_xlabel('seconds')
    _save(plt, figure, path)


def plot_prices(path: Path, rules: Mapping[str, Outcome]) -> None:
    """The price of work on the first cloud under each rule, logarithmic."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(8, 4))
    for name, one in rules.items():
        times = [sample.time for sample in one.samples]
        axis.plot(times, [sample.prices[0] for sample in one.samples], label=name, lw=0.9)
    axis.set_yscale('log')
    axis.set_xlabel('seconds')
    axis.set_ylabel('micro-credits per MI')
    axis.grid(alpha=0.3)
    axis.legend()
    _save(plt, figure, path)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    return plt


def _save(plt: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
