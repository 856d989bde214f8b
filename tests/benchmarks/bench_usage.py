# SPDX-License-Identifier: Apache-2.0
"""U1: what usage history costs an engine, in CPU and in bytes, for 100 to 10,000 servers.

CPU is that of the whole process in which messages of hosts are decoded, written, and rolled up, as a part of
the minute that they are of. A third of the servers use their disks, two thirds the network; every amount is
random in each minute, over several powers of ten, so that little can be saved by packing.
"""

import time

import numpy as np
import pytest
from sqlalchemy import func, select

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.wire_format import CompactFormat
from nova_market.core.exchange.allocation_messages import Confirmation
from nova_market.core.market.inventory import CloudServer
from nova_market.core.usage.use import MinuteUse, ServerUse
from nova_market.db.usage import TABLES, DatabaseUsage
from nova_market.services.usage.recorder import SETTLED, UsageRecorder
from tests.support.usage_builders import DAY_BEGIN

pytestmark = pytest.mark.benchmark

PER_HOST = 50
MINUTES = 11
WIRE = CompactFormat()


def server_id(number):
    return f'{number:08x}-0000-4000-8000-{number:012x}'


def minute(rng, count):
    """The use of so many servers."""
    on_disk, on_net = rng.random(count) < 1 / 3, rng.random(count) < 2 / 3
    memory = rng.choice([512, 1024, 2048, 4096, 8192], count) * rng.uniform(0.2, 1.0, count)
    disk = np.where(on_disk, rng.lognormal(15, 2, count), 0)
    columns = (
        np.full(count, 60), rng.beta(0.6, 2, count) * rng.choice([1, 2, 4, 8], count) * 60_000,
        memory * 60, memory * rng.uniform(1.0, 1.02, count), disk, disk / 16_384,
        np.where(on_net, rng.lognormal(14, 2.5, count), 0),
    )  # fmt: skip
    return np.array(columns).astype(np.int64).T.tolist()


def frames(rng, at, count):
    """Of all hosts, as they come over the wire."""
    uses = minute(rng, count)
    for first in range(0, count, PER_HOST):
        own = range(first, min(first + PER_HOST, count))
        servers = {server_id(n): ServerUse(**dict(zip(NAMES, uses[n], strict=True))) for n in own}
        yield WIRE.encode(
            Confirmation(
                host=f'h{first}', engine='e', period=1, servers=tuple(servers),
                use=MinuteUse(at=at, servers=servers),
            )
        )  # fmt: skip


NAMES = (
    'seconds', 'core_ms', 'memory_mib_seconds', 'memory_mib_max', 'disk_bytes', 'disk_operations',
    'network_bytes',
)  # fmt: skip


def measured(database, count):
    """(CPU seconds per minute, bytes per day, by resolution)."""
    clock = ManualClock(wall=float(DAY_BEGIN))
    recorder = UsageRecorder(DatabaseUsage(database), clock, lambda: True)
    recorder.know(
        CloudServer(
            id=server_id(n), project_id=f'p{n % 100}', host=f'h{n // PER_HOST * PER_HOST}', vcpus=2,
            memory_mib=512,
        )
        for n in range(count)
    )  # fmt: skip
    rng = np.random.default_rng(7)
    seconds = 0.0
    for number in range(MINUTES + 6):
        given = list(frames(rng, DAY_BEGIN + 60 * number, count))
        clock.advance(60.0 + (SETTLED if number == 0 else 0))
        began = time.process_time()
        for frame in given:
            message = WIRE.decode(frame)
            recorder.take(message.host, message.use)
        recorder.turn()
        if number > 0:
            seconds += time.process_time() - began
    stored = {}
    for resolution, table in TABLES.items():
        query = select(func.sum(func.length(table.c.content)), func.count(table.c.at.distinct()))
        with database.engine.connect() as connection:
            size, spans = connection.execute(query).one()
        stored[resolution.name] = int(size) / spans * 86_400 / resolution.value
    return seconds / (MINUTES + 5), stored


@pytest.mark.parametrize('count', [100, 1000, 10_000])
def test_cost(database, database_server, count):
    """Under 2 % of a core and under 100 MB a day at 10,000 servers; the first minute, which makes the rows of
    servers, is not counted."""
    cpu, stored = measured(database, count)
    daily = sum(stored.values())
    kind = 'SQLite' if database_server is None else type(database_server).__name__
    parts = ', '.join(f'{name.lower()} {size / 1e6:.2f}' for name, size in stored.items())
    print(
        f'\n{kind}, {count} servers: {100 * cpu / 60:.3f} % of a core, {daily / 1e6:.1f} MB a day '
        f'({parts}), {daily / count / 1440:.2f} bytes per server and minute'
    )
    assert cpu / 60 < 0.02
    assert daily < 100e6
