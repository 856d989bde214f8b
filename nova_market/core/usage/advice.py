# SPDX-License-Identifier: Apache-2.0
"""What was asked for against what was used, and what would do.

Implements rule L7 of doc/source/specs/usage.rst, after CloudAlloc, section 3 (Execution Function: "compare
the projected and actual resource usage"). Units: cores, MiB, seconds.

Differs from the paper, which leaves open how: the 95th percentile over the spans of the history, each
weighted by the seconds that were measured in it, and a quarter more for what the past does not show.
"""

import math
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array
from nova_market.core.usage.history import UsageSums
from nova_market.core.usage.use import CORE_MS, MEMORY_SUM, SECONDS

PERCENTILE = 0.95
ROOM = 1.25
FEWEST = 10
"""Spans below which nothing is suggested."""

WORTH_IT = 0.8
"""Less is suggested when it is at most this part of what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A resource that a flavor names. step: what amounts are rounded up to; places: decimals in words."""

    name: str
    unit: str
    step: float
    places: int


KINDS = (
    Kind(name='cores', unit='cores', step=1.0, places=1),
    Kind(name='memory_mib', unit='MiB of memory', step=256.0, places=0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Of one resource, of all servers together.

    asked, mean, p95, most: amounts; accuracy: used / asked over all the time, 0 where nothing was asked for
    would_do: what is suggested; None: too little is known; text: all of it in words
    """

    resource: str
    asked: float
    mean: float
    p95: float
    most: float
    accuracy: float
    would_do: float | None
    text: str


def advice(
    sums: UsageSums, span: int, asked: tuple[float, float] | None = None
) -> tuple[Advice, ...]:
    """For CPU and memory, from the spans of an interval, each `span` seconds long. (): nothing was measured.

    asked: (cores, MiB) that were asked for all the time, as a lease is; None: what the flavors ask for
    """
    weights = sums.amounts[:, SECONDS].astype(np.float64)
    if not weights.sum():
        return ()
    used = sums.amounts[:, [CORE_MS, MEMORY_SUM]] / np.array([1000.0, 1.0]) / span
    wanted = sums.asked / span if asked is None else np.tile(asked, (len(used), 1))
    return tuple(
        _advice(kind, used[:, column], wanted[:, column], weights)
        for column, kind in enumerate(KINDS)
    )


def accuracy(used: float, asked: float) -> float:
    """used / asked; 0 where nothing was asked for. Above 1 where more was used, as with bursts."""
    return used / asked if asked > 0 else 0.0


def percentile(values: Array, weights: Array, part: float) -> float:
    """The smallest value that is not exceeded for this part of the weight."""
    order = np.argsort(values, kind='stable')
    reached = np.cumsum(weights[order])
    place = np.searchsorted(reached, part * reached[-1] * (1.0 - 1e-12))
    return float(values[order[min(int(place), len(order) - 1)]])


def _advice(kind: Kind, used: Array, wanted: Array, weights: Array) -> Advice:
    asked, p95 = float(wanted.max()), percentile(used, weights, PERCENTILE)
    would_do = None
    if len(used) >= FEWEST:
        would_do = max(math.ceil(p95 * ROOM / kind.step - 1e-9), 1) * kind.step
    return Advice(
        resource=kind.name,
        asked=asked,
        mean=float(used.mean()),
        p95=p95,
        most=float(used.max()),
        accuracy=accuracy(float(used.sum()), float(wanted.sum())),
        would_do=would_do,
        text=_text(kind, asked, p95, would_do),
    )


def _text(kind: Kind, asked: float, p95: float, would_do: float | None) -> str:
    def shown(amount: float) -> str:
        return f'{amount:.{kind.places}f}'.removesuffix('.0')

    facts = f'asked for {shown(asked)} {kind.unit}, used {shown(p95)} at the 95th percentile'
    if would_do is None:
        return f'{facts}: too little is known to suggest another size'
    if would_do <= WORTH_IT * asked:
        return f'{facts}: {shown(would_do)} would do'
    if p95 > asked * (1.0 - 1e-9) and would_do > asked:
        return f'{facts}: all of it; {shown(would_do)} would leave room'
    return f'{facts}: that fits'
