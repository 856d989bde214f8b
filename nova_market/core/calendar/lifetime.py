# SPDX-License-Identifier: Apache-2.0
"""How long what has no known end is assumed to stay.

Implements rule C2 of doc/source/specs/calendar.rst. Units: seconds. Arrays (servers,) and (observations,).

A server with `market:duration` is believed to that point. For any other, and for one that outlived its
duration, the operator may have the calendar assume a quantile of the lifetimes that servers of its flavor and
project had, among those that reached its present age. Servers that still run are observations too: each says
that a lifetime is at least so long (Kaplan and Meier 1958, the product-limit estimate). Without them a group
whose few short-lived servers have ended would look short-lived altogether.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array, Flags, Rows

_EQUAL = 1e-9
"""A product of n factors is only nearly the fraction that it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifetimeSettings:
    """quantile: part of the lifetimes that are over by the assumed end, above 0 and below 1
    least_observations: ended lifetimes longer than the server's age; with fewer it is assumed to stay
    """

    quantile: float = 0.95
    least_observations: int = 20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lifetimes:
    """Observed ones. group: row of flavor and project; seconds: so far; ended: False = it still runs"""

    group: Rows
    seconds: Array
    ended: Flags


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Residents:
    """Servers that are there. group: as in Lifetimes; began: when; duration: `market:duration`, NaN = none"""

    group: Rows
    began: Array
    duration: Array


def assumed_ends(
    residents: Residents, past: Lifetimes, now: float, settings: LifetimeSettings | None
) -> Array:
    """(servers,): when each is assumed to end, after `now`; inf = it stays. settings: None = all stay."""
    ends = np.full(len(residents.began), np.inf)
    if settings is not None:
        ages = np.maximum(now - residents.began, 0.0)
        for group in np.unique(residents.group):
            mine, theirs = residents.group == group, past.group == group
            ends[mine] = residents.began[mine] + lifetime_quantile(
                ages[mine], past.seconds[theirs], past.ended[theirs], settings
            )
    stated = residents.began + residents.duration
    believed = stated > now
    ends[believed] = stated[believed]
    return ends


def lifetime_quantile(
    ages: Array, seconds: Array, ended: Flags, settings: LifetimeSettings
) -> Array:
    """(ages,): the least lifetime t with P(T <= t | T > age) >= quantile; inf where too little is known.

    S(t) = prod over ended lifetimes s_i <= t of (1 - 1/n_i), with n_i observations of at least s_i; the
    answer is the least t with S(t) <= (1 - quantile) S(age). It is an observed lifetime, longer than the age.
    """
    # of equal ones, those that ended come first: the others lived longer
    order = np.lexsort((~ended, seconds))
    lived, over = seconds[order], ended[order]
    count = len(lived)
    at_risk = count - np.arange(count)
    survival = np.cumprod(1.0 - over / np.maximum(at_risk, 1))
    reached = np.searchsorted(lived, ages, side='right')
    at_age = np.concatenate([[1.0], survival])[reached]
    known = np.concatenate([[0], np.cumsum(over)])
    wanted = (1.0 - settings.quantile) * at_age + _EQUAL * at_age
    row = np.searchsorted(-survival, -wanted, side='left')
    row = np.maximum(row, reached)
    assumed = np.append(lived, np.inf)[np.minimum(row, count)]
    assumed[known[-1] - known[reached] < settings.least_observations] = np.inf
    return assumed
