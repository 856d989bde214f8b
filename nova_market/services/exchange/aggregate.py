# SPDX-License-Identifier: Apache-2.0
"""Hosts send updates to aggregators, which reply the sums that a host needs: the exchange of a large cloud.

Implements the collection of heaviness sets of IFI-2016.04, section IV-D.2, with 2 * N messages an interval
for each aggregator instead of N * (N - 1). Units: seconds of the monotonic clock.

Differs from the paper: owners are divided among aggregators by hash, a reply holds only the owners that
the host has VMs of, and only changes are sent. Every host can aggregate, and does so for any host that
sends it updates. Each host chooses its aggregators from the members by itself, so no coordination is needed.
An aggregator keeps nothing that the hosts would not send again. Each owner has several aggregators, whose
replies a host compares (core.exchange.comparison).
"""

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import AggregatorClient
from nova_market.core.exchange.codec import HostMessage
from nova_market.core.exchange.comparison import Comparison, Part, Verdict
from nova_market.core.exchange.messages import (
    Departure,
    HostReport,
    StateUpdate,
    TotalsReply,
)
from nova_market.core.exchange.rendezvous import copies_of, elect
from nova_market.core.exchange.report_bounds import CloudSize, ReportBound, unbounded
from nova_market.core.exchange.report_table import FOREIGN_NAME
from nova_market.core.exchange.totals import CloudTotals
from nova_market.core.exchange.validation import MAX_COPIES
from nova_market.core.resource import HostName
from nova_market.ports import Clock, Membership, Transport, WireFormat
from nova_market.services.exchange.frames import HostFrames
from nova_market.services.exchange.health import (
    OTHER_TOPOLOGY,
    DropCounter,
    LinkHealth,
    UnusedAllocations,
)

LOG = logging.getLogger(__name__)

PATIENCE = 0.2
"""Seconds that a round waits for replies to its updates, at most; they take milliseconds. So it decides with
sums of this moment and not of the interval before. After half of it the update is retransmitted, once: it or
its reply may be lost, and the next one is an interval away."""

COMPARED = 2
"""Aggregators of a place that reply are enough to be compared."""

LATE = 3
"""An aggregator that was late so many rounds in a row is not waited for, and gets no retransmissions,
until it replies in time: that bounds the cost of a dead one, and a slow one does not get twice the work."""


@dataclass(slots=True, kw_only=True)
class _Copy:
    """What this host adds up for others, what it asks of others, and of whom."""

    aggregator: Aggregator
    client: AggregatorClient
    asked: tuple[HostName, ...] = ()


