# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 7 of SVMSched: cores that each application uses over time, and its share.

Needs matplotlib (extra `sim`). Units: seconds, cores.
"""

from collections.abc import Sequence
from pathlib import Path

from nova_market.experiments.simulated.svmsched_claims import Result


def plot_applications(path: Path, results: Sequence[Result]) -> None:
    """A panel for each run: applications as steps, all together in grey, shares dashed."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(results), 1, figsize=(8, 3.2 * len(results)), squeeze=False, sharex=True
    )
    for axis, one in zip(axes[:, 0], results, strict=True):
        times = one.use.times
        axis.fill_between(times, one.use.total, step='post', color='0.88', label='all')
        for number, name in enumerate(one.jobs.queues):
            colour = f'C{number}'
            axis.step(times, one.use.cores[number], where='post', color=colour, label=name, lw=1.1)
            axis.axhline(one.shares[number], color=colour, ls=':', lw=0.9)
        axis.set_title(one.case.title, fontsize=10)
        axis.set_ylabel('cores')
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(loc='upper right', fontsize=8)
    axes[-1, 0].set_xlabel('seconds')
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)
