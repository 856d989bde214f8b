# SPDX-License-Identifier: Apache-2.0
"""What an offer for a lease or for servers promises, and whether a place keeps the promise.

Implements rules O1 and O2 of doc/source/specs/tender.rst for leases (CloudAlloc, section 4, fig. 7: a user
chooses among options). Units: seconds since the epoch, seconds, cores, MiB and GiB, micro-credits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from nova_market.core.lease.record import LeaseNode
from nova_market.core.lease.request import LeaseRequest

ROUNDING = 2.0**-10
"""Of sums over many nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedLease:
    """Stored with its offer.

    body:     what was asked for, as it was sent
    nodes:    on different hosts; servers: of the flavor on each of them, 0: it is no offer for servers
    amounts:  of one node, zeros where it is a whole host
    named:    hosts that were named, (): any
    start:    at_once: as soon as the offer is accepted, and as of its making here
    finish:   the end of the window, for a lease that may be moved
    hosts:    where it would be; taken: cores, MiB and GiB of all nodes
    change:   a near option (core.lease.near_option.Change); '': it is what was asked for
    market:   what these cores and this memory would cost in the market at its last prices; None: it has none
    """

    body: Mapping[str, Any]
    nodes: int
    servers: int = 0
    amounts: tuple[float, ...]
    whole: bool
    utilisation: float
    named: tuple[str, ...] = ()
    duration: float
    start: float
    at_once: bool
    finish: float
    hosts: tuple[str, ...]
    taken: tuple[float, ...]
    change: str = ''
    market: int | None = None

    def request(self, lease: str, now: float) -> LeaseRequest:
        """The same nodes at the same time, which is now for one that starts at once. now: on the grid"""
        start = now if self.at_once else self.start
        return LeaseRequest(
            id=lease, nodes=self.nodes, amounts=np.array(self.amounts), whole=self.whole,
            utilisation=self.utilisation, duration=self.duration, earliest=start,
            finish=start + self.duration, hosts=self.named,
        )  # fmt: skip

    def kept_by(self, nodes: Sequence[LeaseNode]) -> bool:
        """Whether these nodes have no less in sum: whole hosts may be smaller ones."""
        found = taken_by(nodes)
        return all(one >= given - ROUNDING for one, given in zip(found, self.taken, strict=True))


TUPLES = ('amounts', 'named', 'hosts', 'taken')


def taken_by(nodes: Sequence[LeaseNode]) -> tuple[float, ...]:
    """Cores, MiB and GiB of all of them."""
    return tuple(sum(axis) for axis in zip(*(one.amounts for one in nodes), strict=True))


def offered_document(lease: OfferedLease) -> dict[str, Any]:
    """As JSON has it."""
    return {one.name: getattr(lease, one.name) for one in fields(lease)}


def offered_lease(document: Mapping[str, Any]) -> OfferedLease:
    """The inverse."""
    return OfferedLease(**{**document, **{name: tuple(document[name]) for name in TUPLES}})
