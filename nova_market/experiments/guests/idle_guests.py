# SPDX-License-Identifier: Apache-2.0
"""Nobody bids, on real guests: three projects of weight 1, 2 and 3 on one CPU, an engine, and nova-fairness.

Shows rules B3 and A5 of doc/source/specs/market.rst: the engine decides rounds of five seconds on a database,
sends allocations over ZeroMQ, and nova-fairness with the policy `market` sets the weights of three busy
guests, each in a project of its own. With --before every server bids the price of the round before times
a_max, as earlier versions did. Units: seconds, cores, credits per core and period.
"""

import argparse
import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.notifications import RecordedNotices
from nova_market.adapters.leadership import SoleLeader
from nova_market.adapters.transport.membership import StaticMembers
from nova_market.adapters.transport.wire_format import CompactFormat
from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.adapters.transport.zmq.transport import ZmqTransport
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.experiments.guests.observer import Observer
from nova_market.experiments.guests.processes import away_from
from nova_market.experiments.guests.recording import Recording, plot, write_summary
from nova_market.experiments.guests.service_process import ServiceProcess, running
from nova_market.ports.stores import MarketStores
from nova_market.services.exchange.allocation_sender import AllocationSender
from nova_market.services.market.engine import Engine
from nova_market.services.market.rounds import Decided, RoundRunner
from nova_market.sim.cloud.market import OpenStores
from nova_market.testbed.broker import free_ports
from nova_market.testbed.guest import Guest, GuestSpec
from nova_market.testbed.host import UNDISTURBED, Host

NAME = 'idle-guests'
ENGINE = HostName('market-engine')
HOST = HostName('idle')
GUESTS = {'g1': 1.0, 'g2': 2.0, 'g3': 3.0}
"""Guest -> weight of its project."""

PERIOD = 5.0
"""Seconds of a round: the least that [market]period allows."""

INTERVAL = 1.0
"""Seconds of a round of nova-fairness; it confirms allocations once in each."""

TOTAL = 300
RETURN_DELAY = 10
"""Periods; with --before all credits are spent in fewer, so that boom and bust are seen in two minutes."""

JUDGED = 0.6
"""Shares are judged over so much of the end: by then everything that was paid first has come back."""

