# SPDX-License-Identifier: Apache-2.0
"""Hosts tell aggregators, aggregators answer with the sums that a host needs: the exchange of a large cloud.

Implements the collection of heaviness sets of IFI-2016.04, section IV-D.2, with 2 * N messages an interval
for each aggregator instead of N * (N - 1). Units: seconds of the monotonic clock.

Differs from the paper: owners are divided among aggregators by hash, an answer holds only the owners that
the asking host has VMs of, and only what changed is said. Every host can aggregate, and does so for whoever
asks it: who asks whom is each host's own reckoning from the members, so nothing has to be agreed on.
An aggregator keeps nothing that the hosts would not say again.
"""

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import Correspondent
from nova_market.core.exchange.allocation_messages import is_allocation
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import Answer, Departure, HostReport, Statement, Word
from nova_market.core.exchange.rendezvous import elect
from nova_market.core.exchange.report_table import FOREIGN_NAME
from nova_market.core.exchange.totals import CloudTotals
from nova_market.core.resource import HostName
from nova_market.errors import MalformedReport, OversizedReport
from nova_market.ports import Clock, Membership, Transport, WireFormat
from nova_market.services.exchange.health import (
    FORGED,
    OTHER_TOPOLOGY,
    DropCounter,
    LinkHealth,
    UnusedAllocations,
)

LOG = logging.getLogger(__name__)

PATIENCE = 0.2
"""Seconds that a round waits for answers to what it has just said, at most; they take milliseconds. So it
decides with sums of this moment and not of the interval before. After half of it the statement is said
again, once: it or its answer may be lost, and the next one is an interval away."""

LATE = 3
"""Who was late so many rounds in a row is neither waited for nor told again until it answers in time: that is
what a dead aggregator costs, and a slow one is not given twice as much to do."""


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
        self._wire = wire
        self._membership = membership
        self._named = tuple(named)
        self._count = count
        self._aggregator = Aggregator(host, metric, ttl, epoch)
        self._correspondent = Correspondent(host, metric, ttl, epoch)
        self._last: HostReport | None = None
        self._asked: tuple[HostName, ...] = ()
        self._drops = DropCounter(host)
        self._unused = UnusedAllocations()
        self._health = LinkHealth(ttl, clock.monotonic())
        self._said = 0.0
        self._late: Counter[HostName] = Counter()
        self._patience = min(PATIENCE, ttl / 30.0)
        self._lock = threading.Condition()

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> messages of peers that were thrown away."""
        return self._drops.counts(self._transport.dropped)

    @property
    def aggregators(self) -> tuple[HostName, ...]:
        """Whom this host has told its last report."""
        return self._asked

    @property
    def unused_allocations(self) -> int:
        """Allocation messages that came although this host takes no part in a market."""
        return self._unused.count

    def start(self) -> None:
        self._membership.start()
        self._transport.start(self._hear)

    def publish(self, report: HostReport) -> None:
        now = self._clock.monotonic()
        members = self._membership.members()
        with self._lock:
            self._last, self._said = report, now
            self._asked = self._chosen(members, now)
            statements = self._correspondent.statements(report, self._asked, now)
            own = statements.get(self._host)
            reason = self._tell_itself(own, now) if own is not None else ''
        if reason:
            self._drops.add(reason, 'of this host itself')
        for to, statement in statements.items():
            if to != self._host:
                self._say(to, statement)

    def totals(self) -> CloudTotals:
        self._await_answers()
        with self._lock:
            now = self._clock.monotonic()
            totals = self._correspondent.totals(now)
        self._health.observe(totals.age, self._transport.trouble, now)
        return totals

    def stop(self) -> None:
        with self._lock:
            last, self._last = self._last, None
            asked = self._asked
        if last is not None and not self._health.down:
            word = Departure(
                host=self._host, incarnation=last.incarnation, sequence=last.sequence + 1
            )
            for to in asked:
                if to != self._host:
                    self._say(to, word)
        self._transport.stop()
        self._membership.stop()

    def _chosen(self, members: Mapping[HostName, str], now: float) -> tuple[HostName, ...]:
        """Members that do not answer are passed over; where none is left they are asked again."""
        silent = self._correspondent.silent(now)
        heard = [host for host in members if host not in silent]
        pool = [host for host in self._named if host in heard] if self._named else heard
        return elect(pool or list(members), self._count, self._named)

    def _await_answers(self) -> None:
        with self._lock:
            unanswered = self._correspondent.unanswered() - {self._host}
            awaited = frozenset(host for host in unanswered if self._late[host] < LATE)
            if not awaited:
                return
            missing = self._wait_for(awaited)
            again = self._correspondent.again(missing)
        for to, statement in again.items():
            self._say(to, statement)
        with self._lock:
            self._late.update(self._wait_for(missing))

    def _wait_for(self, awaited: frozenset[HostName]) -> frozenset[HostName]:
        """Those that have not answered after half the patience."""

        def missing() -> frozenset[HostName]:
            return awaited & self._correspondent.unanswered()

        self._lock.wait_for(lambda: not missing(), self._patience / 2.0)
        return missing()

    def _tell_itself(self, statement: Statement, now: float) -> str:
        answer = self._aggregator.receive(statement, now)
        return answer if isinstance(answer, str) else self._correspondent.receive(answer, now)

    def _say(self, to: HostName, word: Word) -> None:
        try:
            frame = self._wire.encode(to_values(word))
        except MalformedReport as error:
            LOG.error('this host has no say in the exchange: %s', error)
            return
        self._transport.send(to, frame)

    def _hear(self, sender: HostName | None, frame: bytes) -> None:
        """Take one frame of whoever it is; it never raises."""
        try:
            values = self._wire.decode(frame)
            if is_allocation(values):
                self._unused.add()
                return
            word = from_values(values)
        except OversizedReport as error:
            self._drops.add('oversized', str(error))
            return
        except MalformedReport as error:
            self._drops.add('malformed', str(error))
            return
        reason = self._take(sender, word)
        if reason:
            self._drops.add(reason, f'host {word.host}')

    def _take(self, sender: HostName | None, word: Word) -> str:
        """Keep a word, answer it; returns '' or why it is not kept."""
        now = self._clock.monotonic()
        if sender is not None and sender != word.host:
            return FORGED
        if word.host == self._host:
            return FOREIGN_NAME
        if isinstance(word, HostReport):
            return OTHER_TOPOLOGY
        with self._lock:
            if isinstance(word, Answer):
                reason = self._correspondent.receive(word, now)
                if not reason and self._is_in_time(word, now):
                    del self._late[word.host]
                self._lock.notify_all()
                return reason
            if isinstance(word, Departure):
                return self._aggregator.leave(word, now)
            answer = self._aggregator.receive(word, now)
        return self._reply(word, answer)

    def _is_in_time(self, answer: Answer, now: float) -> bool:
        newest = self._last is not None and answer.version == self._last.version
        return newest and now - self._said <= self._patience

    def _reply(self, statement: Statement, answer: Answer | str) -> str:
        if isinstance(answer, str):
            return answer
        self._say(statement.host, answer)
        return ''
