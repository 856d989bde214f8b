# SPDX-License-Identifier: Apache-2.0
"""What the hosts that an aggregator counts hold and use: their sum, as far as each of them can have it (H26).

Implements the Cloud Resource Supply of IFI-2016.04, section III-C, for the hosts of one aggregator. Supply,
load and flavors in a row: lists of 3 x resources numbers. Sums are changed by what a host changes, and
added up anew now and then, so that roundings do not pile up.
"""

import math
from dataclasses import dataclass

import numpy as np

from nova_market.core.exchange.messages import Vectors
from nova_market.core.exchange.report_bounds import room, within
from nova_market.core.resource import RESOURCES, Array, HostName

NOTHING = [0.0] * (3 * len(RESOURCES))


@dataclass(slots=True, kw_only=True)
class _Host:
    """stated: what it has reported; counted: what is in the sum."""

    stated: list[float]
    counted: list[float]


class HomedVectors:
    """changes: how often the sum has changed."""

    def __init__(self) -> None:
        self._hosts: dict[HostName, _Host] = {}
        self._total = NOTHING
        self._most = np.full(len(RESOURCES), np.inf)
        self.changes = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def __contains__(self, host: HostName) -> bool:
        return host in self._hosts

    @property
    def most(self) -> Array:
        """What a host may hold, shape (resources,); infinite while there are too few to compare."""
        return self._most

    def put(self, host: HostName, vectors: Vectors | None) -> None:
        """What a host has reported; None when it is not counted here any more."""
        before = self._hosts.pop(host, None)
        if vectors is None and before is None:
            return
        after = NOTHING
        if vectors is not None:
            stated = [*vectors.supply, *vectors.load, *vectors.virtual]
            after = self._counted(stated)
            self._hosts[host] = _Host(stated=stated, counted=after)
        gone = before.counted if before is not None else NOTHING
        changes = zip(self._total, gone, after, strict=True)
        self._total = [total - old + new for total, old, new in changes]
        self.changes += 1

    def others(self, host: HostName) -> list[float]:
        """The sum over the other hosts; rounding leaves no less than nothing."""
        own = self._hosts[host].counted if host in self._hosts else NOTHING
        pairs = zip(self._total, own, strict=True)
        return [total - mine if total > mine else 0.0 for total, mine in pairs]

    def compare(self) -> bool:
        """Learn anew what a host may hold; has that changed?"""
        supplies = [one.stated[: len(RESOURCES)] for one in self._hosts.values()]
        most = room(np.array(supplies).reshape(-1, len(RESOURCES)))
        if np.array_equal(most, self._most):
            return False
        self._most = most
        return True

    def recount(self) -> None:
        """Add up anew, with what a host may hold by now."""
        for one in self._hosts.values():
            one.counted = self._counted(one.stated)
        rows = [one.counted for one in self._hosts.values()]
        self._total = [math.fsum(column) for column in zip(NOTHING, *rows, strict=True)]
        self.changes += 1

    def _counted(self, stated: list[float]) -> list[float]:
        if not np.isfinite(self._most).any():
            return stated
        counted: list[float] = within(np.reshape(stated, (3, -1)), self._most).ravel().tolist()
        return counted
