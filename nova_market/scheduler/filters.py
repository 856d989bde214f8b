# SPDX-License-Identifier: Apache-2.0
"""Filters for nova-scheduler; what each decides is a function of core.scheduler.filters.

Implements rules S2 and S3 of doc/source/specs/market.rst, and L5 of doc/source/specs/leases.rst: without a
snapshot, or when anything goes wrong, every host passes. Each request is looked at once, with all servers it
asks for; by LeaseFilter once for each server.
"""

import logging
import time
from collections.abc import Sequence

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler import filters
from nova.scheduler.host_manager import HostState

from nova_market.core.scheduler import filters as host_filter
from nova_market.core.scheduler.filters import Verdict
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.outage_log import OutageLog
from nova_market.scheduler import market_feed
from nova_market.scheduler.market_feed import CONF, ENGINE, Unfed
from nova_market.scheduler.nova_objects import free_now, host_rows, rebuilds, request_from

LOG = logging.getLogger(__name__)

PASSES = 'lets every host pass'
SERVICE = 'start nova-market-leases'
OFF = 'remove it from [filter_scheduler]enabled_filters'


class _MarketFilter(filters.BaseHostFilter):  # type: ignore[misc]
    run_filter_once_per_request = True

    def __init__(self) -> None:
        super().__init__()
        name = type(self).__name__
        self._outage = OutageLog(
            LOG, lost=f'{name} does not work and lets everything pass', back=f'{name} works again'
        )

    def filter_all(
        self, filter_obj_list: Sequence[HostState], spec_obj: RequestSpec
    ) -> Sequence[HostState]:
        """The hosts that pass. All of them at once: a call per host would cost more than the decision."""
        hosts = list(filter_obj_list)
        try:
            return self._passing(hosts, spec_obj)
        except Exception as error:
            # an exception would fail the build; this is no reason to
            self._outage.failed(error, level=logging.ERROR, exc_info=True)
            return hosts

    def host_passes(self, host_state: HostState, spec_obj: RequestSpec) -> bool:
        return bool(self.filter_all([host_state], spec_obj))

    def _passing(self, hosts: list[HostState], spec: RequestSpec) -> Sequence[HostState]:
        if not hosts or rebuilds(spec):
            return hosts
        snapshot = market_feed.current()
        if snapshot is None:
            return hosts
        request = request_from(spec)
        flags, why = self._verdict(snapshot, request, hosts)
        self._outage.works()
        if flags.all():
            return hosts
        LOG.info(
            '%s refuses %d of %d hosts: %s',
            type(self).__name__,
            int((~flags).sum()),
            len(hosts),
            why,
        )
        return [hosts[row] for row in np.flatnonzero(flags).tolist()]

    def _verdict(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, hosts: list[HostState]
    ) -> Verdict:
        raise NotImplementedError


def everywhere(hosts: Sequence[HostState]) -> Verdict:
    """Nothing is refused, and no host looked at."""
    return np.ones(len(hosts), dtype=np.bool_), ''


class AffordableFilter(_MarketFilter):
    """Hosts where the project can pay for the new server, for flavors that ask for the market."""

    def _verdict(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, hosts: list[HostState]
    ) -> Verdict:
        rows = host_rows(snapshot.hosts, hosts)
        return host_filter.affordable_hosts(
            snapshot, request, rows, CONF.nova_market.affordable_periods
        )


class ShareGuaranteeFilter(_MarketFilter):
    """No host for a new server that would take its project above its granted share of the cloud.

    Abstains until shares are published, and for projects without one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._unfed = Unfed(type(self).__name__, PASSES, 'projects.share', ENGINE, OFF)

    def _verdict(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, hosts: list[HostState]
    ) -> Verdict:
        self._unfed.looked_at(snapshot.share)
        if snapshot.share is None:
            return everywhere(hosts)
        return host_filter.within_share(snapshot, request, host_rows(snapshot.hosts, hosts))


class LeaseFilter(_MarketFilter):
    """No host on which the server would take room that a lease has reserved while it lives.

    Abstains until leases are published, and while what was published is old.
    """

    run_filter_once_per_request = False
    """Each server of a request takes room that the next one does not have."""

    def __init__(self) -> None:
        super().__init__()
        self._unfed = Unfed(type(self).__name__, PASSES, 'reserved', SERVICE, OFF)
        self._age = OutageLog(
            LOG, lost=f'{type(self).__name__} {PASSES}', back='the room of leases is known again'
        )

    def _verdict(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, hosts: list[HostState]
    ) -> Verdict:
        reserved = snapshot.reserved
        self._unfed.looked_at(reserved)
        if reserved is None:
            return everywhere(hosts)
        now = time.time()
        if now - reserved.at > CONF.nova_market.max_age:
            self._age.failed(
                f'the service of leases has last published what is reserved {now - reserved.at:.0f} s ago'
            )
            return everywhere(hosts)
        self._age.works()
        rows = host_rows(reserved.hosts, hosts)
        return host_filter.unreserved(
            reserved, request, rows, free_now(hosts, rows), now, CONF.nova_market.lease_window
        )
