# SPDX-License-Identifier: Apache-2.0
"""Exchanges put together for tests, and hosts that publish round after round."""

import dataclasses
import threading
from collections.abc import Callable, Mapping

from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.core.exchange.messages import HostReport
from nova_market.core.resource import HostName
from nova_market.ports import Enforcement, Exchange
from nova_market.services.exchange.aggregate import AggregateExchange
from nova_market.services.exchange.broadcast import BroadcastExchange

EPOCH = 'tests'


class Roll:
    """ports.Membership that a test writes."""

    def __init__(self, *hosts: str) -> None:
        self.hosts: dict[HostName, str] = {HostName(host): '' for host in hosts}

    def start(self) -> None:
        """Nothing to do."""

    def members(self) -> Mapping[HostName, str]:
        return dict(self.hosts)

    def stop(self) -> None:
        """Nothing to do."""


class Direct:
    """ports.Transport within the process that delivers at once, and proves who has sent a frame.

    hosts: the transport of each host, this one too
    """

    echoes, trouble, dropped = False, '', {}

    def __init__(self, hosts, name):
        self.hosts, self.name = hosts, name
        hosts[name] = self

    def start(self, receive):
        self.receive = receive

    def send(self, to, frame):
        self.hosts[to].receive(self.name, frame)

    def broadcast(self, frame):
        for name in self.hosts:
            if name != self.name:
                self.send(name, frame)

    def stop(self):
        """Nothing to do."""


def hosts_of(enforcement: Enforcement, period: int) -> dict[str, HostName]:
    """Server -> the host that has confirmed its allocation of a period."""
    return {server: one.host for server, one in enforcement.confirmed(period).items()}


def put_together(topology: str, *, wire: str = 'plain', **parts) -> Exchange:
    """host, metric, ttl, clock, transport, membership; for aggregate also named, count."""
    if topology == 'broadcast':
        return BroadcastExchange(wire=FORMATS[wire](), **parts)
    return AggregateExchange(**({'epoch': EPOCH, 'wire': FORMATS[wire]()} | parts))


def sums(exchange: Exchange) -> dict[str, float]:
    """Owner -> the first number of its sum."""
    totals = exchange.totals()
    return dict(zip(totals.owners, totals.sums[:, 0].tolist(), strict=True))


class Rounds:
    """A host that publishes its report once per interval from a thread, as the agent does.

    report: may be replaced at any time; its sequence is ours
    slowest: longest time that a round has taken
    seen: the sums of each round
    """

    def __init__(
        self, exchange: Exchange, report: HostReport, interval: float, now: Callable[[], float]
    ) -> None:
        self.report = report
        self.slowest = 0.0
        self.seen: list[dict[str, float]] = []
        self._exchange = exchange
        self._interval = interval
        self._now = now
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        for sequence in range(100_000):
            began = self._now()
            self._exchange.publish(dataclasses.replace(self.report, sequence=sequence))
            self.seen.append(sums(self._exchange))
            self.slowest = max(self.slowest, self._now() - began)
            if self._end.wait(self._interval):
                return

    def __enter__(self) -> 'Rounds':
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join(10)
