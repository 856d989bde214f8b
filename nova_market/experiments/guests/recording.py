# SPDX-License-Identifier: Apache-2.0
"""What an experiment saw: rows over time, written as CSV, PNG and a JSON summary.

Times are seconds since the experiment began; shares are parts of one host's CPU; disk is bytes/s.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.resource import Array


@dataclass(slots=True)
class Recording:
    """Rows of named numbers; a column is guest.quantity, for example 'e1.cpu'."""

    rows: list[dict[str, float]] = field(default_factory=list)

    def add(self, time: float, values: Mapping[str, float]) -> None:
        self.rows.append({'time': time, **values})

    def column(self, name: str, start: float = 0.0, end: float = np.inf) -> Array:
        """Values of a column in start <= time < end; empty where it was not recorded."""
        return np.array([r[name] for r in self.rows if name in r and start <= r['time'] < end])

    def mean(self, name: str, start: float = 0.0, end: float = np.inf) -> float:
        """Mean of a column, NaN when nothing was recorded."""
        values = self.column(name, start, end)
        return float(values.mean()) if len(values) else float('nan')

    @property
    def columns(self) -> list[str]:
        return sorted({name for row in self.rows for name in row} - {'time'})

    def write_csv(self, path: Path) -> None:
        with path.open('w', newline='', encoding='utf-8') as stream:
            writer = csv.DictWriter(stream, ['time', *self.columns], restval='')
            writer.writeheader()
            for row in self.rows:
                writer.writerow({name: f'{value:.6g}' for name, value in row.items()})


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """CSV of rows that all have the columns of the first."""
    with path.open('w', newline='', encoding='utf-8') as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def rounded(values: Any) -> list[float]:
    """For a summary: four decimals."""
    return [round(float(value), 4) for value in values]


def jain(amounts: Sequence[float]) -> float:
    """Jain's fairness index (sum x)^2 / (n * sum x^2): 1 = all equal, 1/n = one has everything."""
    values = np.asarray(amounts, dtype=float)
    square = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * square) if square > 0 else 1.0


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(summary, indent=2) + '\n', encoding='utf-8')


def plot(
    path: Path,
    recording: Recording,
    panels: Iterable[tuple[str, str, Sequence[str]]],
    title: str,
    unit: tuple[str, float] = ('seconds', 1.0),
) -> None:
    """One panel per (title, y axis, columns); needs matplotlib (extra `sim`).

    unit: of the time axis: its name, and how many seconds it has
    """
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    chosen = list(panels)
    figure, axes = plt.subplots(
        len(chosen), 1, figsize=(8, 3 * len(chosen)), sharex=True, squeeze=False
    )
    for axis, (name, label, columns) in zip(axes[:, 0], chosen, strict=True):
        for column in columns:
            points = [(r['time'] / unit[1], r[column]) for r in recording.rows if column in r]
            if points:
                axis.plot(*zip(*points, strict=True), label=column.split('.')[0], linewidth=1.2)
        axis.set_title(name, fontsize=10)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(loc='upper right', fontsize=8)
    axes[-1, 0].set_xlabel(unit[0])
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
