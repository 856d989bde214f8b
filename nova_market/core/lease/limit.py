# SPDX-License-Identifier: Apache-2.0
"""What one project, and all of them, may have reserved ahead.

Implements rule L10 of doc/source/specs/leases.rst; beyond CloudAlloc. Seconds since the epoch, core-seconds,
amounts in the order of AXES.

A lease counts as so many cores as the greatest of the parts that it takes of the cloud's cores, memory and
disk, times the cores of the cloud: who leases all memory and no core leaves no room for anybody either.

    cores(lease)  = max over axes (amount / total) * total cores                      cores <= it
    ahead         = sum over a project's leases  cores * seconds from now on in which it lasts
    at once       = the most that the sum of cores of its leases is at any time while a new one lasts

A project's leases are those that it has booked and pays, also where another project has them now.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nova_market.core.calendar.axes import AXES, CORES

HOUR = 3600.0
ROUNDING = 1e-9
"""Part by which sums may exceed a limit: what is exactly the limit is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLimits:
    """What the operator has set.

    leases:       of one project that are not over
    core_seconds: that one project may have ahead; inf: any number
    part:         of the cloud, 0 to 1, that leases of one project may take at once
    cloud_core_seconds, cloud_part: the same of all projects together
    """

    leases: int = 100
    core_seconds: float = math.inf
    part: float = 1.0
    cloud_core_seconds: float = math.inf
    cloud_part: float = 1.0

    @property
    def bounds_projects(self) -> bool:
        """Whether a project cannot have the whole cloud for as long as it likes."""
        return math.isfinite(self.core_seconds) or self.part < 1.0

    @property
    def bounds_all(self) -> bool:
        """Whether leases of other projects count."""
        return math.isfinite(self.cloud_core_seconds) or self.cloud_part < 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseQuota:
    """What a booking is checked against, in the transaction that stores it.

    total: what all hosts that can be leased have together; zeros: not known
    """

    limits: LeaseLimits
    total: tuple[float, ...] = (0.0,) * len(AXES)
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a lease takes, of all its hosts together, while it lasts. placed: on hosts of the calendar"""

    start: float
    end: float
    amounts: tuple[float, ...]
    placed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What a project has ahead. cores: at once, at most"""

    leases: int
    core_seconds: float
    cores: float


def ahead_of(spans: Sequence[Span], quota: LeaseQuota) -> Ahead:
    """Of these leases."""
    end = max((one.end for one in spans), default=quota.now)
    return Ahead(
        leases=len(spans),
        core_seconds=sum(_core_seconds(one, quota) for one in spans),
        cores=_at_once(spans, quota, quota.now, end),
    )


def problem(
    new: Span,
    own: Iterable[Span],
    others: Iterable[Span],
    quota: LeaseQuota,
    before: Span | None = None,
) -> str:
    """Why this may not be booked beside what there is; '': it may.

    own, others: leases that are not over, of the project that pays it and of all others
    before: the same lease as it is now, which is not among them: what takes no more than that is fine
    """
    limits, mine = quota.limits, list(own)
    added = _core_seconds(new, quota)
    if before is not None and added <= _core_seconds(before, quota) * (1.0 + ROUNDING):
        return ''
    everybodys = [*mine, *others]
    return (
        _too_long(new, mine, limits.core_seconds, quota, 'the project has', 'max_core_hours')
        or _too_large(new, mine, limits.part, quota, 'the project has', 'max_part')
        or _too_long(
            new,
            everybodys,
            limits.cloud_core_seconds,
            quota,
            'all leases have',
            'max_cloud_core_hours',
        )
        or _too_large(
            new, everybodys, limits.cloud_part, quota, 'all leases have', 'max_cloud_part'
        )
    )


def unpriced(amounts: Sequence[float], total: Sequence[float], prices: Sequence[Fraction]) -> str:
    """The axis of which a lease takes the greatest part of the cloud, where that has no price; '': it has.

    What has a price is then paid for as much of the cloud as the lease keeps from others.
    total: of all hosts, zeros: not known; prices: of each axis
    """
    parts = [one / all_ if all_ > 0 else 0.0 for one, all_ in zip(amounts, total, strict=True)]
    most = max(parts) * (1.0 - ROUNDING)
    greatest = [axis for axis, part in enumerate(parts) if part >= most > 0]
    return '' if any(prices[axis] for axis in greatest) or not greatest else AXES[greatest[0]]


def cores_of(span: Span, quota: LeaseQuota) -> float:
    """As how many cores a lease counts."""
    total, cores = quota.total, span.amounts[CORES]
    for axis, amount in enumerate(span.amounts):
        if axis != CORES and total[axis] > 0:
            cores = max(cores, amount * total[CORES] / total[axis])
    return cores


def _too_long(
    new: Span, beside: Sequence[Span], most: float, quota: LeaseQuota, who: str, name: str
) -> str:
    """Why it takes more core-seconds than there may be ahead. who: whose leases are beside it"""
    has, added = sum(_core_seconds(one, quota) for one in beside), _core_seconds(new, quota)
    if added <= 0 or has + added <= most * (1.0 + ROUNDING):
        return ''
    return (
        f'the lease takes {_hours(added)} core-hours, {who} {_hours(has)} ahead and may have '
        f'{_hours(most)} ([leases]{name}): lease less or for less time, or delete a lease'
    )


def _too_large(
    new: Span, beside: Sequence[Span], part: float, quota: LeaseQuota, who: str, name: str
) -> str:
    """Why it takes more at once than this part of the cloud."""
    most = part * quota.total[CORES]
    if part >= 1.0 or most <= 0 or not new.placed:
        return ''
    held = _at_once([*beside, new], quota, max(new.start, quota.now), new.end)
    if held <= most * (1.0 + ROUNDING):
        return ''
    cores = cores_of(new, quota)
    return (
        f'the lease takes {cores:g} cores, {who} up to {max(held - cores, 0.0):g} meanwhile, of at most '
        f'{most:g}, which is {part:g} of the cloud ([leases]{name}): lease less, or at another time'
    )


def _core_seconds(span: Span, quota: LeaseQuota) -> float:
    return cores_of(span, quota) * max(span.end - max(span.start, quota.now), 0.0)


def _at_once(spans: Iterable[Span], quota: LeaseQuota, start: float, end: float) -> float:
    """The most cores at any time in [start, end): it only grows where a lease begins."""
    inside = [one for one in spans if one.placed and one.start < end and one.end > start]
    changes = [(max(one.start, start), 1, cores_of(one, quota)) for one in inside]
    changes += [(one.end, 0, -cores_of(one, quota)) for one in inside]
    held = most = 0.0
    # one that ends makes room for one that begins then
    for _, _, cores in sorted(changes):
        held += cores
        most = max(most, held)
    return most


def _hours(core_seconds: float) -> str:
    return f'{core_seconds / HOUR:.10g}'
