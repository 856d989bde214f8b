# SPDX-License-Identifier: Apache-2.0
"""What is kept of a lease from its booking to its end: its row, its nodes, its events.

Implements the rows of rules L1, L4 and L6 of doc/source/specs/leases.rst, after CloudAlloc, section 3 ("we
store information for users, bookings, usage"). Units: seconds since the epoch, seconds, cores, MiB and GiB
of one node, micro-credits of the whole lease.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nova_market.core.lease.limit import Span
from nova_market.core.lease.request import LeaseRequest, automatic
from nova_market.core.ledger.money import MONEY
from nova_market.core.ledger.posting import Posting
from nova_market.core.row_check import AMOUNT, COUNT, TIME, Bounds, checked, is_within
from nova_market.errors import BadRow

MAX_EVENTS = 1000
"""Events that are kept of one lease; the oldest go first."""


class LeaseState(StrEnum):
    """Where a lease is. It only goes forward, whatever the clock does; the last two are over."""

    PLANNED = 'planned'
    STARTING = 'starting'
    """Its time has come; its hosts are looked at."""

    ACTIVE = 'active'
    ENDING = 'ending'
    """Its owner was told that it ends soon."""

    ENDED = 'ended'
    FAILED = 'failed'
    """It could not begin or go on: a host was lost, and no other one had room."""


OVER = (LeaseState.ENDED, LeaseState.FAILED)
BEGUN = (LeaseState.ACTIVE, LeaseState.ENDING)

BLAZAR = 'blazar'
"""In place of the algorithm: Blazar has chosen its hosts (L9)."""


class LeaseAction(StrEnum):
    """What an event is about."""

    BOOKED = 'booked'
    CHANGED = 'changed'
    MOVED = 'moved'
    HOST_LOST = 'host_lost'
    STARTING = 'starting'
    STARTED = 'started'
    ENDING = 'ending'
    ENDED = 'ended'
    FAILED = 'failed'
    DELETED = 'deleted'
    GIVEN = 'given'
    SET_ASIDE = 'set_aside'
    """It cannot be handled now (R3 of passes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseNode:
    """One node on its host, during the time of its lease. amounts: in the order of AXES."""

    host: str
    amounts: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLease:
    """A lease, with what was asked for.

    project_id:   whose it is now; payer_id: the project that pays, which is the one that booked it
    amounts:      of one node, as asked for; zeros where it is a whole host
    earliest, finish: the window; hosts: the names that were asked for, (): any
    flexible:     it may be moved until it begins soon
    start, end:   as booked; ended_at: when it was over, 0: it is not
    nodes:        where it is booked, in the order of the request; (): it has no place
    cost:         for all of it, as booked: held in escrow then
    charged, refunded: of that
    priced_since, priced_before: when its size has changed, and what it had cost until then; 0: it has not
    algorithm, objective: that chose its hosts, '' of a manual one
    revision:     grows with each change; who changes it names the one that was read
    """

    id: str
    project_id: str
    payer_id: str
    user_id: str
    name: str = ''
    purpose: str = ''
    amounts: tuple[float, float, float]
    count: int
    whole: bool
    utilisation: float = 1.0
    duration: float
    earliest: float
    finish: float
    hosts: tuple[str, ...] = ()
    flexible: bool = False
    state: LeaseState = LeaseState.PLANNED
    start: float
    end: float
    ended_at: float = 0.0
    nodes: tuple[LeaseNode, ...] = ()
    cost: int = 0
    charged: int = 0
    refunded: int = 0
    priced_since: float = 0.0
    priced_before: int = 0
    algorithm: str = ''
    objective: str = ''
    created_at: float = 0.0
    revision: int = 0
    number: int = 0
    """Order of booking; marker of the next page. 0: not stored yet."""

    @property
    def over(self) -> bool:
        return self.state in OVER

    @property
    def mark(self) -> tuple[int, int]:
        """Another one for each change, also where the same id was used again."""
        return self.number, self.revision

    @property
    def of_blazar(self) -> bool:
        """It is one of Blazar's, which decides on all but its money (L9)."""
        return self.algorithm == BLAZAR

    @property
    def held(self) -> int:
        """What is in escrow for it still."""
        return self.cost - self.charged - self.refunded

    @property
    def span(self) -> Span:
        """What all its nodes take together, as limits count it; as asked for where it has no place."""
        if self.nodes:
            total = tuple(
                sum(column) for column in zip(*(one.amounts for one in self.nodes), strict=True)
            )
        else:
            total = tuple(one * self.count for one in self.amounts)
        return Span(start=self.start, end=self.end, amounts=total, placed=bool(self.nodes))

    @property
    def request(self) -> LeaseRequest:
        """What was asked for, as an algorithm takes it.

        :raises BadLease: the row does not hold a lease.
        """
        cores, memory, disk = self.amounts
        return automatic(
            self.id, nodes=self.count, cores=cores, memory_mib=memory, disk_gib=disk,
            whole=self.whole, utilisation=self.utilisation, duration=self.duration,
            earliest=self.earliest, finish=self.finish, hosts=self.hosts,
        )  # fmt: skip


LEASE_BOUNDS: Bounds = {
    **dict.fromkeys(('cost', 'charged', 'refunded', 'priced_before'), MONEY),
    **dict.fromkeys(
        (
            'duration',
            'earliest',
            'finish',
            'start',
            'end',
            'ended_at',
            'priced_since',
            'created_at',
        ),
        TIME,
    ),
    **dict.fromkeys(('count', 'revision'), COUNT),
    'utilisation': (0.0, 1.0),
}


def check_lease(lease: StoredLease) -> None:
    """:raises BadRow: names what of it is not as it is of any lease."""
    checked(lease, LEASE_BOUNDS)
    if not lease.over and lease.end < lease.start:
        raise BadRow(f'end is {lease.end!r}: it must not be before start, {lease.start!r}')
    for amounts in (lease.amounts, *(node.amounts for node in lease.nodes)):
        if not all(is_within(one, AMOUNT) for one in amounts):
            raise BadRow(f'amounts are {amounts!r:.80}: each must be from 0 to {AMOUNT[1]:g}')


def stand_in(held: Mapping[str, Any], nodes: tuple[LeaseNode, ...]) -> StoredLease:
    """What a lease that cannot be read may hold: its nodes, as long as can be. It takes no step.

    held: its columns; nodes: those that can be read
    """
    start, end = (
        otherwise if not is_within(held[name], TIME) else float(held[name])
        for name, otherwise in (('start', TIME[0]), ('end', TIME[1]))
    )
    end = end if end >= start else TIME[1]
    known = held['state'] in frozenset(map(str, LeaseState))
    return StoredLease(
        id=str(held['id']),
        project_id=str(held['project_id']),
        payer_id=str(held['payer_id']),
        user_id=str(held['user_id']),
        amounts=(0.0, 0.0, 0.0),
        count=len(nodes),
        whole=held['whole'] is True,
        duration=end - start,
        earliest=start,
        finish=end,
        state=LeaseState(held['state']) if known else LeaseState.PLANNED,
        start=start,
        end=end,
        nodes=nodes,
        number=int(held['number']),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseEvent:
    """One thing that happened to a lease, and why. action: a LeaseAction"""

    lease_id: str
    at: float
    action: str
    reason: str = ''
    numbers: Mapping[str, float] = field(default_factory=dict)
    number: int = 0
    """Grows with time; the marker of the next page. 0: not stored yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseStep:
    """What becomes of a lease, in one transaction with its money and its events.

    before: as it was read; written only if its revision is still that one
    after:  as it will be; the store sets its revision
    """

    before: StoredLease
    after: StoredLease
    postings: Sequence[Posting] = ()
    events: Sequence[LeaseEvent] = ()

    @property
    def books(self) -> bool:
        """Whether it takes other room than it had: room that it gives back hurts nobody."""
        before, after = self.before, self.after
        if after.over or not after.nodes:
            return False
        return before.nodes != after.nodes or after.start < before.start or after.end > before.end


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseChanges:
    """What differs from what somebody knows of the leases that are not over.

    turn: of the calendar; gone: ids of those that are over; leases: that are new, or not as they were
    """

    turn: int
    gone: frozenset[str]
    leases: Sequence[StoredLease]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseFilter:
    """Which leases to list; None, (): all. host: that has a node of it."""

    project_id: str | None = None
    states: tuple[LeaseState, ...] = ()
    host: str | None = None
    since: float | None = None
    until: float | None = None
    """Only those that take something between these two."""