TOLERANCE = 0.05
"""Relative, of shares of the CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """duration in seconds; before: with the default bid of before; open_stores: empty ones of the engine
    cpu: what the guests share
    """

    duration: float
    before: bool
    state: Path
    output: Path
    open_stores: OpenStores
    cpu: int = 0


@dataclass(slots=True, kw_only=True)
class Rounds:
    """Prices of the rounds that were decided, in credits; what --before bids next."""

    stores: MarketStores
    before: bool
    prices: list[float] = field(default_factory=list)
    generations: dict[str, int] = field(default_factory=dict)

    def observe(self, decided: Decided) -> None:
        price = decided.outcome.price
        self.prices.append(float(price[0]) / MICRO)
        for server in decided.inputs.servers if self.before else ():
            wanted = StoredBid(
                server_id=server.id, project_id=server.project_id,
                payer=account('project', server.project_id),
                cpu=int(price[0] * server.vcpus), memory=int(price[1] * server.memory_mib),
                generation=self.generations.get(server.id, 0),
            )  # fmt: skip
            self.generations[server.id] = self.stores.bids.put(wanted).generation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--before', action='store_true', help='with the default bid of earlier versions'
    )


def from_arguments(arguments: argparse.Namespace, open_stores: OpenStores) -> dict[str, Any]:
    return run(
        Setting(
            duration=arguments.duration,
            before=arguments.before,
            state=arguments.state,
            output=arguments.output,
            open_stores=open_stores,
        )
    )


def run(setting: Setting) -> dict[str, Any]:
    """Run it; the summary, which is also in output/summary.json, with `passed`."""
    setting.output.mkdir(parents=True, exist_ok=True)
    host = Host(HOST, str(setting.cpu), 2048, setting.state, options=UNDISTURBED)
    endpoint = f'tcp://127.0.0.1:{free_ports(1)[0]}'
    keys = setting.output / 'keys'
    _exchange_keys(keys)
    with away_from(setting.cpu), host:
        guests = {
            name: host.boot(GuestSpec(name=name, project=_project(name), load='burn 1'))
            for name in GUESTS
        }
        service = ServiceProcess(
            setting.output / 'service', service_options(host, setting, endpoint, keys)
        )
        with running(service), _engine(setting, guests, endpoint, keys) as (engine, rounds):
            recording = _watched(setting, host, engine, rounds)
    summary = judge(recording, rounds.prices, setting)
    report(setting.output, recording, summary)
    return summary


def service_options(
    host: Host, setting: Setting, endpoint: str, keys: Path
) -> dict[str, dict[str, object]]:
    return {
        'fairness': {
            'interval': INTERVAL, 'resources': 'cpu', 'policy': 'market', 'exchange': 'zmq',
            'disk_control': 'off',
        },
        'exchange': {
            'topology': 'broadcast', 'members': f'{HOST}={endpoint}', 'zmq_bind': endpoint,
            'zmq_key_path': keys / HOST, 'market_engines': ENGINE,
        },
        'host': {'name': HOST, 'libvirt_uri': host.uri, 'cpus': setting.cpu},
    }  # fmt: skip


def judge(recording: Recording, prices: list[float], setting: Setting) -> dict[str, Any]:
    """Shares of what the guests got together, and prices from the third round on."""
    start = setting.duration * (1.0 - JUDGED)
    used = {name: recording.mean(f'{name}.cpu', start) for name in GUESTS}
    shares = {name: cores / sum(used.values()) for name, cores in used.items()}
    expected = {name: weight / sum(GUESTS.values()) for name, weight in GUESTS.items()}
    settled = np.array(prices[2:])
    spread = float(settled.max() / settled.min())
    right = all(abs(shares[n] / expected[n] - 1.0) <= TOLERANCE for n in GUESTS)
    return {
        'experiment': NAME,
        'default_bid': 'before' if setting.before else 'sustainable',
        'duration': setting.duration,
        'rounds': len(prices),
        'price_lowest': float(settled.min()),
        'price_highest': float(settled.max()),
        'shares': shares,
        'expected': expected,
        # the other rule is run to see prices run away
        'passed': bool(spread > 10.0 if setting.before else spread < 1.0 + 1e-9 and right),
    }


def report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    recording.write_csv(output / f'{NAME}.csv')
    panels = [
        ('Price of CPU', 'credits per core and period', ['price']),
        ('CPU used', 'cores', [f'{guest}.cpu' for guest in GUESTS]),
        ('CPU shares', 'cpu.shares', [f'{guest}.shares' for guest in GUESTS]),
    ]
    title = f'Nobody bids: weights 1, 2, 3 on one CPU, default bid: {summary["default_bid"]}'
    plot(output / f'{NAME}.png', recording, panels, title)
    write_summary(output / 'summary.json', summary)


def _watched(setting: Setting, host: Host, engine: Engine, rounds: Rounds) -> Recording:
    """The engine runs, and guests are looked at once a period."""
    observer, recording = Observer({'a': host.uri}), Recording()
    began = looked = time.monotonic()
    observer.look(0.0)
    while (now := time.monotonic()) < began + setting.duration:
        engine.tick()
        if now >= looked + PERIOD and rounds.prices:
            looked = now
            row = observer.look(now - began)
            recording.add(now - began, {**row, 'price': rounds.prices[-1]})
        time.sleep(INTERVAL / 5)
    observer.close()
    return recording


@contextlib.contextmanager
def _engine(
    setting: Setting, guests: Mapping[str, Guest], endpoint: str, keys: Path
) -> Iterator[tuple[Engine, Rounds]]:
    """An engine on a cloud of one host with these guests."""
    clock = SystemClock()
    stores, _ = setting.open_stores(clock.wall)
    stores.accounts.open(
        [
            Account(id=account('project', _project(name)), project_id=_project(name), weight=weight)
            for name, weight in GUESTS.items()
        ]
    )
    servers = [
        CloudServer(
            id=guest.spec.uuid, project_id=guest.spec.project, host=HOST, vcpus=1, memory_mib=64
        )
        for guest in guests.values()
    ]
    settings = MarketSettings(
        name=ENGINE, period=int(PERIOD), total=TOTAL * MICRO, renew_every=RETURN_DELAY,
        return_delay=RETURN_DELAY, host_reserve=(0.0, 0.0),
        breaker=inf if setting.before else MarketSettings().breaker,
    )  # fmt: skip
    members = {HOST: endpoint}
    enforcement = AllocationSender(
        name=ENGINE,
        transport=ZmqTransport(
            ENGINE, 'tcp://127.0.0.1:*', lambda: members, KeyDirectory(str(keys / ENGINE), ENGINE)
        ),
        wire=CompactFormat(),
        clock=clock,
        membership=StaticMembers(ENGINE, '', members),
    )
    cloud = MemoryCloud(clock, [CloudHost(name=HOST, cores=1.0, memory_mib=2048.0)], servers)
    rounds = Rounds(stores=stores, before=setting.before)
    made = Engine(
        rounds=RoundRunner(cloud, stores, enforcement, clock, settings),
        store=stores.rounds,
        enforcement=enforcement,
        leadership=SoleLeader(),
        notices=RecordedNotices(),
        clock=clock,
        settings=settings,
        observe=rounds.observe,
    )
    made.start()
    try:
        yield made, rounds
    finally:
        made.stop()


def _exchange_keys(path: Path) -> None:
    """The host and the engine accept each other's keys."""
    for one in (HOST, ENGINE):
        KeyDirectory(str(path / one), one).create()
    for one, other in ((HOST, ENGINE), (ENGINE, HOST)):
        public = KeyDirectory(str(path / other), other).load().own.public
        KeyDirectory(str(path / one), one).add(other, [public])


def _project(guest: str) -> str:
    return f'project-of-{guest}'
