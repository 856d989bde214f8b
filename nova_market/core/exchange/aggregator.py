# SPDX-License-Identifier: Apache-2.0
"""The sums of some owners over all hosts: what an aggregator keeps and replies.

Implements the sums of eq. (4) of IFI-2016.04 and the collection of heaviness sets of section IV-D.2, without
FIFO queues and barrier: the last update of a host counts, and expires `ttl` seconds after it was received.
Everything is soft state: an aggregator that starts empty asks the hosts for full updates.

All times are seconds of the receiver's monotonic clock, given as arguments. Reads no clock and takes no
lock: its owner does both.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.exchange.deadband import outside_deadband
from nova_market.core.exchange.homed_vectors import HomedVectors
from nova_market.core.exchange.messages import (
    CloudPart,
    Departure,
    StateUpdate,
    TotalsReply,
    Vectors,
)
from nova_market.core.exchange.owner_sums import Contribution, OwnerSums
from nova_market.core.exchange.packed_sums import PackedSums
from nova_market.core.exchange.quota_tally import Quota, QuotaTally, tally
from nova_market.core.exchange.quota_votes import QuotaVotes
from nova_market.core.exchange.report_bounds import CloudSize, ReportBound, unbounded
from nova_market.core.exchange.report_table import MAX_HOSTS, OTHER_METRIC, STALE, TOO_MANY_HOSTS
from nova_market.core.exchange.validation import MAX_COPIES, MAX_OWNERS
from nova_market.core.resource import RESOURCES, HostName, OwnerId

MAX_ENTRIES = 1_000_000
"""So many owners of hosts are remembered; 1,000 hosts of 30 owners take 30,000."""

TOO_MANY_OWNERS = 'too_many_owners'

SETTLING = 0.4
"""Part of `ttl` (three intervals) in which every host has sent an update: 1.2 intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SentCloud:
    """What was last sent to a host of the cloud: supply, load, virtual in a row; hosts, owners, tally."""

    sums: list[float]
    counts: tuple[int, int, QuotaTally]
    since: int


@dataclass(slots=True, eq=False, kw_only=True)
class _Row:
    """One host.

    present: False after its departure; its version then guards the place
    copies:  of each owner, to which the host sends its updates; 0 before the first
    seen:    how many changes of the vectors `sent` takes into account
    """

    version: tuple[int, int]
    received: float
    aggregator_set: str
    present: bool = True
    copies: int = 0
    contribution: Contribution = field(default_factory=Contribution)
    sent: _SentCloud | None = None
    seen: int = -1
    reply: TotalsReply | None = None


