# SPDX-License-Identifier: Apache-2.0
"""What a round costs on real guests: against the floor, and against the way of 2016.

The floor is one bulk-statistics call and the same writes, nothing else. The way of 2016 asks libvirt
per VM and sets network classes with N * (2 N + P + 5) processes of tc (P distinct priorities, here N);
its calls are run for real, a process of tc is run some times and counted so many.

What the service does for its observers after a round (metrics and status document) is a column of its own.
"""

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import libvirt
import pytest

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.hypervisor.libvirt_host import STATISTICS
from nova_market.adapters.hypervisor.monitor_statistics import DISKS, SCOPE
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalTransport
from nova_market.core.fairness.round import FairnessSettings
from nova_market.services.fairness.agent import Agent, FairnessRecord
from nova_market.services.fairness.metrics import FairnessCollector
from nova_market.services.fairness.originals import OriginalValues
from nova_market.services.fairness.status import status_document
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.hypervisor.worlds import LibvirtBed, WorldOfLibvirt

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.integration('libvirtd', 'virtlogd', 'qemu-system-x86_64', 'tc'),
]

SIZES = (10, 20, 40, 80)
OWNERS = 5
REPEAT = 9
AIM = 1.5


@pytest.fixture
def world() -> Iterator[WorldOfLibvirt]:
    bed = LibvirtBed()
    made = WorldOfLibvirt(bed)
    yield made
    made.close()
    bed.remove()


def median(call: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Seconds of `call`, median; `before` is not counted."""
    found = []
    for _ in range(REPEAT):
        before()
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def agent_of(world: WorldOfLibvirt, directory: Path) -> Agent:
    settings = FairnessSettings()
    clock = SystemClock()
    exchange = put_together(
        'broadcast',
        host='bench',
        metric=settings.metric_name,
        ttl=30.0,
        clock=clock,
        transport=LocalTransport(host='bench'),
        membership=Roll('bench'),
    )
    return Agent(
        host='bench',
        driver=world.host,
        actuators=list(world.actuators.values()),
        controls=('cpu',),
        exchange=exchange,
        settings=settings,
        originals=OriginalValues(JsonFile(str(directory / 'originals.json')), 'boot'),
        clock=clock,
    )


def spoil(world: WorldOfLibvirt) -> None:
    """Give every guest a share that no round wants, behind libvirt's back: all must be written."""
    for item in world.host.sample().guests:
        group = world.host.cgroups.locate(item.guest, 'cpu')
        (group.scope / 'cpu.shares').write_text('77')


def show(record: FairnessRecord, directory: Path) -> None:
    """What the service does with a round that was done."""
    FairnessCollector('bench').observe(record)
    file = JsonFile(str(directory / 'status.json'), durable=False)
    file.save(status_document(record, 'bench', 10.0, 1))


def floor(world: WorldOfLibvirt, write: bool) -> None:
    for domain, _ in world.nova.getAllDomainStats(STATISTICS | DISKS, SCOPE):
        if write:
            domain.setSchedulerParametersFlags({'cpu_shares': 1000}, libvirt.VIR_DOMAIN_AFFECT_LIVE)


def calls_of_2016(world: WorldOfLibvirt) -> None:
    """What the 2016 driver asked and set per VM, without tc."""
    for number in world.nova.listDomainsID():
        domain = world.nova.lookupByID(number)
        domain.vcpus()
        domain.memoryStats()
        domain.maxMemory()
        domain.XMLDesc(0)
        domain.blockStats('vda')
        domain.interfaceStats(f'tap{int(domain.name().split("-")[1])}')
        domain.setSchedulerParameters({'cpu_shares': 50})
        domain.setMemoryParameters({'soft_limit': 100 << 10}, libvirt.VIR_DOMAIN_AFFECT_LIVE)


def spawn_of_tc() -> float:
    """Seconds that one process of tc costs."""
    return median(
        lambda: subprocess.run(
            ['tc', 'qdisc', 'show', 'dev', 'lo'], capture_output=True, check=True
        )
    )


def test_round_against_the_floor(world: WorldOfLibvirt, tmp_path: Path):
    """At most 1.5 times the floor at 80 guests, and linear in their number."""
    tc = spawn_of_tc()
    print(f'\nms per round, median of {REPEAT}; one process of tc: {1e3 * tc:.1f} ms')
    print(f'{"N":>4} {"floor":>8} {"round":>8} {"ratio":>6} | {"floor+w":>8} {"round+w":>8} {"ratio":>6} | '
          f'{"status":>8} | {"2016 calls":>10} {"2016 tc":>9} {"saves":>7}')  # fmt: skip
    ratios, per_guest, shown = {}, {}, {}
    running = 0
    for size in SIZES:
        while running < size:
            world.start(running, owner=f'o{running % OWNERS}')
            running += 1
        agent = agent_of(world, tmp_path)
        agent.round()
        quiet = median(lambda: floor(world, write=False))
        calm = median(agent.round)
        base = median(lambda: floor(world, write=True))
        full = median(agent.round, before=lambda: spoil(world))
        old, old_tc = median(lambda: calls_of_2016(world)), tc * size * (3 * size + 5)
        ratios[size], per_guest[size] = full / base, full / size
        record = agent.round()
        status = median(lambda record=record: show(record, tmp_path))
        shown[size] = status / size
        print(f'{size:4d} {1e3 * quiet:8.1f} {1e3 * calm:8.1f} {calm / quiet:6.2f} | {1e3 * base:8.1f} '
              f'{1e3 * full:8.1f} {full / base:6.2f} | {1e3 * status:8.2f} | '
              f'{1e3 * old:10.1f} {1e3 * old_tc:9.0f} {(old + old_tc) / full:6.0f}x')  # fmt: skip
    assert max(ratios.values()) <= AIM
    for cost in (per_guest, shown):
        assert cost[SIZES[-1]] < 1.5 * cost[SIZES[1]], 'linear in the number of guests'
