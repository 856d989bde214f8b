# SPDX-License-Identifier: Apache-2.0
"""One picture of a demonstration: a bar for each part, divided among guests, coloured by their owners."""

from collections.abc import Mapping
from pathlib import Path

COLOURS = ('#c8553d', '#2f6f9f', '#7a9e4e', '#8b6fae')


def draw(
    path: Path,
    parts: Mapping[str, Mapping[str, float]],
    owners: Mapping[str, str],
    title: str,
) -> None:
    """Needs matplotlib (extra `sim`).

    path: of the picture, whose ending states its format
    parts: by the name of a bar, what each guest had: 0 to 1
    owners: of the guests, by their names
    """
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    colours = dict(zip(sorted(set(owners.values())), COLOURS, strict=False))
    figure, axis = plt.subplots(figsize=(8, 0.8 * len(parts) + 1.4))
    for row, shares in enumerate(parts.values()):
        left = 0.0
        for guest, share in sorted(shares.items()):
            width = 100 * share
            axis.barh(row, width, left=left, color=colours[owners[guest]], edgecolor='white')
            text = f'{guest}  {width:.0f} %'
            axis.text(left + width / 2, row, text, ha='center', va='center', color='white')
            left += width
    axis.set_yticks(range(len(parts)), list(parts))
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel('% of the CPU')
    bars = [Rectangle((0, 0), 1, 1, color=one) for one in colours.values()]
    names = [f'project {owner}' for owner in colours]
    axis.legend(bars, names, loc='lower center', bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    axis.spines[['top', 'right']].set_visible(False)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