class Aggregator:
    """Sums per owner and over the hosts homed here."""

    def __init__(
        self,
        host: HostName,
        metric: str,
        ttl: float,
        epoch: str,
        limit: int = MAX_HOSTS,
        entries: int = MAX_ENTRIES,
        bound: ReportBound = unbounded,
    ) -> None:
        """host: its name in replies; ttl: seconds after which a silent host is forgotten.

        bound: of the sums that a host may report, by the metric
        """
        self._host = host
        self._metric = metric
        self._ttl = ttl
        self._epoch = epoch
        self._limit = limit
        self._room = entries
        self._rows: dict[HostName, _Row] = {}  # in the order in which they last sent an update
        self._bound = bound
        self._sums = OwnerSums()
        self._vectors = HomedVectors()
        self._quotas = QuotaVotes(self._sums.mark)
        self._recounted = -math.inf
        self._due = -math.inf  # before then nothing expires
        self._copies: Counter[int] = Counter()
        self._owners: tuple[int, int, QuotaTally] | None = None  # hosts, owners that count
        self._aggregator_sets: dict[str, tuple[float, float]] = {}

    def receive(self, update: StateUpdate, now: float) -> TotalsReply | str:
        """Take an update; returns the reply, or why the update is refused.

        An update that is not newer than the last is refused while that one is valid. After that any is
        taken: the clock of a restarted host may have jumped back, and its incarnation with it.
        """
        self._expire(now)
        row = self._rows.get(update.host)
        if update.metric != self._metric:
            return OTHER_METRIC
        if row is not None and update.version <= row.version:
            return _repeated(row, update)
        if update.epoch != self._epoch:
            return self._reply(update)
        if not _is_understood(row, update):
            return self._reply(update, resync=True)
        reason = self._refusal(row, update)
        if reason:
            return reason
        row = self._write(row, update, now)
        first, last = self._aggregator_sets.get(update.aggregator_set, (now, now))
        if now - last >= self._ttl:
            first = now
        self._aggregator_sets[update.aggregator_set] = (first, now)
        owners = self._sums.news(row.contribution, update.sequence, _acked(update))
        if not update.reads_numbers:
            owners = dict(owners)
        row.reply = self._reply(
            update,
            full=update.full,
            complete=now - first >= SETTLING * self._ttl,
            owners=owners,
            quotas=self._quotas_of(owners),
            cloud=self._cloud_news(row, update),
            asked=self._asked(row, update.host),
        )
        return row.reply

    def leave(self, departure: Departure, now: float) -> str:
        """Forget a host that leaves; an update that it sent before may still arrive late."""
        self._expire(now)
        row = self._rows.get(departure.host)
        if row is not None and departure.version <= row.version:
            return STALE
        if row is None and len(self._rows) >= self._limit:
            return TOO_MANY_HOSTS
        self._forget(departure.host)
        self._rows[departure.host] = _Row(
            version=departure.version, received=now, aggregator_set='', present=False
        )
        return ''

    def learn(self, size: CloudSize) -> None:
        """How large the cloud is, as this host itself has it: what one host may report follows (H26)."""
        if self._vectors.compare():
            self._vectors.recount()
        most = self._vectors.most
        bound = self._bound(most, size) if np.isfinite(most).all() else None
        self._sums.bound(bound, [row.contribution for row in self._rows.values()])

    def _reply(self, update: StateUpdate, **parts: object) -> TotalsReply:
        return TotalsReply(
            host=self._host,
            to=update.host,
            incarnation=update.incarnation,
            sequence=update.sequence,
            epoch=self._epoch,
            aggregator_set=update.aggregator_set,
            copy=update.copy,
            older=self._fewer_copies(update.copies) if update.copies > 1 else None,
            **parts,  # type: ignore[arg-type]
        )

    def _fewer_copies(self, copies: int) -> int:
        """Hosts that send to fewer copies, as those of an earlier version do."""
        return sum(self._copies[number] for number in range(1, copies))

    # -- what is remembered

    def _expire(self, now: float) -> None:
        if now < self._due:
            return
        while self._rows:
            host, row = next(iter(self._rows.items()))
            if now - row.received < self._ttl:
                break
            self._forget(host)
        if now - self._recounted >= self._ttl:
            self._recount(now)
        oldest = next((row.received for row in self._rows.values()), now)
        self._due = min(oldest, self._recounted) + self._ttl

    def _recount(self, now: float) -> None:
        """Sum the hosts' updates anew, so that roundings of many changes do not pile up.

        It takes 3 ms for a thousand hosts.
        """
        self._recounted = now
        self._sums.recount(row.contribution for row in self._rows.values())
        self._vectors.recount()
        for aggregator_set, (_, last) in list(self._aggregator_sets.items()):
            if now - last >= self._ttl:
                del self._aggregator_sets[aggregator_set]

    def _refusal(self, row: _Row | None, update: StateUpdate) -> str:
        if row is None and len(self._rows) >= self._limit:
            return TOO_MANY_HOSTS
        known = {} if row is None else row.contribution.places
        read = self._quotas.of(update.host)
        had = len(known) + len(read)
        quotas = len(update.quotas or read)
        owners = len(known) + len(update.owners)
        if owners <= MAX_OWNERS and owners + quotas - had <= self._room:
            return ''  # even if none of them is known
        before = 0 if update.full else len(known.keys() - update.owners.keys())
        owners = before + len(update.owners)
        if owners > MAX_OWNERS or owners + quotas - had > self._room:
            return TOO_MANY_OWNERS
        return ''

    def _write(self, row: _Row | None, update: StateUpdate, now: float) -> _Row:
        host = update.host
        if row is None or not row.present:
            row = _Row(version=update.version, received=now, aggregator_set=update.aggregator_set)
        self._rows.pop(host, None)
        self._rows[host] = row
        row.version, row.received, row.aggregator_set = update.version, now, update.aggregator_set
        self._copies[row.copies] -= 1
        row.copies = update.copies
        self._copies[row.copies] += 1
        self._quotas.reads(host, update.reads_quotas)
        gone: Collection[OwnerId] = update.gone
        if update.full:
            gone = row.contribution.places.keys() - update.owners.keys()
            self._sums.forget_sent(row.contribution)
            row.sent = None
        if update.owners or gone:
            self._put(row, update.owners, gone)
        if update.vectors is not None or update.full:
            self._vectors.put(host, update.vectors)
        if update.quotas is not None or update.full:
            self._quote(host, update.quotas or {})
        return row

    def _put(
        self,
        row: _Row,
        owners: Mapping[OwnerId, tuple[float, ...]],
        gone: Collection[OwnerId],
    ) -> None:
        before = len(row.contribution.places)
        self._sums.state(row.contribution, owners, gone)
        self._room += before - len(row.contribution.places)

    def _quote(self, host: HostName, quotas: Mapping[OwnerId, Quota]) -> None:
        before = self._quotas.of(host)
        if quotas == before:
            return
        self._room += len(before) - len(quotas)
        self._quotas.report(host, quotas)
        self._owners = None

    def _forget(self, host: HostName) -> None:
        row = self._rows.pop(host, None)
        if row is None:
            return
        self._copies[row.copies] -= 1
        self._put(row, {}, row.contribution.places.keys())
        self._vectors.put(host, None)
        self._quote(host, {})
        self._quotas.forget(host)

    # -- what is replied

    def _cloud_news(self, row: _Row, update: StateUpdate) -> CloudPart | None:
        """The others homed here and the owners of all, if the host may not know them yet."""
        hosts = self._fewer_copies(MAX_COPIES + 1)
        if self._owners is None or self._sums.changed or hosts != self._owners[0]:
            number = self._sums.counted(hosts)
            self._owners = hosts, number, tally(self._sums.owners, self._quotas.believed)
            self._sums.changed = False
        counts = (len(self._vectors) - (update.host in self._vectors), *self._owners[1:])
        sent = row.sent
        if sent is None or sent.counts != counts or row.seen != self._vectors.changes:
            row.seen = self._vectors.changes
            sums = self._vectors.others(update.host)
            if sent is None or sent.counts != counts or outside_deadband(sent.sums, sums):
                sent = row.sent = _SentCloud(sums=sums, counts=counts, since=update.sequence)
        if sent.since <= _acked(update):
            return None
        size, sums = len(RESOURCES), sent.sums
        return CloudPart(
            hosts=sent.counts[0],
            owner_count=sent.counts[1],
            vectors=Vectors(
                supply=tuple(sums[:size]),
                load=tuple(sums[size : 2 * size]),
                virtual=tuple(sums[2 * size :]),
            ),
            tally=sent.counts[2],
        )

    def _quotas_of(self, owners: Collection[OwnerId]) -> dict[OwnerId, Quota]:
        believed = self._quotas.believed
        return {owner: believed[owner] for owner in owners if owner in believed} if believed else {}

    def _asked(self, row: _Row, host: HostName) -> tuple[OwnerId, ...]:
        """Owners whose quotas this host shall read."""
        if not self._quotas.is_asked(host):
            return ()
        owners = self._sums.listed(self._fewer_copies(MAX_COPIES + 1))
        return self._quotas.asked(host, row.contribution.places, owners)


def _is_understood(row: _Row | None, update: StateUpdate) -> bool:
    """Is what the update leaves out known?"""
    if isinstance(update.owners, PackedSums) and (
        row is None or not update.owners.refers_to(row.contribution.known)
    ):
        return False
    return update.full or _continues(row, update)


def _continues(row: _Row | None, update: StateUpdate) -> bool:
    """Does a delta continue what is known of the host?

    It does not where the host acknowledges a later update than is known: a full update that was late has come
    to an aggregator that has started anew, and the changes since then are missing.
    """
    return (
        row is not None
        and row.present
        and row.version[0] == update.incarnation
        and row.aggregator_set == update.aggregator_set
        and row.version[1] >= _acked(update)
    )


def _repeated(row: _Row, update: StateUpdate) -> TotalsReply | str:
    """The last reply once more, once, when a host retransmits its update: the first reply may be lost.

    It is the same reply, as the host may have taken the first, and it does not extend the update's life.
    """
    if not update.retransmitted or update.version != row.version or row.reply is None:
        return STALE
    reply, row.reply = row.reply, None
    return reply


def _acked(update: StateUpdate) -> int:
    return -1 if update.acked is None else update.acked
