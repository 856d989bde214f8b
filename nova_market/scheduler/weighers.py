# SPDX-License-Identifier: Apache-2.0
"""Weighers for nova-scheduler; what each thinks of a host is a function of core.host_weight.

Implements rules S2 and S3 of doc/source/specs/market.rst: a weigher without an opinion returns no weights
at all, which Nova takes as it takes equal ones, and is spared the work on every host.
"""

import logging
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler import weights
from nova.scheduler.host_manager import HostState
from nova.scheduler.utils import get_weight_multiplier

from nova_market.core import host_weight
from nova_market.core.crowding import newcomers_since
from nova_market.core.quantity import Array, Rows
from nova_market.core.scheduler_snapshot import SchedulerSnapshot
from nova_market.core.server_request import ServerRequest
from nova_market.scheduler import market_feed
from nova_market.scheduler.asking import host_rows, request_from
from nova_market.scheduler.options import CONF

LOG = logging.getLogger(__name__)

NO_OPINION: list[float] = []


class _MarketWeigher(weights.BaseHostWeigher):  # type: ignore[misc]
    option: ClassVar[str]
    """The multiplier, in [nova_market] and in the metadata of aggregates."""

    _failed = False

    def __init__(self) -> None:
        self._configured: float = CONF.nova_market[self.option]

    def weight_multiplier(self, host_state: HostState) -> float:
        """That of the host's aggregates, else the configured one. Called for every host: kept short."""
        for aggregate in host_state.aggregates:
            if self.option in aggregate.metadata:
                found: float = get_weight_multiplier(host_state, self.option, self._configured)
                return found
        return self._configured

    def weigh_objects(
        self, weighed_obj_list: Sequence[weights.WeighedHost], weight_properties: RequestSpec
    ) -> list[float]:
        hosts = [weighed.obj for weighed in weighed_obj_list]
        try:
            self._configured = CONF.nova_market[self.option]
            return self._opinion(hosts, weight_properties)
        except Exception:
            # an exception would fail the build; this is no reason to
            if not self._failed:
                LOG.exception('%s does not work and is silent', type(self).__name__)
            self._failed = True
            return NO_OPINION

    def _weigh_object(self, obj: HostState, weight_properties: RequestSpec) -> float:
        found = self.weigh_objects([weights.WeighedHost(obj, 0.0)], weight_properties)
        return found[0] if found else 0.0

    def _opinion(self, hosts: list[HostState], spec: RequestSpec) -> list[float]:
        if not self._counts(hosts):
            return NO_OPINION
        found = self._weights(hosts, spec)
        if found is None:
            return NO_OPINION
        if not np.isfinite(found).all():
            raise ValueError('a weight is no number')
        self._failed = False
        plain: list[float] = found.tolist()
        return plain

    def _counts(self, hosts: list[HostState]) -> bool:
        """Is there a host whose multiplier is not 0?"""
        return bool(self._configured) or any(
            self.option in aggregate.metadata for host in hosts for aggregate in host.aggregates
        )

    def _weights(self, hosts: list[HostState], spec: RequestSpec) -> Array | None:
        snapshot = market_feed.current()
        if snapshot is None:
            return None
        request, rows = request_from(spec), host_rows(snapshot, hosts)
        used = np.array([host.vcpus_used for host in hosts], dtype=float)
        come = newcomers_since(snapshot, request, rows, used)
        return self._by_market(snapshot, request, rows, come)

    def _by_market(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, come: Array
    ) -> Array | None:
        raise NotImplementedError


class BidLoadWeigher(_MarketWeigher):
    """Hosts with few bids for their size first."""

    option = 'bid_load_weight_multiplier'

    def _by_market(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, come: Array
    ) -> Array | None:
        return host_weight.by_bid_load(snapshot, request, rows, come)


class AllocationErrorWeigher(_MarketWeigher):
    """Hosts first where everybody, the new server too, gets what his bid buys in the undivided cloud."""

    option = 'allocation_error_weight_multiplier'
    minval, maxval = -1.0, 0.0

    def _by_market(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, come: Array
    ) -> Array | None:
        return host_weight.by_allocation_error(snapshot, request, rows, come)


class HeavinessWeigher(_MarketWeigher):
    """Hosts first whose projects are as heavy as this one. Silent until heaviness is published."""

    option = 'heaviness_weight_multiplier'
    minval, maxval = -1.0, 0.0

    def _by_market(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, come: Array
    ) -> Array | None:
        return host_weight.by_heaviness(snapshot, request, rows)


class PowerWeigher(_MarketWeigher):
    """Hosts that need few watts a core first. Silent until watts are published."""

    option = 'power_weight_multiplier'

    def _by_market(
        self, snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, come: Array
    ) -> Array | None:
        return host_weight.by_watts(snapshot, rows)


class PackingWeigher(_MarketWeigher):
    """Hosts with most servers first. Needs no snapshot: Nova counts them itself."""

    option = 'packing_weight_multiplier'

    def _weights(self, hosts: list[HostState], spec: RequestSpec) -> Array | None:
        return host_weight.by_servers(np.array([host.num_instances for host in hosts], dtype=float))
