# SPDX-License-Identifier: Apache-2.0
"""In which time a new worker starts: a bound that most of the next ones keep, by flavor.

For rules O1 and T2 of doc/source/specs/tender.rst: an offer on a new worker promises when its task is done,
and who is late gives money back, so it promises what is kept most of the time, not half of it. Of the last n
starts, in order of length, it is

    the k-th,   k = min(ceil((n + 1) * QUANTILE), n)

Of n + 1 starts in any order the last one is above the k-th of the others with a probability of at most
1 - k / (n + 1): the promise is broken by one in ten where the start times do not drift, and by one in n + 1
with fewer than nine. A flavor without a measured start has the bound over those of all flavors. Seconds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import StoredAttempt

START_SECONDS = 60.0
"""Until one has been measured."""

QUANTILE = 0.9
"""Part of the starts that are to keep what was promised."""

KEPT = 50
"""Starts of a flavor: enough for the quantile, few enough to follow a cloud that gets slower."""


class Start(NamedTuple):
    """at: when its first job began; worker: its id, which is counted once; seconds: since it was decided"""

    at: float
    worker: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTimes:
    """The last starts by flavor, oldest first."""

    of: Mapping[str, tuple[Start, ...]] = field(default_factory=dict)

    def bounds(self) -> dict[str, float]:
        """Of each flavor with measured starts."""
        return {name: start_bound(one.seconds for one in found) for name, found in self.of.items()}

    def usual(self) -> float:
        """Of flavors without one."""
        return start_bound(one.seconds for found in self.of.values() for one in found)

    def extended(self, measured: Mapping[str, Iterable[Start]]) -> 'StartTimes':
        """With these starts, of which some may be known: of each flavor the last KEPT."""
        merged = {
            name: tuple(sorted({*self.of.get(name, ()), *measured.get(name, ())})[-KEPT:])
            for name in sorted({*self.of, *measured})
        }
        return StartTimes(of=merged)


def start_bound(seconds: Iterable[float]) -> float:
    """What the next start takes at most, in QUANTILE of all cases."""
    found = sorted(seconds)
    if not found:
        return START_SECONDS
    return found[min(ceil((len(found) + 1) * QUANTILE), len(found)) - 1]


def measured_starts(
    attempts: Iterable[StoredAttempt], workers: Mapping[str, StoredWorker]
) -> dict[str, list[Start]]:
    """By flavor, of the workers that were made for these attempts and came to run them."""
    made: dict[str, list[Start]] = {}
    for one in attempts:
        worker = workers.get(one.worker_id)
        if worker is None or one.started_at <= one.created_at or worker.created_at < one.created_at:
            continue
        start = Start(one.started_at, worker.id, one.started_at - one.created_at)
        made.setdefault(worker.flavor, []).append(start)
    return made


def document_of(times: StartTimes) -> dict[str, Any]:
    """As JSON has it."""
    return {name: [list(one) for one in found] for name, found in times.of.items()}


def start_times_from(document: Mapping[str, Any]) -> StartTimes:
    """The inverse."""
    return StartTimes(
        of={name: tuple(Start(*one) for one in found) for name, found in document.items()}
    )
