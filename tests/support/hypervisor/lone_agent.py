# SPDX-License-Identifier: Apache-2.0
"""The agent of a host that is the only one of its cloud, on real guests and without the service around it."""

from pathlib import Path

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.state_file import JsonFile
from nova_market.adapters.transport.local import LocalTransport
from nova_market.core.fairness.round import FairnessSettings
from nova_market.core.resource import HostName
from nova_market.ports.exchange import Allocations
from nova_market.services.fairness.agent import Agent
from nova_market.services.fairness.originals import OriginalValues
from tests.support.exchange.exchanges import Roll, put_together
from tests.support.hypervisor.worlds import WorldOfLibvirt


def lone_agent(
    world: WorldOfLibvirt,
    settings: FairnessSettings,
    directory: Path,
    market: Allocations | None = None,
) -> Agent:
    """Controls CPU only. directory: where the originals of guests are stored."""
    clock, host = SystemClock(), HostName('alone')
    return Agent(
        host=host,
        driver=world.host,
        actuators=list(world.actuators.values()),
        controls=('cpu',),
        exchange=put_together(
            'broadcast',
            host=host,
            metric=settings.metric_name,
            ttl=30.0,
            clock=clock,
            transport=LocalTransport(host=host),
            membership=Roll(host),
        ),
        settings=settings,
        originals=OriginalValues(JsonFile(str(directory / 'originals.json')), 'boot'),
        clock=clock,
        market=market,
    )
