# SPDX-License-Identifier: Apache-2.0
"""Nova in one process with our plug-ins: its real API, scheduler, conductor and Placement, fake computes.

Nova's own functional fixtures, out of its tree. Every fake compute has the same size, so that Nova's weighers
see no difference between empty hosts and ours decide.
"""

from typing import Any

from nova.tests.fixtures.nova import PROJECT_ID
from nova.tests.functional import integrated_helpers

from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.scheduler import market_feed
from tests.nova.plugged import OPTIONS, OURS, feed_of

PROJECT = PROJECT_ID
IMAGE = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
LOUD = 100.0
"""Multiplier that outweighs all of Nova's weighers together."""


# private: Nova names the base of its own functional tests so, and has no other
class MarketBed(integrated_helpers._IntegratedTestBase):
    """hosts: how many computes, host1, host2, ...; snapshot: what the market tells at the start."""

    REQUIRES_LOCKING = False
    CAST_AS_CALL = False
    ADMIN_API = True
    microversion = 'latest'
    hosts = 5
    driver = 'fake.MediumFakeDriver'
    snapshot: SchedulerSnapshot | None = None

    def setUp(self) -> None:
        before = market_feed.use(feed_of(self.snapshot))
        self.addCleanup(market_feed.use, before)
        self.flags(compute_driver=self.driver)
        self.flags(**OPTIONS, group='filter_scheduler')
        enabled = ['ComputeFilter', 'ServerGroupAntiAffinityFilter', *OURS]
        self.flags(enabled_filters=enabled, group='filter_scheduler')
        for name in ('bid_load', 'allocation_error', 'heaviness'):
            self.flags(group='nova_market', **{f'{name}_weight_multiplier': LOUD})
        super().setUp()

    def _setup_compute_service(self) -> None:
        for number in range(1, self.hosts + 1):
            self._start_compute(f'host{number}')

    def market_tells(self, snapshot: SchedulerSnapshot | None) -> None:
        market_feed.use(feed_of(snapshot))

    def flavor(self, vcpus: int = 1, mib: int = 512, **keys: str) -> str:
        """Keys are extra specs of the market, without the prefix."""
        specs = {f'market:{key}': value for key, value in keys.items()}
        made = self._create_flavor(
            vcpu=vcpus, memory_mb=mib, disk=1, ephemeral=0, extra_spec=specs or None
        )
        return str(made)

    def boot(self, flavor: str, state: str = 'ACTIVE', **more: Any) -> dict[str, Any]:
        """A server, in the state it ends in; more: of the request's server, or hints."""
        hints = more.pop('hints', None)
        body = {'server': self._build_server(flavor_id=flavor, networks='none') | more}
        if hints:
            body['os:scheduler_hints'] = hints
        server: dict[str, Any] = self._wait_for_state_change(self.api.post_server(body), state)
        return server

    def where(self, server: dict[str, Any]) -> str:
        return str(self.api.get_server(server['id'])['OS-EXT-SRV-ATTR:host'])
