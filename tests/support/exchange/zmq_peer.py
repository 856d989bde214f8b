# SPDX-License-Identifier: Apache-2.0
"""One host of an exchange over ZeroMQ in a process of its own, for tests.

    python -m tests.support.exchange.zmq_peer '{"host": ..., "topology": ..., "members": ..., ...}'

Prints a JSON line per interval. Lines on standard input are orders: `malformed` and `replay` make it
misbehave towards everybody, with a key that the others believe. It ends, telling the others, when standard
input is closed.
"""

import json
import logging
import resource
import select
import sys
import time
from typing import Any

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.host_builders import report


class Recorder(ZmqTransport):
    """Keeps the first frame for each host, to say it again when it is old."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.first: dict[str, bytes] = {}
        self.members = arguments[2]

    def send(self, to: str, frame: bytes) -> None:
        self.first.setdefault(to, frame)
        super().send(to, frame)

    def broadcast(self, frame: bytes) -> None:
        for host in self.members():
            self.first.setdefault(host, frame)
        super().broadcast(frame)

    def replay(self) -> None:
        for to, frame in self.first.items():
            super().send(to, frame)


def main(about: dict[str, Any]) -> None:
    host, members = about['host'], about['members']
    membership = Roll()
    membership.hosts = members
    keys = KeyDirectory(about['keys'], host)
    transport = Recorder(host, about['bind'], membership.members, keys)
    more = {} if about['topology'] == 'broadcast' else {'named': tuple(about['aggregators'])}
    exchange: Any = put_together(
        about['topology'],
        wire='compact',
        host=host,
        metric='greediness',
        ttl=about['ttl'],
        clock=SystemClock(),
        transport=transport,
        membership=membership,
        **more,
    )
    exchange.start()
    incarnation = time.time_ns() // 1_000_000
    due = time.monotonic()
    for sequence in range(100_000):
        exchange.publish(report(host, about['owners'], incarnation=incarnation, sequence=sequence))
        due += about['interval']
        while (left := due - time.monotonic()) > 0:
            if select.select([sys.stdin], [], [], left)[0]:
                order = sys.stdin.readline().strip()
                if not order:
                    exchange.stop()
                    return
                misbehave(transport, order, members)
        tell(exchange)


def misbehave(transport: Recorder, order: str, members: dict[str, str]) -> None:
    if order == 'malformed':
        for other in members:
            ZmqTransport.send(transport, other, b'\xc1 is no msgpack')
    elif order == 'replay':
        transport.replay()


def tell(exchange: Any) -> None:
    totals = exchange.totals()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    line = {
        'owners': dict(zip(totals.owners, totals.sums[:, 0].round(6).tolist(), strict=True)),
        'hosts': totals.hosts,
        'age': totals.age,
        'dropped': dict(exchange.dropped),
        'cpu': usage.ru_utime + usage.ru_stime,
        'aggregators': list(getattr(exchange, 'aggregators', ())),
    }
    sys.stdout.write(json.dumps(line) + '\n')
    sys.stdout.flush()


if __name__ == '__main__':
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    main(json.loads(sys.argv[1]))
