# SPDX-License-Identifier: Apache-2.0
"""Hosts send updates to aggregators, which reply the sums that a host needs: the exchange of a large cloud.

Implements the collection of heaviness sets of IFI-2016.04, section IV-D.2, with 2 * N messages an interval
for each aggregator instead of N * (N - 1). Units: seconds of the monotonic clock.

Differs from the paper: owners are divided among aggregators by hash, a reply holds only the owners that
the host has VMs of, and only changes are sent. Every host can aggregate, and does so for any host that
sends it updates. Each host chooses its aggregators from the members by itself, so no coordination is needed.
An aggregator keeps nothing that the hosts would not send again.
"""

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import AggregatorClient
from nova_market.core.exchange.codec import HostMessage
from nova_market.core.exchange.messages import (
    Departure,
    HostReport,
    StateUpdate,
    TotalsReply,
)
from nova_market.core.exchange.rendezvous import elect
from nova_market.core.exchange.report_table import FOREIGN_NAME
from nova_market.core.exchange.totals import CloudTotals
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

LATE = 3
"""An aggregator that was late so many rounds in a row is not waited for, and gets no retransmissions,
until it replies in time: that bounds the cost of a dead one, and a slow one does not get twice the work."""


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
    ) -> None:
        """epoch: differs where sums can't be compared; named: the hosts that add up, empty = `count` elected.

        ttl: seconds after which a silent host is forgotten, and after which old totals are not used.
        """
        self._host = host
        self._clock = clock
        self._transport = transport
        self._membership = membership
        self._named = tuple(named)
        self._count = count
        self._aggregator = Aggregator(host, metric, ttl, epoch)
        self._client = AggregatorClient(host, metric, ttl, epoch)
        self._last: HostReport | None = None
        self._asked: tuple[HostName, ...] = ()
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
        return self._asked

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
        with self._lock:
            self._last, self._published = report, now
            self._asked = self._chosen(members, now)
            updates = self._client.updates(report, self._asked, now)
            own = updates.get(self._host)
            reason = self._update_itself(own, now) if own is not None else ''
        if reason:
            self._drops.add(reason, 'of this host itself')
        for to, update in updates.items():
            if to != self._host:
                self._send(to, update)

    def totals(self) -> CloudTotals:
        self._await_replies()
        with self._lock:
            now = self._clock.monotonic()
            totals = self._client.totals(now)
        self._health.observe(totals.age, self._transport.trouble, now)
        return totals

    def stop(self) -> None:
        with self._lock:
            last, self._last = self._last, None
            asked = self._asked
        if last is not None and not self._health.down:
            message = Departure(
                host=self._host, incarnation=last.incarnation, sequence=last.sequence + 1
            )
            for to in asked:
                if to != self._host:
                    self._send(to, message)
        self._transport.stop()
        self._membership.stop()

    def _chosen(self, members: Mapping[HostName, str], now: float) -> tuple[HostName, ...]:
        """The aggregators to use. Members that do not reply are passed over, unless there are no others."""
        silent = self._client.silent(now)
        acked = [host for host in members if host not in silent]
        pool = [host for host in self._named if host in acked] if self._named else acked
        return elect(pool or list(members), self._count, self._named)

    def _await_replies(self) -> None:
        with self._lock:
            unacked = self._client.unacked() - {self._host}
            awaited = frozenset(host for host in unacked if self._late[host] < LATE)
            if not awaited:
                return
            missing = self._wait_for(awaited)
            retransmitted = self._client.retransmit(missing)
        for to, update in retransmitted.items():
            self._send(to, update)
        with self._lock:
            self._late.update(self._wait_for(missing))

    def _wait_for(self, awaited: frozenset[HostName]) -> frozenset[HostName]:
        """Those that have not replied after half the patience."""

        def missing() -> frozenset[HostName]:
            return awaited & self._client.unacked()

        self._lock.wait_for(lambda: not missing(), self._patience / 2.0)
        return missing()

    def _update_itself(self, update: StateUpdate, now: float) -> str:
        reply = self._aggregator.receive(update, now)
        return reply if isinstance(reply, str) else self._client.receive(reply, now)

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
                reason = self._client.receive(message, now)
                if not reason and self._is_in_time(message, now):
                    del self._late[message.host]
                self._lock.notify_all()
                return reason
            if isinstance(message, Departure):
                return self._aggregator.leave(message, now)
            reply = self._aggregator.receive(message, now)
        return self._reply(message, reply)

    def _is_in_time(self, reply: TotalsReply, now: float) -> bool:
        newest = self._last is not None and reply.version == self._last.version
        return newest and now - self._published <= self._patience

    def _reply(self, update: StateUpdate, reply: TotalsReply | str) -> str:
        if isinstance(reply, str):
            return reply
        self._send(update.host, reply)
        return ''
