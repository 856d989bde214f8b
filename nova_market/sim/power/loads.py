# SPDX-License-Identifier: Apache-2.0
"""CPU utilisation of servers over a day: logs of PlanetLab, or made up.

A log is a CSV file, a line a server: its name, then a sample in percent for each interval of five minutes
(Park and Pai, 2006; as used by Beloglazov and Buyya, CCPE 24(13), 2012).
"""

import csv
import gzip
from pathlib import Path

import numpy as np

from nova_market.core.resource import Array
from nova_market.errors import BadWorkload

SAMPLES = 288
INTERVAL = 300.0
"""Seconds of a sample."""


def read_loads(path: Path) -> Array:
    """(servers, samples) in [0, 1].

    :raises BadWorkload: no such file; a value that is no number from 0 to 100; lines of different lengths.
    """
    try:
        opened = gzip.open if path.suffix == '.gz' else open
        with opened(path, 'rt', newline='', encoding='utf-8') as stream:
            rows = [
                [_part(path, number, text) for text in line[1:]]
                for number, line in enumerate(csv.reader(stream), 1)
                if line
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadWorkload(f'{path} cannot be read: {error}') from error
    if not rows or not rows[0]:
        raise BadWorkload(f'{path} has no samples: give a name and samples in percent on each line')
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise BadWorkload(
                f'{path}: server {number} has {len(row)} samples and the first {len(rows[0])}'
            )
    return np.array(rows)


def made_up_loads(servers: int, seed: int) -> Array:
    """(servers, samples): a mean of a tenth, more by day than by night, with bursts of about half an hour."""
    rng = np.random.default_rng(seed)
    mean = rng.beta(1.2, 9.0, (servers, 1))
    phase = rng.normal(0.0, 0.5, (servers, 1))
    day = 1.0 + 0.5 * np.sin(2 * np.pi * np.arange(SAMPLES) / SAMPLES - np.pi / 2 + phase)
    noise = rng.normal(0.0, 1.0, (servers, SAMPLES))
    burst = np.zeros((servers, SAMPLES))
    for sample in range(1, SAMPLES):
        burst[:, sample] = 0.8 * burst[:, sample - 1] + 0.6 * noise[:, sample]
    loads: Array = np.clip(mean * day * np.exp(0.5 * burst), 0.0, 1.0)
    return loads


def _part(path: Path, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise BadWorkload(
            f'{path}, line {line}: {text!r:.40} is no utilisation: give 0 to 100 percent'
        )
    return value / 100.0
