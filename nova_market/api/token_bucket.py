# SPDX-License-Identifier: Apache-2.0
"""A token bucket as one number: when it is full again.

A bucket of `burst` tokens gets `per_second` of them each second. It is the generic cell rate algorithm (ATM
Forum, Traffic Management 4.0, section 4.4.2) with costs: what was taken moves the time at which the bucket is
full, and a bucket that is full needs no entry. Units: tokens, seconds on any clock.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """per_second: 0: there is no limit; burst: what a full bucket has, at least 1."""

    per_second: float = 0.0
    burst: float = 1.0

    @property
    def longest(self) -> float:
        """Seconds until an empty bucket is full."""
        return self.burst / self.per_second


MOST_OWED = 1.0
"""Of a full bucket: what somebody may owe for requests that have cost more than was known before."""


def take(full_at: float, cost: float, rate: Rate, now: float) -> tuple[float, float]:
    """(when the bucket is full then, 0), or (as it was, seconds until it has enough): nothing was taken.

    full_at: of the bucket; any time before `now` for one that is full
    cost:    more than a bucket can have is a full one, so that everybody is served at some time
    """
    since = _since(full_at, rate, now)
    after = since + min(cost, rate.burst) / rate.per_second
    wait = after - now - rate.longest
    # sums of times have some tenths of microseconds of error
    return (after, 0.0) if wait <= 1e-6 else (full_at, wait)


def owe(full_at: float, cost: float, rate: Rate, now: float) -> float:
    """When the bucket is full after this was taken too, whether it has enough or not."""
    return _since(_since(full_at, rate, now) + cost / rate.per_second, rate, now)


def _since(full_at: float, rate: Rate, now: float) -> float:
    """Never so late that more is owed than may be: a clock may have been set back."""
    return min(max(full_at, now), now + (1.0 + MOST_OWED) * rate.longest)
