# SPDX-License-Identifier: Apache-2.0
"""The quotas that hosts have read, and which of them are believed: rule H28 of doc/source/specs/fairness.rst.

Any host may say that it reads quotas, and nothing proves what it has read. So where three or more hosts read
quotas, one of them alone is not believed, and where they differ the median counts: one that lies changes
nothing. With one or two readers each of them is trusted.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from nova_market.core.exchange.quota_tally import Quota
from nova_market.core.exchange.validation import MAX_OWNERS
from nova_market.core.resource import HostName, OwnerId

READERS = 3
"""So many are asked for an owner, and so many are needed to outvote one."""


def agreed(reported: Collection[Quota], readers: int) -> Quota | None:
    """The quota that counts of those that hosts have reported of one owner; None when too few have.

    readers: hosts that report quotas of any owner
    """
    if len(reported) < (2 if readers >= READERS else 1):
        return None
    cores = _median(cores for cores, _ in reported)
    return cores, _median(ram for _, ram in reported)


def _median(amounts: Iterable[int]) -> int:
    """The middle one, the lower of two; an unlimited one is the largest."""
    ordered = sorted(amounts, key=lambda amount: (amount < 0, amount))
    return ordered[(len(ordered) - 1) // 2]


def agreed_of_all(quotas: Iterable[Mapping[OwnerId, Quota]]) -> dict[OwnerId, Quota]:
    """What counts of what all hosts have reported."""
    stated = [one for one in quotas if one]
    by_owner: dict[OwnerId, list[Quota]] = {}
    for one in stated:
        for owner, quota in one.items():
            by_owner.setdefault(owner, []).append(quota)
    found = {owner: agreed(reported, len(stated)) for owner, reported in by_owner.items()}
    return {owner: quota for owner, quota in found.items() if quota is not None}


@dataclass(slots=True, eq=False, kw_only=True)
class _Reader:
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    reads: bool = False


class QuotaVotes:
    """What each host has reported.

    believed: owner -> the quota that counts
    """

    def __init__(self, changed: Callable[[OwnerId], None]) -> None:
        """changed: called with each owner whose quota is another one now."""
        self._changed = changed
        self._hosts: dict[HostName, _Reader] = {}
        self._reported: dict[OwnerId, dict[HostName, Quota]] = {}
        self._readers = 0
        self._asked: frozenset[HostName] | None = None
        self.believed: dict[OwnerId, Quota] = {}

    def of(self, host: HostName) -> Mapping[OwnerId, Quota]:
        """What a host has reported last."""
        return self._hosts[host].quotas if host in self._hosts else {}

    def report(self, host: HostName, quotas: Mapping[OwnerId, Quota]) -> None:
        """All that a host has read by now; nothing when it has gone."""
        before = self.of(host)
        if quotas == before:
            return
        for owner in before.keys() | quotas.keys():
            reported = self._reported.setdefault(owner, {})
            if owner in quotas:
                reported[host] = quotas[owner]
            else:
                del reported[host]
        self._hosts.setdefault(host, _Reader()).quotas = dict(quotas)
        self._asked = None
        readers = sum(bool(one.quotas) for one in self._hosts.values())
        few = self._readers < READERS, readers < READERS
        self._readers = readers
        owners = self._reported.keys() if few[0] != few[1] else before.keys() | quotas.keys()
        for owner in list(owners):
            self._count(owner)

    def reads(self, host: HostName, reads: bool) -> None:
        """May a host be asked for quotas?"""
        known = self._hosts.get(host)
        if reads == (known.reads if known is not None else False):
            return
        self._hosts.setdefault(host, _Reader()).reads = reads
        self._asked = None

    def forget(self, host: HostName) -> None:
        """A host has gone."""
        self.report(host, {})
        self.reads(host, False)
        self._hosts.pop(host, None)

    def is_asked(self, host: HostName) -> bool:
        """READERS hosts are asked, if possible those that have read some."""
        if self._asked is None:
            able = sorted((not one.quotas, name) for name, one in self._hosts.items() if one.reads)
            self._asked = frozenset(name for _, name in able[:READERS])
        return host in self._asked

    def asked(
        self, host: HostName, has: Collection[OwnerId], owners: Iterable[OwnerId]
    ) -> tuple[OwnerId, ...]:
        """Owners whose quotas such a host shall read, in the order of `owners`.

        has: the host's own owners, which it reads unasked
        """
        found = [owner for owner in owners if owner not in has and self._wants(owner, host)]
        return tuple(found[:MAX_OWNERS])

    def _wants(self, owner: OwnerId, host: HostName) -> bool:
        reported = self._reported.get(owner, {})
        return host in reported or len(reported) < READERS

    def _count(self, owner: OwnerId) -> None:
        reported = self._reported[owner]
        found = agreed(reported.values(), self._readers) if reported else None
        if not reported:
            del self._reported[owner]
        if found == self.believed.get(owner):
            return
        if found is None:
            del self.believed[owner]
        else:
            self.believed[owner] = found
        self._changed(owner)
