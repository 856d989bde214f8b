# SPDX-License-Identifier: Apache-2.0
"""What the exchange of a cloud costs per interval: by formula, and counted on the real messages.

Implements the comparison of message exchanges for IFI-2016.04, section IV-D. With N hosts, V VMs placed at
random and U owners a host has VMs of k = U * (1 - (1 - 1/U)^(V/N)) owners, and an interval takes

    paper      every VM's heaviness to every other host       (N-1) * V    entries, N * (N-1) messages
    broadcast  a partial sum per owner to every other host    N * (N-1) * k         N * (N-1)
    aggregate  partial sums in, sums of own owners out        N * k * (1 + s)       2 * N * A

where A is the number of aggregators and s = 1 - (1 - 1/U)^(V - V/N) the part of its owners that a host shares
with others: what they add to the rest stays zero and is not sent. s is 1 but in the smallest clouds. An entry
is one owner (or VM) with its numbers. `aggregate` is the upper bound: what does not change by more than 1 %
is not sent. Units: bytes, entries, messages.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import AggregatorClient
from nova_market.core.exchange.codec import Message, to_values
from nova_market.core.exchange.messages import HostReport, StateUpdate, TotalsReply
from nova_market.core.resource import RESOURCES, HostName, OwnerId

ENTRY_BYTES = 24
"""An entry as the formulas count it: 16 of the id and 8 of a number."""

METRIC = 'greediness'
INTERVAL = 10.0

Encode = Callable[[Message], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """hosts N, vms V, owners U, aggregators A."""

    hosts: int
    vms: int
    owners: int
    aggregators: int = 1

    @property
    def owners_per_host(self) -> float:
        """k: owners that a host has VMs of, on average."""
        if not self.owners:
            return 0.0
        nobody: float = (1.0 - 1.0 / self.owners) ** (self.vms / self.hosts)
        return self.owners * (1.0 - nobody)

    @property
    def shared(self) -> float:
        """s: part of a host's owners that have VMs on other hosts too."""
        if not self.owners:
            return 0.0
        nobody: float = (1.0 - 1.0 / self.owners) ** (self.vms - self.vms / self.hosts)
        return 1.0 - nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one interval, over the whole cloud."""

    entries: float
    messages: int
    payload: float


def formula(cloud: Cloud, scheme: str) -> Cost:
    """Entries, messages and 24 bytes per entry of the scheme `paper`, `broadcast` or `aggregate`.

    :raises KeyError: for another name.
    """
    n, k = cloud.hosts, cloud.owners_per_host
    entries, messages = {
        'paper': ((n - 1) * cloud.vms, n * (n - 1)),
        'broadcast': (n * (n - 1) * k, n * (n - 1)),
        'aggregate': (n * k * (1.0 + cloud.shared), 2 * n * cloud.aggregators),
    }[scheme]
    return Cost(entries=entries, messages=messages, payload=entries * ENTRY_BYTES)


def plain(message: Message) -> bytes:
    """JSON without blanks."""
    return json.dumps(to_values(message), separators=(',', ':')).encode()


class Workload:
    """VMs placed at random, each with a heaviness that may change from interval to interval."""

    def __init__(self, cloud: Cloud, rng: np.random.Generator) -> None:
        self.hosts = [HostName(f'host{n:04}') for n in range(cloud.hosts)]
        self._owners = [OwnerId(rng.bytes(16).hex()) for _ in range(cloud.owners)]
        self._host_of = rng.integers(cloud.hosts, size=cloud.vms)
        self._owner_of = rng.integers(cloud.owners, size=cloud.vms)
        self._heaviness = rng.uniform(0.005, 0.02, cloud.vms)
        self._rng = rng
        self._sequence = 0

    def reports(self, changing: float) -> list[HostReport]:
        """Reports of the next interval; `changing`: part of the VMs whose heaviness changes by a third."""
        self._sequence += 1
        cells_outside_deadband = self._rng.random(len(self._heaviness)) < changing
        self._heaviness = np.where(cells_outside_deadband, self._heaviness * 4 / 3, self._heaviness)
        sums: list[dict[OwnerId, float]] = [{} for _ in self.hosts]
        rows = zip(self._host_of.tolist(), self._owner_of.tolist(), self._heaviness, strict=True)
        for host, owner, heaviness in rows:
            of_host = sums[host]
            name = self._owners[owner]
            of_host[name] = of_host.get(name, 0.0) + float(heaviness)
        loads = self._rng.uniform(0.0, 32.0, len(self.hosts)).tolist()
        size = len(RESOURCES)
        return [
            HostReport(
                host=host,
                incarnation=1,
                sequence=self._sequence,
                metric=METRIC,
                supply=(32.0,) * size,
                load=(load,) * size,
                virtual=(64.0,) * size,
                owners={owner: (total,) for owner, total in of_host.items()},
            )
            for host, of_host, load in zip(self.hosts, sums, loads, strict=True)
        ]


def count_broadcast(reports: Sequence[HostReport], encode: Encode = plain) -> Cost:
    """Every report goes to every other host."""
    others = len(reports) - 1
    return Cost(
        entries=others * sum(len(report.owners) for report in reports),
        messages=others * len(reports),
        payload=others * sum(len(encode(report)) for report in reports),
    )


class AggregatedCloud:
    """Hosts and aggregators of one process, as the service runs them, with messages counted."""

    def __init__(self, cloud: Cloud, rng: np.random.Generator, encode: Encode = plain) -> None:
        self.workload = Workload(cloud, rng)
        names = self.workload.hosts[: cloud.aggregators]
        ttl = 3 * INTERVAL
        self.aggregators = {name: Aggregator(name, METRIC, ttl, 'model') for name in names}
        self.clients = {
            host: AggregatorClient(host, METRIC, ttl, 'model') for host in self.workload.hosts
        }
        self._encode = encode
        self.now = 0.0

    def updates(self, changing: float) -> Iterator[tuple[HostName, StateUpdate]]:
        """What the hosts say in the next interval: (aggregator, statement)."""
        self.now += INTERVAL
        for report in self.workload.reports(changing):
            host = self.clients[report.host]
            yield from host.updates(report, tuple(self.aggregators), self.now).items()

    def reply(self, to: HostName, update: StateUpdate) -> TotalsReply:
        """What the aggregator answers.

        :raises ValueError: it refuses, which no statement of this model should make it do.
        """
        reply = self.aggregators[to].receive(update, self.now)
        if isinstance(reply, str):
            raise ValueError(f'{to} refuses an update of {update.host}: {reply}')
        return reply

    def interval(self, changing: float) -> Cost:
        """One interval; every message arrives at once."""
        entries = messages = payload = 0
        for to, update in self.updates(changing):
            reply = self.reply(to, update)
            self.clients[reply.to].receive(reply, self.now)
            entries += len(update.owners) + len(reply.owners)
            messages += 2
            payload += sum(len(self._encode(message)) for message in (update, reply))
        return Cost(entries=entries, messages=messages, payload=payload)


def table(costs: Mapping[str, Cost]) -> str:
    """The costs as lines of text."""
    sessions = [f'{"scheme":28}{"entries":>14}{"messages":>12}{"MB":>10}']
    for name, cost in costs.items():
        sessions.append(
            f'{name:28}{cost.entries:14,.0f}{cost.messages:12,}{cost.payload / 1e6:10.2f}'
        )
    return '\n'.join(sessions)
