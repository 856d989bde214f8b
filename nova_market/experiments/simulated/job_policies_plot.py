# SPDX-License-Identifier: Apache-2.0
"""Job policies side by side: what a log's jobs wait, and what a wide job waits beside a stream of narrow
ones.

Needs matplotlib (extra `sim`). Units: seconds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

PANELS = {
    'mean_wait': 'mean wait, hours',
    'bounded_slowdown': 'mean bounded slowdown',
    'wide_wait': 'largest wait of wide jobs, hours',
}
HOUR = 3600.0


def plot_policies(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    waited: Mapping[str, Sequence[float]],
    narrow: Sequence[int],
) -> None:
    """A panel for each measure, and one for the wide job. narrow: jobs of its streams"""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS) + 1, figsize=(13, 3.4))
    names = [row['policy'] for row in rows]
    for axis, (measure, label) in zip(axes, PANELS.items(), strict=False):
        unit = HOUR if label.endswith('hours') else 1.0
        axis.barh(names, [row[measure] / unit for row in rows], color='C0')
        axis.set_xlabel(label, fontsize=9)
        axis.invert_yaxis()
    for number, jobs in enumerate(narrow):
        height = 0.8 / len(narrow)
        place = np.arange(len(waited)) + (number - (len(narrow) - 1) / 2) * height
        # no bar for a job that never starts
        seconds = [wait[number] if np.isfinite(wait[number]) else 0.0 for wait in waited.values()]
        axes[-1].barh(
            place, seconds, height=height, color=f'C{number + 1}', label=f'{jobs} narrow jobs'
        )
    axes[-1].set_yticks(np.arange(len(waited)), list(waited))
    axes[-1].invert_yaxis()
    axes[-1].set_xlabel('wait of the wide job, seconds', fontsize=9)
    axes[-1].legend(fontsize=8)
    for axis in axes:
        axis.grid(alpha=0.3, axis='x')
        axis.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
