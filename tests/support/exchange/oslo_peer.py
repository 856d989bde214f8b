# SPDX-License-Identifier: Apache-2.0
"""One host of an exchange over oslo.messaging in a process of its own, for tests.

    python -m tests.support.exchange.oslo_peer HOST OWNER VALUE INTERVAL TTL [MEMBER ...]

With members the topology is aggregate, else broadcast. transport_url comes from the environment, where no
other user can read it. Prints a JSON line per interval and ends, telling the others, when its standard
input is closed.
"""

import json
import os
import resource
import select
import sys
import time

from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)

from nova_market.adapters.clock import SystemClock  # noqa: E402
from nova_market.adapters.transport.oslo import OsloTransport  # noqa: E402
from tests.support.exchange.exchanges import Roll, put_together, sums  # noqa: E402
from tests.support.exchange.oslo import configured  # noqa: E402
from tests.support.host_builders import report  # noqa: E402


def main(host: str, owner: str, value: float, interval: float, ttl: float, *members: str) -> None:
    with configured(os.environ['TRANSPORT_URL']) as conf:
        exchange = put_together(
            'aggregate' if members else 'broadcast',
            host=host,
            metric='greediness',
            ttl=ttl,
            clock=SystemClock(),
            transport=OsloTransport(conf=conf, host=host, ttl=ttl, addressed=bool(members)),
            membership=Roll(*(members or [host])),
        )
        exchange.start()
        incarnation = int(time.time())
        for sequence in range(100_000):
            exchange.publish(
                report(host, {owner: (value,)}, incarnation=incarnation, sequence=sequence)
            )
            totals = exchange.totals()
            usage = resource.getrusage(resource.RUSAGE_SELF)
            line = {
                'owners': sums(exchange),
                'hosts': totals.hosts,
                'age': totals.age,
                'dropped': dict(exchange.dropped),
                'cpu': usage.ru_utime + usage.ru_stime,
            }
            sys.stdout.write(json.dumps(line) + '\n')
            sys.stdout.flush()
            if select.select([sys.stdin], [], [], interval)[0]:
                break
        exchange.stop()


if __name__ == '__main__':
    name, whose, *rest = sys.argv[1:]
    main(name, whose, *(float(number) for number in rest[:3]), *rest[3:])
