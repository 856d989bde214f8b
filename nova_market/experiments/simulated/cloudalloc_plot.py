# SPDX-License-Identifier: Apache-2.0
"""Time and distance to the bound of the algorithms of CloudAlloc, by size. Needs matplotlib (extra `sim`)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def plot_algorithms(
    path: Path, table: Sequence[Mapping[str, Any]], algorithms: Sequence[str]
) -> None:
    """Two panels with a group of bars for each size: mean seconds (logarithmic), mean distance in percent."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    sizes = list(dict.fromkeys((row['nodes'], row['workloads']) for row in table))
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.6))
    width = 0.8 / len(algorithms)
    for number, name in enumerate(algorithms):
        found = {(r['nodes'], r['workloads']): r for r in table if r['algorithm'] == name}
        place = np.arange(len(sizes)) + (number - (len(algorithms) - 1) / 2) * width
        for axis, what, factor in ((axes[0], 'seconds', 1.0), (axes[1], 'distance', 100.0)):
            heights = [factor * found[size][what] if size in found else 0.0 for size in sizes]
            axis.bar(place, heights, width=width, color=f'C{number}', label=name)
    paper = {(r['nodes'], r['workloads']): r['paper_seconds'] for r in table if r['paper_seconds']}
    at = [row for row, size in enumerate(sizes) if size in paper]
    axes[0].plot(at, [paper[sizes[row]] for row in at], 'k_', ms=16, label="the paper's optimum")
    axes[0].set_yscale('log')
    axes[0].set_ylabel('seconds')
    axes[1].set_ylabel('above the bound, %')
    for axis in axes:
        axis.set_xticks(np.arange(len(sizes)), [f'{w}\non {n}' for n, w in sizes])
        axis.set_xlabel('workloads on nodes', fontsize=9)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