class AggregateExchange:
    """Implements ports.Exchange."""

    def __init__(
        self,
        *,
        host: HostName,
        metric: str,
        ttl: float,
        clock: Clock,
        transport: Transport,
        wire: WireFormat,
        membership: Membership,
        epoch: str,
        named: Sequence[HostName] = (),
        count: int = 1,
        copies: int = 1,
        bound: ReportBound = unbounded,
    ) -> None:
        """epoch: differs where sums can't be compared; named: the hosts that add up, empty = `count` elected.

        ttl: seconds after which a silent host is forgotten, and after which old totals are not used.
        copies: aggregators of each owner, whose replies are compared
        bound: of the sums that a host may report, by the metric
        """
        self._host = host
        self._clock = clock
        self._transport = transport
        self._membership = membership
        self._named = tuple(named)
        self._named_since: tuple[Sequence[HostName], float] = ((), 0.0)
        self._ttl = ttl
        self._count = count
        self._wanted = copies
        self._copies = [
            _Copy(
                aggregator=Aggregator(host, metric, ttl, epoch, bound=bound),
                client=AggregatorClient(host, metric, ttl, epoch, number, copies),
            )
            for number in range(MAX_COPIES)
        ]
        self._comparison = Comparison()
        self._older: frozenset[HostName] = frozenset()
        self._last: HostReport | None = None
        self._drops = DropCounter(host)
        self._unused = UnusedAllocations()
        self._frames = HostFrames(wire, self._drops, self._unused, self._take)
        self._health = LinkHealth(ttl, clock.monotonic())
        self._published = 0.0
        self._late: Counter[HostName] = Counter()
        self._patience = min(PATIENCE, ttl / 30.0)
        self._lock = threading.Condition()

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> messages of peers that were thrown away."""
        return self._drops.counts(self._transport.dropped)

    @property
    def aggregators(self) -> tuple[HostName, ...]:
        """The aggregators that this host has sent its last report to."""
        return tuple(dict.fromkeys(to for copy in self._copies for to in copy.asked))

    @property
    def membership(self) -> Membership:
        """The hosts that this exchange knows."""
        return self._membership

    @property
    def unused_allocations(self) -> int:
        """Allocation messages that came although this host takes no part in a market."""
        return self._unused.count

    def start(self) -> None:
        self._membership.start()
        self._transport.start(self._frames.take)

    def publish(self, report: HostReport) -> None:
        now = self._clock.monotonic()
        members = self._membership.members()
        updates: list[tuple[HostName, StateUpdate]] = []
        with self._lock:
            self._last, self._published = report, now
            self._choose(members, now)
            groups = self._copies[0].asked
            for copy in self._copies:
                if copy.asked:
                    updates += copy.client.updates(report, copy.asked, now, groups).items()
            reasons = [self._update_itself(one, now) for to, one in updates if to == self._host]
        for reason in filter(None, reasons):
            self._drops.add(reason, 'of this host itself')
        for to, update in updates:
            if to != self._host:
                self._send(to, update)

    def totals(self) -> CloudTotals:
        self._await_replies()
        with self._lock:
            now = self._clock.monotonic()
            totals = self._copies[0].client.totals(now, self._agreed(now))
            for copy in self._copies:
                copy.aggregator.learn(_size_of(totals))
            verdicts, self._comparison.verdicts = self._comparison.verdicts, []
        for verdict in verdicts:
            _report(verdict)
        self._health.observe(totals.age, self._transport.trouble, now)
        return totals

    def stop(self) -> None:
        with self._lock:
            last, self._last = self._last, None
        if last is not None and not self._health.down:
            message = Departure(
                host=self._host, incarnation=last.incarnation, sequence=last.sequence + 1
            )
            for to in self.aggregators:
                if to != self._host:
                    self._send(to, message)
        self._transport.stop()
        self._membership.stop()

    def _choose(self, members: Mapping[HostName, str], now: float) -> None:
        """The aggregators to use. Members that do not reply are passed over, unless there are no others.

        Where two that are compared reply in each place, nobody is: an aggregator that replies to some hosts
        alone would have these choose other aggregators than those to which it is silent.
        """
        active = [copy.client for copy in self._copies if copy.asked]
        silent = {host for client in active for host in client.silent(now)}
        copies = self._copies_among(list(members), silent, now)
        places = list(zip(*copies, strict=True))
        if self._older or any(len(set(place) - silent) < COMPARED for place in places):
            acked = [host for host in members if host not in silent]
            pool = set(self._named or acked).intersection(acked)
            copies = self._copies_among(acked if pool else list(members), silent, now)
        for number, copy in enumerate(self._copies):
            copy.asked = copies[number] if number < len(copies) else ()
            copy.client.forget_others({*members, *copy.asked})

    def _copies_among(
        self, hosts: Sequence[HostName], silent: Set[HostName], now: float
    ) -> tuple[tuple[HostName, ...], ...]:
        """The aggregators of each copy."""
        first = elect(hosts, self._count, self._named)
        wanted = self._wanted
        if set(first) & set(self._named) and not self._know_copies(first, silent, now):
            # an earlier version would take an update of another copy for one of the first
            wanted = 1
        return copies_of(first, hosts, wanted, self._named)

    def _know_copies(
        self, aggregators: Sequence[HostName], silent: Set[HostName], now: float
    ) -> bool:
        """Whether those do that have replied; one that replies nothing of use is waited for some time."""
        if self._named_since[0] != aggregators:
            self._named_since = aggregators, now
        waits = now - self._named_since[1] < self._ttl
        parts = {part.aggregator: part for part in self._copies[0].client.parts()}
        return parts.keys() >= set(aggregators) and all(
            parts[one].older is not None
            or not (parts[one].has_older or (waits and one not in silent))
            for one in aggregators
        )

    def _agreed(self, now: float) -> dict[HostName, Part]:
        """For each aggregator of the first copy what it and those at its place have replied."""
        parts = [copy.client.parts() for copy in self._copies if copy.asked]
        if self._wanted > 1 and parts:
            self._report_older(parts[0])
        if len(parts) < 2:
            return {}
        return {
            place[0].aggregator: self._comparison.agreed(place, now)
            for place in zip(*parts, strict=True)
        }

    def _report_older(self, parts: Sequence[Part]) -> None:
        older = frozenset(part.aggregator for part in parts if part.has_older)
        for part in parts:
            if part.aggregator in older - self._older:
                LOG.warning(
                    'Aggregator %s %s. What it replies is not compared with other aggregators until that is '
                    'changed.',
                    part.aggregator,
                    'is of an earlier version'
                    if part.older is None
                    else f'reports {part.older} hosts of an earlier version, or with fewer [exchange]copies',
                )
        self._older = older

    def _await_replies(self) -> None:
        with self._lock:
            unacked = self._unacked() - {self._host}
            awaited = frozenset(host for host in unacked if self._late[host] < LATE)
            if not awaited:
                return
            missing = self._wait_for(awaited)
            retransmitted = [
                item for copy in self._copies for item in copy.client.retransmit(missing).items()
            ]
        for to, update in retransmitted:
            self._send(to, update)
        with self._lock:
            self._late.update(self._wait_for(missing))

    def _wait_for(self, awaited: frozenset[HostName]) -> frozenset[HostName]:
        """Those that have not replied after half the patience."""

        def missing() -> frozenset[HostName]:
            return awaited & self._unacked()

        self._lock.wait_for(lambda: not missing(), self._patience / 2.0)
        return missing()

    def _unacked(self) -> frozenset[HostName]:
        return frozenset(
            host for copy in self._copies if copy.asked for host in copy.client.unacked()
        )

    def _update_itself(self, update: StateUpdate, now: float) -> str:
        copy = self._copies[update.copy]
        reply = copy.aggregator.receive(update, now)
        return reply if isinstance(reply, str) else copy.client.receive(reply, now)

    def _send(self, to: HostName, message: HostMessage) -> None:
        frame = self._frames.written(message)
        if frame is not None:
            self._transport.send(to, frame)

    def _take(self, message: HostMessage) -> str:
        """Keep a message and reply to an update; returns '' or why it is not kept."""
        now = self._clock.monotonic()
        if message.host == self._host:
            return FOREIGN_NAME
        if isinstance(message, HostReport):
            return OTHER_TOPOLOGY
        with self._lock:
            if isinstance(message, TotalsReply):
                reason = self._copies[message.copy].client.receive(message, now)
                if not reason and self._is_in_time(message, now):
                    del self._late[message.host]
                self._lock.notify_all()
                return reason
            if isinstance(message, Departure):
                return self._leave(message, now)
            reply = self._copies[message.copy].aggregator.receive(message, now)
        return self._reply(message, reply)

    def _leave(self, departure: Departure, now: float) -> str:
        """Forget a host that leaves, in all copies; of use if it is in one."""
        first, *others = (copy.aggregator.leave(departure, now) for copy in self._copies)
        return first if all(others) else ''

    def _is_in_time(self, reply: TotalsReply, now: float) -> bool:
        newest = self._last is not None and reply.version == self._last.version
        return newest and now - self._published <= self._patience

    def _reply(self, update: StateUpdate, reply: TotalsReply | str) -> str:
        if isinstance(reply, str):
            return reply
        self._send(update.host, reply)
        return ''


def _size_of(totals: CloudTotals) -> CloudSize:
    return CloudSize(supply=totals.supply, load=totals.load, owners=totals.owner_count)


def _report(verdict: Verdict) -> None:
    if len(verdict.wrong) == 1:
        LOG.warning(
            'Aggregator %s is left for an hour: what it replies differs from what two others reply (%s). '
            'It is broken, does not receive what some hosts send, or somebody has broken into it.',
            verdict.wrong[0],
            verdict.where,
        )
        return
    LOG.warning(
        'Aggregators %s reply different sums (%s). One of them is wrong; a third one would tell which.',
        ' and '.join(verdict.wrong),
        verdict.where,
    )
