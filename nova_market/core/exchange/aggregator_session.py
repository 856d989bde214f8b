# SPDX-License-Identifier: Apache-2.0
"""One host's session with one aggregator: what was sent, what was acknowledged, what was replied.

Implements the host's half of the collection of heaviness sets of IFI-2016.04, section IV-D.2, towards one
aggregator, over a transport that may lose frames or let them overtake each other. A value is sent
in every update until the reply to an update that held it has come; so any update that arrives leaves the
aggregator with all that the host had sent by then, whatever was lost before.

Times are seconds of the host's monotonic clock, given as arguments. Reads no clock and takes no lock.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.core.exchange.deadband import outside_deadband
from nova_market.core.exchange.messages import (
    CloudPart,
    HostReport,
    StateUpdate,
    TotalsReply,
    Vectors,
)
from nova_market.core.exchange.packed_sums import (
    NOBODY,
    OwnerList,
    PackedSums,
    owner_list,
    pack,
)
from nova_market.core.exchange.quota_tally import Quota
from nova_market.core.exchange.report_table import STALE
from nova_market.core.resource import HostName, OwnerId

FULL_UPDATE_EVERY = 10
"""Updates from one full update to the next: whatever else goes wrong is repaired within that time."""

LOST = 2
"""After so many updates without a reply full updates are sent: a host that was forgotten is then known by the
first that arrives, without a reply that asks for it."""

MAX_PENDING = 20
"""So many updates may wait for their replies; a reply to an older one is of no use."""

Partial = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInput:
    """What a host reports to one aggregator; vectors None when another one counts the host."""

    owners: Mapping[OwnerId, Partial]
    vectors: Vectors | None
    quotas: Mapping[OwnerId, Quota]


class AggregatorSession:
    """carried:  when the update was sent whose reply was taken last; None before the first
    complete: was that reply?
    others:   owner -> sum over the other hosts
    cloud:    the aggregator's part of the cloud, without this host
    older:    as in the last reply
    """

    def __init__(
        self,
        host: HostName,
        metric: str,
        epoch: str,
        aggregator_set: str,
        copy: int = 0,
        copies: int = 1,
    ) -> None:
        self._host = host
        self._copy, self._copies = copy, copies
        self._metric = metric
        self._epoch = epoch
        self._aggregator_set = aggregator_set
        self._incarnation = -1
        self._newest = -1
        self.carried: float | None = None
        self.complete = False
        self.others: dict[OwnerId, Partial] = {}
        self.quotas: dict[OwnerId, Quota] = {}
        self.cloud: CloudPart | None = None
        self.asked: tuple[OwnerId, ...] = ()
        self.older: int | None = None
        self._forget()

    def _forget(self) -> None:
        """Begin anew, as no reply to an earlier update can come any more."""
        # when each update that waits for its reply was sent, and its owners
        self._sent: dict[int, tuple[float, OwnerList]] = {}
        self._acked: int | None = None
        self._reads_numbers = False
        self._known = NOBODY  # the owners, and the first update of which they were all the owners
        self._known_since = -1
        self._arrived = -1
        self._full = True
        self._full_since = -1
        self._since_full = 0
        # value and the first update since which all have held it; None = no VMs any more
        self._owners: dict[OwnerId, tuple[Partial | None, int]] = {}
        self._vectors: tuple[Vectors | None, int] = (None, -1)
        self._quotas: tuple[Mapping[OwnerId, Quota], int] = ({}, -1)

    @property
    def unacked(self) -> bool:
        """Is the reply to the last update still to come?"""
        return self._arrived < self._newest

    def update(self, report: HostReport, part: SessionInput, now: float) -> StateUpdate:
        """The update to send now; it waits for its reply from now on."""
        number = report.sequence
        if report.incarnation != self._incarnation or number <= self._newest:
            self._forget()
        self._since_full += 1
        lost = self._newest - self._arrived > LOST  # the aggregator may have forgotten this host
        if lost:
            self._reads_numbers = False  # or another one may have its name
        if (self._since_full >= FULL_UPDATE_EVERY or lost) and not self._full:
            self._full, self._full_since = True, -1
        self._incarnation, self._newest = report.incarnation, number
        if self._full and self._full_since < 0:
            self._full_since = number
        full = self._full
        if full:
            self._since_full = 0
        owners, gone = self._changes(part.owners, number, full)
        if part.owners.keys() != set(self._known.owners):
            self._known, self._known_since = owner_list(part.owners), number
        numbered = owners and self._reads_numbers and self._arrived >= self._known_since
        update = StateUpdate(
            host=self._host,
            incarnation=report.incarnation,
            sequence=number,
            metric=self._metric,
            epoch=self._epoch,
            aggregator_set=self._aggregator_set,
            full=full,
            acked=self._acked,
            owners=pack(owners, self._known) if numbered else owners,
            gone=() if full else gone,
            vectors=self._vectors_news(part.vectors, number, full),
            quotas=self._quotas_news(part.quotas, number, full),
            reads_quotas=report.reads_quotas,
            copy=self._copy,
            copies=self._copies,
        )
        self._sent[number] = (now, self._known)
        if len(self._sent) > MAX_PENDING:
            del self._sent[min(self._sent)]
        # not before the aggregator knows that they left: it does not send again what it takes for known
        for owner in self.others.keys() - self._owners.keys():
            del self.others[owner]
            self.quotas.pop(owner, None)
        return update

    def receive(self, reply: TotalsReply, now: float, ttl: float) -> str:
        """Take a reply; returns '' or why it is of no use."""
        number = reply.sequence
        sent = self._sent.get(number) if reply.incarnation == self._incarnation else None
        if sent is None or reply.aggregator_set != self._aggregator_set:
            return STALE
        published, known = sent
        table = reply.owners if isinstance(reply.owners, PackedSums) else None
        understood = table is None or table.refers_to(known)
        self._reads_numbers = reply.reads_numbers and understood and not reply.resync
        if reply.resync or not understood:
            # one that crosses a full update asks for what is under way
            if not self._full and number > self._full_since:
                self._full, self._full_since = True, -1
            return ''
        self._arrived = max(self._arrived, number)
        if self._full and number >= self._full_since >= 0:
            self._full = False
        if self._acked is not None and number <= self._acked:
            return STALE
        old = self.carried is None or now - self.carried > ttl
        if self.complete and not reply.complete and not old:
            return ''  # the aggregator has started anew: what is known already is better
        self._take(reply, published)
        return ''

    def _take(self, reply: TotalsReply, published: float) -> None:
        self._acked, self.older = reply.sequence, reply.older
        self.carried, self.complete, self.asked = published, reply.complete, reply.asked
        if reply.full:
            self.others, self.quotas = {}, {}
        for owner, sums in reply.owners.items():
            self.others[owner] = sums
            self.quotas.pop(owner, None)
        # of owners that are replied, which are forgotten when this host has them no more
        self.quotas |= {o: quota for o, quota in reply.quotas.items() if o in reply.owners}
        self.cloud = reply.cloud or self.cloud
        self._sent = {n: sent for n, sent in self._sent.items() if n > reply.sequence}

    def _changes(
        self, owners: Mapping[OwnerId, Partial], number: int, full: bool
    ) -> tuple[dict[OwnerId, Partial], tuple[OwnerId, ...]]:
        news: dict[OwnerId, Partial] = {}
        for owner, partial in owners.items():
            sent, since = self._owners.get(owner, (None, number))
            if sent is None or outside_deadband(sent, partial):
                self._owners[owner] = (partial, number)
                news[owner] = partial
            elif full or since > self._arrived:
                news[owner] = sent
        gone = []
        for owner in sorted(self._owners.keys() - owners.keys()):
            sent, since = self._owners[owner]
            if sent is not None:
                self._owners[owner] = (None, number)
            elif since <= self._arrived:
                del self._owners[owner]
                continue
            gone.append(owner)
        return news, tuple(gone)

    def _vectors_news(self, vectors: Vectors | None, number: int, full: bool) -> Vectors | None:
        sent, since = self._vectors
        if vectors is None:
            return None
        if sent is None or _vectors_outside(sent, vectors):
            self._vectors = (vectors, number)
            return vectors
        return sent if full or since > self._arrived else None

    def _quotas_news(
        self, quotas: Mapping[OwnerId, Quota], number: int, full: bool
    ) -> Mapping[OwnerId, Quota] | None:
        sent, since = self._quotas
        if sent != quotas:
            self._quotas = (dict(quotas), number)
            return quotas
        return sent if full or since > self._arrived else None


def _vectors_outside(sent: Vectors, vectors: Vectors) -> bool:
    return (
        outside_deadband(sent.supply, vectors.supply)
        or outside_deadband(sent.load, vectors.load)
        or outside_deadband(sent.virtual, vectors.virtual)
    )
