# SPDX-License-Identifier: Apache-2.0
"""Sessions of our own programs on one machine: a controller with its database, a compute host with guests."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from oslo_config import cfg

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.host import Demand, InMemoryHost, steady
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalHub, LocalTransport
from nova_market.conf import opts
from nova_market.core.exchange.received_allocations import EffectiveAllocations
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import GuestId
from nova_market.services.fairness import status
from nova_market.services.fairness.agent import Agent
from nova_market.services.fairness.originals import OriginalValues
from nova_market.wiring import agent
from tests.support.documentation.sessions import ROOT
from tests.support.exchange.exchanges import put_together
from tests.support.host_builders import MIB, guest, supply

ETC = '/etc/nova_market'
PROGRAMS = {
    'nova-fairness': 'nova_market.cmd.fairness',
    'nova-market-engine': 'nova_market.cmd.engine',
    'nova-market-manage': 'nova_market.cmd.manage',
    'nova-market-status': 'nova_market.cmd.status',
}
PERIOD = 29840640
MODES = {'dry run': True, 'enforcing': False}


class Machine:
    """A machine with a configuration file. Paths below /etc/nova_market are in `folder`."""

    config = ''

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._conf = folder / 'nova_market.conf'

    def prepare(self) -> None:
        self._conf.write_text(self.config.format(folder=self.folder))

    def step(self, text: str) -> None:
        raise AssertionError(f'{type(self).__name__} has no step "{text}"')

    def command(self, words: list[str]) -> tuple[int, str]:
        """Status and what a program of ours printed."""
        given = [word.replace(ETC, str(self.folder)) for word in words[1:]]
        if '--config-file' not in given:
            given = ['--config-file', str(self._conf), *given]
        done = subprocess.run(
            [sys.executable, '-m', PROGRAMS[words[0]], *given],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=90, cwd=ROOT,
        )  # fmt: skip
        text = done.stdout.replace(str(self.folder), ETC)
        return self.judged(words, done.returncode), text

    def judged(self, words: list[str], status_: int) -> int:
        """What counts as having worked."""
        return status_


class Controller(Machine):
    """A controller with an empty database, without an account in Keystone."""

    config = """
[database]
connection = sqlite:///{folder}/market.sqlite
[host]
name = compute1
[exchange]
zmq_key_path = {folder}/keys
"""

    def judged(self, words: list[str], status_: int) -> int:
        """A check that ends with a warning has worked."""
        return 0 if words[0] == 'nova-market-status' and status_ == 1 else status_


class Granted:
    """The market's allocations of this host (ports.Allocations)."""

    def __init__(self, granted: EffectiveAllocations) -> None:
        self._granted = granted

    def look(self) -> EffectiveAllocations:
        return self._granted

    def confirm(
        self, granted: Any, servers: Any, heaviness: Any, enforced: Any = None, use: Any = None
    ) -> None:
        """Nobody asks here."""


class ComputeHost(Machine):
    """A host of one core: two busy guests of astronomy, one of biology. Steps: modes, `policy NAME`."""

    config = """
[host]
name = compute1
[fairness]
state_path = {folder}
"""
    OWNERS = (('web-1', 'astronomy', 0.5), ('web-2', 'astronomy', 0.25), ('seq-1', 'biology', 0.25))

    def prepare(self) -> None:
        super().prepare()
        self._policy, self._dry = 'fairness', False

    def step(self, text: str) -> None:
        if text in MODES:
            self._dry = MODES[text]
        elif text.startswith('policy '):
            self._policy = text.removeprefix('policy ')
        else:
            super().step(text)

    def command(self, words: list[str]) -> tuple[int, str]:
        JsonFile(str(self.folder / 'status.json')).save(self._document())
        conf = cfg.ConfigOpts()
        opts.register_opts(conf)
        conf(['--config-file', str(self._conf)], project='nova_market')
        with agent.state_lock(conf):  # the service that runs
            status_, text = super().command(words)
        # how long ago the round was is the machine's affair
        return status_, re.sub(r'round \d+ s ago', 'round 1 s ago', text)

    def _document(self) -> dict[str, Any]:
        """What the service writes after a quarter of an hour."""
        clock = ManualClock(wall=time.time() - 901.2)
        host = InMemoryHost(clock, supply(cores=1.0))
        for name, owner, _ in self.OWNERS:
            host.add(guest(name, owner), steady(Demand(cpu=1.0, rss_bytes=64 * MIB)))
        settings = FairnessSettings(resources=('cpu',), policy=self._policy)
        hub = LocalHub()
        exchange = put_together(
            'broadcast',
            host='compute1',
            metric=settings.metric_name,
            ttl=settings.totals_ttl,
            clock=clock,
            transport=LocalTransport(host='compute1', hub=hub),
            membership=hub,
        )
        exchange.start()
        made = Agent(
            host='compute1',
            driver=host,
            actuators=host.actuators(),
            controls=('cpu',),
            exchange=exchange,
            settings=settings,
            originals=OriginalValues(JsonFile(str(self.folder / 'originals.json')), 'boot'),
            clock=clock,
            dry_run=self._dry,
            market=None if self._policy == 'fairness' else Granted(self._allocations()),
        )
        made.start()
        for _ in range(90):
            clock.advance(10.0)
            record = made.round()
        document = status.status_document(record, 'compute1', 10.0, 1)
        # how long a round takes is the machine's affair
        return document | {'seconds': {'round': 0.006}}

    def _allocations(self) -> EffectiveAllocations:
        given = {
            GuestId(name): Allocation(server_id=name, cores=cores, memory_mib=64.0)
            for name, _, cores in self.OWNERS
        }
        return EffectiveAllocations(
            engine='engine.controller1', period=PERIOD, strength=1.0, allocations=given
        )


STAGES: dict[str, type[Machine]] = {'controller': Controller, 'compute-host': ComputeHost}
