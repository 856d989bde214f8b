# SPDX-License-Identifier: Apache-2.0
"""Weighers for nova-scheduler; what each thinks of a host is a function of core.scheduler.weights.

Implements rules S2 to S4 of doc/source/specs/market.rst: a weigher without an opinion returns no weights at
all, which Nova takes as it takes equal ones, and is spared the work on every host. Those that have one say it
together.
"""

import logging
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler import weights
from nova.scheduler.host_manager import HostState

from nova_market.core.resource import Array
from nova_market.core.scheduler import weights as host_weight
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.scheduler.candidates import Candidates
from nova_market.scheduler.options import CONF
from nova_market.scheduler.weigher_group import Panels

LOG = logging.getLogger(__name__)

NO_OPINION: list[float] = []

_panels = Panels()


class _MarketWeigher(weights.BaseHostWeigher):  # type: ignore[misc]
    option: ClassVar[str]
    """The multiplier, in [nova_market] and in the metadata of aggregates."""

    least: float | None = None
    most: float | None = None
    """0 and 1 leave weights as they are: from -1 to 0, so that no multiplier makes a merit of a fault."""

    minval, maxval = 0.0, 1.0
    """What a panel says is normalised: with these Nova takes it as it is."""

    _failed = False

    def __init__(self) -> None:
        self.configured()  # what is no number fails at the start
        self._panel = _panels.join(self)

    def weigh_objects(
        self, weighed_obj_list: Sequence[weights.WeighedHost], weight_properties: RequestSpec
    ) -> list[float]:
        try:
            _panels.close(self._panel)
            if not self._panel.speaks(self):
                return NO_OPINION
            return self._panel.sum([one.obj for one in weighed_obj_list], weight_properties)
        except Exception:
            self.tell()
            return NO_OPINION

    def _weigh_object(self, obj: HostState, weight_properties: RequestSpec) -> float:
        found = self.opinion(Candidates([obj], weight_properties))
        return 0.0 if found is None else float(found[0])

    def configured(self) -> float:
        """The multiplier of hosts whose aggregates say none."""
        found: float = CONF.nova_market[self.option]
        return found

    def opinion(self, candidates: Candidates) -> Array | None:
        """What it thinks of each host, not normalised; None where it has no opinion. Raises nothing."""
        try:
            found = self._weights(candidates)
            if found is not None and not np.isfinite(found).all():
                raise ValueError('a weight is no number')
        except Exception:
            self.tell()
            return None
        self._failed = False
        return found

    def tell(self) -> None:
        """Log the exception that is handled now, once until it works again."""
        # an exception would fail the build; this is no reason to
        if not self._failed:
            LOG.exception('%s does not work and is silent', type(self).__name__)
        self._failed = True

    def _weights(self, candidates: Candidates) -> Array | None:
        snapshot = candidates.snapshot
        return None if snapshot is None else self._by_market(snapshot, candidates)

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        raise NotImplementedError


class BidLoadWeigher(_MarketWeigher):
    """Hosts with few bids for their size first."""

    option = 'bid_load_weight_multiplier'

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_bid_load(
            snapshot, candidates.request, candidates.rows, candidates.newcomers
        )


class AllocationErrorWeigher(_MarketWeigher):
    """Hosts first where everybody, the new server too, gets what his bid buys in the undivided cloud."""

    option = 'allocation_error_weight_multiplier'
    least, most = 0.0, 1.0

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_allocation_error(
            snapshot, candidates.request, candidates.rows, candidates.newcomers
        )


class HeavinessWeigher(_MarketWeigher):
    """Hosts first whose projects are as heavy as this one. Silent until heaviness is published."""

    option = 'heaviness_weight_multiplier'
    least, most = 0.0, 1.0

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_heaviness(snapshot, candidates.request, candidates.rows)


class PowerWeigher(_MarketWeigher):
    """Hosts that need few watts a core first. Silent until watts are published."""

    option = 'power_weight_multiplier'

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_watts(snapshot, candidates.rows)


class PackingWeigher(_MarketWeigher):
    """Hosts with most servers first. Needs no snapshot: Nova counts them itself."""

    option = 'packing_weight_multiplier'

    def _weights(self, candidates: Candidates) -> Array | None:
        return host_weight.by_servers(candidates.servers)
