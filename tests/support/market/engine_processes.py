# SPDX-License-Identifier: Apache-2.0
"""Engines of the market as processes that a test may kill.

Called as `python -m tests.support.market.engine_processes URL DIRECTORY PERIOD`. Each line on stdin is the
name of an engine to start; its pid is printed. Engines are forked, so that a new one is there at once. All
see the same cloud, which never changes, and lead by a lock in DIRECTORY. A period takes PERIOD seconds of
the machine's clock.
"""

import os
import signal
import sys
import time

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.adapters.leadership import ToozLeadership
from nova_market.core.ledger.currency import recharge
from nova_market.core.market.settings import MarketSettings
from nova_market.db.database import Database
from nova_market.services.market.engine import Engine
from nova_market.services.market.rounds import RoundRunner
from tests.support.market_bed import CREDIT, bidding, host, server, stores_of

LENGTH = 60
"""Seconds of a period by the engines' clock."""

SERVERS = 20


class FastClock:
    """The machine's clock, faster."""

    def __init__(self, speed: float) -> None:
        self._clock = SystemClock()
        self._speed = speed

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def wall(self) -> float:
        return self._clock.wall() * self._speed


def settings(name: str) -> MarketSettings:
    return MarketSettings(
        name=name, period=LENGTH, currency=recharge, total=1000 * CREDIT, renew_every=3, return_delay=4,
        host_reserve=(0.0, 0.0), tax_rate=10_000, notice=0, new_weight=1.0,
    )  # fmt: skip


def run(url: str, directory: str, period: float, name: str) -> None:
    """An engine, for ever."""
    clock = FastClock(LENGTH / period)
    database = Database({'connection': url})
    cloud = MemoryCloud(
        clock,
        [host('a'), host('b')],
        [
            server(f's{n}', f'p{n % 3}', 'ab'[n % 2], mib=256, metadata=bidding(n + 1))
            for n in range(SERVERS)
        ],
    )
    stores, enforcement, chosen = (
        stores_of(database, clock.wall),
        MemoryEnforcement(),
        settings(name),
    )
    leadership = ToozLeadership(name, f'file://{directory}', clock, beat=period / 10)
    engine = Engine(
        rounds=RoundRunner(cloud, stores, enforcement, clock, chosen),
        store=stores.rounds,
        enforcement=enforcement,
        leadership=leadership,
        notices=RecordedNotices(),
        clock=clock,
        settings=chosen,
    )
    engine.start()
    while True:
        engine.tick()
        time.sleep(period / 50)


def main() -> None:
    url, directory, period = sys.argv[1], sys.argv[2], float(sys.argv[3])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(url, directory, period, line.strip())
        sys.stdout.write(f'{child}\n')
        sys.stdout.flush()


if __name__ == '__main__':
    main()
