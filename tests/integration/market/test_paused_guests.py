# SPDX-License-Identifier: Apache-2.0
"""Whoever pauses his guest while rounds are decided gains no CPU over neighbours that pay: rule F6."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, MINT, Posting, Reason, account
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.experiments.guests.observer import Observer
from nova_market.services.exchange.allocation_sender import AllocationSender
from nova_market.services.market.rounds import OpenRound, RoundRunner
from nova_market.testbed.guest import Guest
from nova_market.testbed.host import Host
from tests.integration.market.test_enforcement import (  # noqa: F401
    HOST,
    NAMES,
    cpu,
    endpoint,
    engine,
    eventually,
    guests,
    host,
    service,
)
from tests.support.market_bed import CREDIT, bidding, stores_of

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio'
    ),
    pytest.mark.measured,
]

LOG = logging.getLogger(__name__)

PERIOD = 6.0
ROUNDS = 8
TOGGLING = 'm3'
"""It bids nothing, and its project has no credits."""


@pytest.fixture
def runner(
    engine: AllocationSender,  # noqa: F811
    guests: dict[str, Guest],  # noqa: F811
    tmp_path: Path,
) -> Iterator[tuple[RoundRunner, MemoryCloud]]:
    """Rounds of the market on a host of one core, whose allocations go to the real service."""
    database = Database({'connection': f'sqlite:///{tmp_path / "market.sqlite"}'})
    schema.sync(database)
    clock = SystemClock()
    stores = stores_of(database, clock.wall)
    servers = []
    for name in NAMES:
        project = account('project', f'p-{name}')
        stores.accounts.open([Account(id=project, project_id=f'p-{name}')])
        bid = 0 if name == TOGGLING else 1
        if bid:
            grant = Posting(
                key=f'grant:0:{name}', reason=Reason.GRANT, debit=MINT, credit=project,
                amount=1000 * CREDIT,
            )  # fmt: skip
            stores.ledger.post([grant])
        servers.append(
            CloudServer(
                id=guests[name].spec.uuid, project_id=f'p-{name}', host=HostName(HOST), vcpus=1,
                memory_mib=64, metadata=bidding(bid),
            )
        )  # fmt: skip
    cloud = MemoryCloud(
        clock, [CloudHost(name=HostName(HOST), cores=1.0, memory_mib=2048.0)], servers
    )
    settings = MarketSettings(period=PERIOD, return_delay=0, notice=0, host_reserve=(0.0, 0.0))
    yield RoundRunner(cloud, stores, engine, clock, settings), cloud
    assert stores.accounts.account(BANK).balance > 0, 'the neighbours have paid'
    database.close()


def test_who_pauses_while_rounds_are_decided_gains_no_cpu(
    service: object,  # noqa: F811
    runner: tuple[RoundRunner, MemoryCloud],
    host: Host,  # noqa: F811
    guests: dict[str, Guest],  # noqa: F811
    record_property: Callable[[str, object], None],
):
    """Two neighbours bid one credit a period each; the one that pauses gets next to nothing."""
    rounds, cloud = runner
    observer = Observer({'a': host.uri})
    opened = _next_round(rounds, cloud, host, guests)
    observer.look(0.0)
    began = time.monotonic()
    for _ in range(ROUNDS):
        before, opened = opened, _next_round(rounds, cloud, host, guests)
        rounds.finish(before.record, sent=True)
    time.sleep(PERIOD / 2)
    row = observer.look(time.monotonic() - began)
    observer.close()
    used = {name: row[f'{name}.cpu'] for name in NAMES}
    LOG.info('used %s', used)
    whole = sum(used.values())
    record_property('part of who pauses', used[TOGGLING] / whole)
    assert used[TOGGLING] / whole < 0.05
    assert used['m1'] / whole == pytest.approx(used['m2'] / whole, rel=0.1)


def _next_round(
    runner: RoundRunner,
    cloud: MemoryCloud,
    host: Host,  # noqa: F811
    guests: dict[str, Guest],  # noqa: F811
) -> OpenRound:
    """That of the next period, decided while one guest is paused; the host has confirmed it."""
    time.sleep(PERIOD - time.time() % PERIOD)
    (server,) = (one for one in cloud.servers() if one.id == guests[TOGGLING].spec.uuid)
    host.virsh('suspend', TOGGLING)
    cloud.put_server(replace(server, status='PAUSED'))
    decided = runner.decide(int(time.time() // PERIOD))
    opened = runner.send(decided.stored, decided.plan.allocated)
    host.virsh('resume', TOGGLING)
    cloud.put_server(server)
    eventually(lambda: _confirmed(runner, opened))
    return opened


def _confirmed(rounds: RoundRunner, opened: OpenRound) -> bool:
    rounds.collect(opened)
    return opened.confirmed >= opened.wanted.keys()
