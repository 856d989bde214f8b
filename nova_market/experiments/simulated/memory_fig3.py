# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of IFI-2016.04 on a host in memory: the same agent, a simulated hypervisor, no waiting.

For machines without root; the real one is fairness_fig3.
"""

from pathlib import Path

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.host import Demand, InMemoryHost, Program
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.adapters.transport.wire_format import PlainFormat
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.host.sample import Guest, HostSupply
from nova_market.core.resource import GuestId, HostName, OwnerId
from nova_market.experiments.guests.recording import Recording
from nova_market.services.exchange.broadcast import BroadcastExchange
from nova_market.services.fairness.agent import Agent
from nova_market.services.fairness.originals import OriginalValues
from nova_market.services.fairness.status import render, status_document

MIB = 1024 * 1024


def run(
    guests: dict[str, str],
    *,
    interval: float,
    duration: float,
    alone: float,
    enforce: bool,
    directory: Path,
) -> tuple[Recording, str]:
    """guests: name -> owner; the first runs alone for `alone` of the duration.

    Returns the recording and the status as an operator would see it ('' without the service).
    """
    clock = ManualClock()
    host = InMemoryHost(clock, HostSupply(cores=1.0, memory_bytes=2048 * MIB))
    for number, (name, owner) in enumerate(guests.items()):
        host.add(_guest(name, owner), _program(0.0 if number == 0 else alone * duration))
    agent = _agent(host, clock, interval, enforce, directory)
    recording, shown = Recording(), ''
    before = dict.fromkeys(guests, 0)
    for step in range(round(duration / interval)):
        clock.advance(interval)
        row = {}
        for item in host.sample().guests:
            name, used = item.guest.name, item.counters.cpu_time_ns
            row[f'{name}.cpu'] = (used - before[name]) / 1e9 / interval
            row[f'{name}.shares'] = float(host.value('cpu', item.guest.id))
            before[name] = used
        recording.add((step + 1) * interval, row)
        record = agent.round()
        shown = render(status_document(record, 'memory', interval, 0), record.wall, alive=True)
    agent.stop()
    return recording, shown if enforce else ''


def _guest(name: str, owner: str) -> Guest:
    return Guest(
        id=GuestId(name),
        domain_id=0,
        name=name,
        owner=OwnerId(owner),
        vcpus=1,
        memory_bytes=128 * MIB,
    )


def _program(start: float) -> Program:
    """Idle until `start` seconds, then CPU-bound."""
    return lambda now: Demand(cpu=1.0 if now >= start else 0.0, rss_bytes=64 * MIB)


def _agent(
    host: InMemoryHost, clock: ManualClock, interval: float, enforce: bool, directory: Path
) -> Agent:
    settings = FairnessSettings(interval=interval, resources=('cpu',), totals_ttl=3 * interval)
    name = HostName('memory')
    hub = LocalHub()
    exchange = BroadcastExchange(
        host=name,
        metric=settings.metric_name,
        ttl=settings.totals_ttl,
        clock=clock,
        transport=LocalTransport(host=name, hub=hub),
        wire=PlainFormat(),
        membership=hub,
    )
    exchange.start()
    return Agent(
        host=name,
        driver=host,
        actuators=host.actuators(),
        controls=('cpu',),
        exchange=exchange,
        settings=settings,
        originals=OriginalValues(JsonFile(str(directory / 'originals.json')), 'memory'),
        clock=clock,
        dry_run=not enforce,
    )
