# SPDX-License-Identifier: Apache-2.0
"""Pictures of a scenario's runs: what users got by contention, and the market round by round.

Beyond the papers. Needs matplotlib (extra `sim`). Lines are means over the seeds, bars their deviation.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.sim.scenario.runs import Case

QUANTITIES = (('satisfaction', 'satisfaction / all budgets'), ('in_time', 'part of jobs in time'))
DPI = 110


def plot_runs(path: Path, runs: Sequence[Mapping[str, Any]], axis: str) -> None:
    """axis: the column that goes to the right: the scale, or a setting that a sweep varies."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, len(QUANTITIES), figsize=(10, 4))
    places = sorted({run[axis] for run in runs}, key=_order)
    for discipline in dict.fromkeys(run['discipline'] for run in runs):
        for panel, (column, _) in zip(panels, QUANTITIES, strict=True):
            found = [
                [r[column] for r in runs if r[axis] == place and r['discipline'] == discipline]
                for place in places
            ]
            means, deviations = ([fold(values) for values in found] for fold in (np.mean, np.std))
            panel.errorbar(
                range(len(places)), means, deviations, label=discipline, capsize=2, linewidth=1.2
            )
    for panel, (_, label) in zip(panels, QUANTITIES, strict=True):
        panel.set_xticks(range(len(places)), [str(place) for place in places])
        panel.set_xlabel(axis)
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    _save(plt, figure, path)


def plot_rounds(path: Path, case: Case) -> None:
    """Price, cores in use, jobs that run and that wait, of one run of the market."""
    rounds = case.rounds
    assert rounds is not None
    plt = _pyplot()
    hours = np.array(rounds.time) / 3600.0
    figure, panels = plt.subplots(3, 1, figsize=(9, 8), sharex=True)
    panels[0].step(hours, rounds.price, where='post', linewidth=1.0)
    panels[0].set_ylabel('credits a core')
    panels[0].set_yscale('symlog', linthresh=0.01)
    panels[1].step(hours, rounds.used, where='post', linewidth=1.0)
    panels[1].set_ylabel('cores in use')
    panels[2].step(hours, rounds.running, where='post', linewidth=1.0, label='run')
    panels[2].step(hours, rounds.waiting, where='post', linewidth=1.0, label='wait')
    panels[2].set_ylabel('jobs')
    panels[2].legend(fontsize=8)
    panels[2].set_xlabel('hours')
    for panel in panels:
        panel.grid(alpha=0.3)
    _save(plt, figure, path)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    return plt


def _save(plt: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def _order(place: Any) -> tuple[int, float, str]:
    """Numbers by size, then texts."""
    try:
        return 0, float(place), ''
    except ValueError:
        return 1, 0.0, str(place)
