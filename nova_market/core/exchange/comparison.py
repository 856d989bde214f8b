# SPDX-License-Identifier: Apache-2.0
"""What several aggregators have replied about the same owners, and which of them is wrong: rule H33.

An aggregator may add up wrongly, for all hosts or for some. So each owner has three, which do not know what
the others reply, and each host compares: the middle one of three numbers counts, and an aggregator that
goes on to differ from two that agree is left. All three receive the same updates in the same round, so what
they reply differs by the deadband only, but for messages that are lost. Times are seconds of the host's
monotonic clock, given as arguments.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, median_low

from nova_market.core.exchange.messages import CloudPart, Vectors
from nova_market.core.exchange.quota_tally import Quota, QuotaTally
from nova_market.core.resource import HostName, OwnerId

TOLERANCE = 0.05
"""Part of the larger one by which two numbers may differ: two deadbands of 1 %, and some more."""

LEAST = 0.02
"""Numbers do not differ by less; a user with an n-th of the cloud has a heaviness of about 1."""

ROUNDS = 6
"""So many in a row an aggregator differs before it is left: a message of some host may have been lost."""

LEFT = 3600.0
"""Seconds that it is left for: it may have been repaired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one aggregator has replied, or what counts of several: as in TotalsReply.

    carried: when the update was sent that it replies to
    usable:  is it about this host's last update, and complete?
    """

    aggregator: HostName
    others: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    cloud: CloudPart | None = None
    asked: tuple[OwnerId, ...] = ()
    carried: float = -math.inf
    usable: bool = False
    older: int | None = None

    @property
    def has_older(self) -> bool:
        """Has it replied that it, or some host that sends to it, is of an earlier version?"""
        return self.carried > -math.inf and self.older != 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """wrong: the aggregator that is left, or both of two that differ; where: what they differ in."""

    wrong: tuple[HostName, ...]
    where: str


class Comparison:
    """Of one host."""

    def __init__(self) -> None:
        # the first aggregator of a place and those compared there: who has differed, and how often in a row
        self._differed: dict[tuple[HostName, ...], tuple[tuple[HostName, ...], int]] = {}
        self._left: dict[HostName, float] = {}
        self.verdicts: list[Verdict] = []

    def agreed(self, copies: Sequence[Part], now: float) -> Part:
        """What counts of the parts of one place; where nothing can be compared the first that is not left.

        Appends to `verdicts` what has been found.
        """
        kept = [one for one in copies if not self._is_left(one.aggregator, now)] or copies
        first = kept[0]
        if first.has_older and first is copies[0]:
            return first  # some hosts send their updates to it alone
        trusted = [one for one in kept if one.usable]
        if not trusted:
            return first
        if len(trusted) == 1:
            # of three, two that have begun anew are complete soon
            return replace(trusted[0], usable=len(copies) < 3)
        wrong, where = _odd_ones(trusted)
        compared = (copies[0].aggregator, *(one.aggregator for one in trusted))
        before, rounds = self._differed.pop(compared, (wrong, 0))
        if wrong:
            rounds = rounds + 1 if wrong == before else 1
            self._differed[compared] = wrong, rounds
            if rounds == ROUNDS:
                self.verdicts.append(Verdict(wrong=wrong, where=where))
                if len(wrong) == 1:
                    self._left[wrong[0]] = now
                    del self._differed[compared]
        return _middle(trusted) if len(trusted) > 2 else max(trusted, key=lambda one: one.carried)

    def _is_left(self, aggregator: HostName, now: float) -> bool:
        return aggregator in self._left and now - self._left[aggregator] < LEFT


def _odd_ones(parts: Sequence[Part]) -> tuple[tuple[HostName, ...], str]:
    """The part that differs from two that agree, or both of two that differ; and in what. Nobody: ((),
    '')."""
    if len(parts) == 2:
        where = difference(*parts)
        return (tuple(one.aggregator for one in parts) if where else ()), where
    for odd in parts:
        one, other = (part for part in parts if part is not odd)
        where = difference(odd, one)
        if where and difference(odd, other) and not difference(one, other):
            return (odd.aggregator,), where
    return (), ''


def difference(one: Part, other: Part) -> str:
    """The first thing in which two parts differ, with both values; '' when they agree."""
    for owner in sorted(one.others.keys() | other.others.keys()):
        here, there = one.others.get(owner, ()), other.others.get(owner, ())
        if _differ(here, there):
            return f'owner {owner}: {_shown(here)} and {_shown(there)}'
        if one.quotas.get(owner) != other.quotas.get(owner):
            return f'quota of owner {owner}: {one.quotas.get(owner)} and {other.quotas.get(owner)}'
    if (one.cloud is None) != (other.cloud is None):
        return 'the cloud: one reports none'
    if one.cloud is None or other.cloud is None:
        return ''
    for (name, here), (_, there) in zip(_numbers(one.cloud), _numbers(other.cloud), strict=True):
        if _differ(here, there):
            return f'{name}: {_shown(here)} and {_shown(there)}'
    return ''


def _numbers(cloud: CloudPart) -> Iterable[tuple[str, tuple[float, ...]]]:
    return (
        ('hosts', (cloud.hosts,)),
        ('owners', (cloud.owner_count,)),
        ('supply', cloud.vectors.supply),
        ('load', cloud.vectors.load),
        ('virtual', cloud.vectors.virtual),
        ('quotas', (*cloud.tally.known, *cloud.tally.total, *cloud.tally.largest)),
    )


def _differ(here: Collection[float], there: Collection[float]) -> bool:
    """Numbers that one side has not are 0."""
    width = max(len(here), len(there))
    pairs = zip(_padded(here, width), _padded(there, width), strict=True)
    return any(abs(a - b) > max(LEAST, TOLERANCE * max(abs(a), abs(b))) for a, b in pairs)


def _padded(numbers: Collection[float], width: int) -> tuple[float, ...]:
    return (*numbers, *[0.0] * (width - len(numbers)))


def _shown(numbers: Collection[float]) -> str:
    return ', '.join(f'{number:g}' for number in numbers) or 'nothing'


def _middle(parts: Sequence[Part]) -> Part:
    """The middle one of each number of three; of what two of them have not got, nothing."""
    had = Counter(owner for one in parts for owner in one.others)
    owners = sorted(owner for owner, count in had.items() if count > len(parts) / 2)
    quotas = {owner: [one.quotas.get(owner) for one in parts] for owner in owners}
    asked = Counter(owner for one in parts for owner in dict.fromkeys(one.asked))
    clouds = [one.cloud for one in parts if one.cloud is not None]
    return Part(
        aggregator=parts[0].aggregator,
        others={owner: _medians([one.others.get(owner, ()) for one in parts]) for owner in owners},
        quotas={
            owner: quota
            for owner, stated in quotas.items()
            if (quota := max(stated, key=stated.count)) is not None
        },
        cloud=_middle_cloud(clouds) if len(clouds) > len(parts) / 2 else None,
        asked=tuple(owner for owner, count in asked.items() if count > len(parts) / 2),
        carried=max(one.carried for one in parts),
        usable=True,
    )


def _medians(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    width = max(map(len, rows))
    return tuple(map(median, zip(*(_padded(row, width) for row in rows), strict=True)))


def _middle_cloud(clouds: Sequence[CloudPart]) -> CloudPart:
    vectors = [cloud.vectors for cloud in clouds]
    tallies = [(*c.tally.known, *c.tally.total, *c.tally.largest) for c in clouds]
    a, b, c, d, e, f = (median_low(column) for column in zip(*tallies, strict=True))
    return CloudPart(
        hosts=median_low(cloud.hosts for cloud in clouds),
        owner_count=median_low(cloud.owner_count for cloud in clouds),
        vectors=Vectors(
            supply=_medians([one.supply for one in vectors]),
            load=_medians([one.load for one in vectors]),
            virtual=_medians([one.virtual for one in vectors]),
        ),
        tally=QuotaTally(known=(a, b), total=(c, d), largest=(e, f)),
    )
