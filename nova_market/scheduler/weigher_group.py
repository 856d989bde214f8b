# SPDX-License-Identifier: Apache-2.0
"""All our weighers in one pass of Nova over the hosts, since it is that pass that costs.

Implements rule S4 of doc/source/specs/market.rst. Of each weigher Nova normalises the weights, multiplies
them and words three log records for every host, whoever reads them. What the sum needs is computed in arrays:

    sum over weighers of multiplier(host) * norm(weight)        norm: to 0..1, as Nova's normalize()

The weighers that Nova makes together are a panel. Its first member says the sum, the others say nothing. Each
counts as it would by itself, and one that fails is left out of the sum. Arrays (hosts,).
"""

import logging
import threading
import weakref
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler.host_manager import HostState
from nova.scheduler.utils import get_weight_multiplier

from nova_market.core.resource import Array
from nova_market.scheduler.candidates import Candidates

LOG = logging.getLogger(__name__)


class Member(Protocol):
    """option: its multiplier, in [nova_market] and in the metadata of aggregates
    least, most: between which its weights are; None: the least and the most of this request count
    """

    option: str
    least: float | None
    most: float | None

    def configured(self) -> float:
        """The multiplier of hosts whose aggregates say none."""

    def opinion(self, candidates: Candidates) -> Array | None:
        """Its weights; None: it has no opinion. Raises nothing."""

    def tell(self) -> None:
        """Log, once, that it does not work."""


class WeigherGroup:
    """Weighers that were made together, in the order in which they were; those that somebody still has."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[Member]] = []

    @property
    def members(self) -> list[Member]:
        return [member for one in self._made if (member := one()) is not None]

    def add(self, member: Member) -> None:
        self._made.append(weakref.ref(member))

    def takes(self, member: Member) -> bool:
        """A second one of a class belongs to another scheduler."""
        return all(type(one) is not type(member) for one in self.members)

    def speaks(self, member: Member) -> bool:
        return self.members[0] is member

    def sum(self, hosts: Sequence[HostState], spec: RequestSpec) -> list[float]:
        """What all members together think of each host; [] where that is the same of all."""
        candidates = Candidates(hosts, spec)
        total: Array | None = None
        for member in self.members:
            try:
                part = weighted(candidates, member)
            except Exception:
                member.tell()
                continue
            if part is None:
                continue
            if LOG.isEnabledFor(logging.DEBUG):
                LOG.debug('%s: %s', type(member).__name__, named(hosts, part))
            total = part if total is None else total + part
        plain: list[float] = total.tolist() if total is not None and total.any() else []
        return plain


class Panels:
    """The panel that is made now: complete when it is asked first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forming: WeigherGroup | None = None

    def join(self, member: Member) -> WeigherGroup:
        with self._lock:
            if self._forming is None or not self._forming.takes(member):
                self._forming = WeigherGroup()
            self._forming.add(member)
            return self._forming

    def close(self, panel: WeigherGroup) -> None:
        """It works: whoever is made from now on belongs to another one."""
        if self._forming is panel:
            with self._lock:
                if self._forming is panel:
                    self._forming = None


def named(hosts: Sequence[HostState], part: Array) -> dict[str, float]:
    return {host.host: value for host, value in zip(hosts, part.tolist(), strict=True)}


def normalised(weights: Array, least: float | None, most: float | None) -> Array:
    """To 0..1; all are 0 when they are equal. As nova.weights.normalize."""
    low = float(weights.min()) if least is None else least
    high = float(weights.max()) if most is None else most
    found: Array = (weights - low) / (high - low) if high != low else np.zeros(len(weights))
    return found


def weighted(candidates: Candidates, member: Member) -> Array | None:
    """What one member adds to the sum; None: nothing."""
    multiplier = multipliers(candidates, member)
    if multiplier is None or (found := member.opinion(candidates)) is None:
        return None
    return multiplier * normalised(found, member.least, member.most)


def multipliers(candidates: Candidates, member: Member) -> Array | float | None:
    """One for all hosts, or one for each; None: it is 0 everywhere."""
    configured = member.configured()
    special = candidates.with_metadata(member.option)
    if not special:
        return configured or None
    found = np.full(len(candidates.hosts), configured)
    for row in special:
        found[row] = get_weight_multiplier(candidates.hosts[row], member.option, configured)
    return found if found.any() else None
