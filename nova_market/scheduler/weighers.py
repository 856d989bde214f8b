# SPDX-License-Identifier: Apache-2.0
"""Weighers for nova-scheduler; what each thinks of a host is a function of core.scheduler.weights.

Implements rules S2 to S4 of doc/source/specs/market.rst. Nova loads MarketWeigher, which has all the others
as terms of one sum (weighted_sum explains why); nova.conf may name single ones instead. A weigher without an
opinion returns no weights at all, which Nova treats as equal ones without work on every host.
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
from nova_market.outage_log import OutageLog
from nova_market.scheduler import installed_weighers
from nova_market.scheduler.candidates import Candidates
from nova_market.scheduler.market_feed import CONF, ENGINE, Unfed
from nova_market.scheduler.weighted_sum import Term, weighted_sum

LOG = logging.getLogger(__name__)

NO_OPINION: list[float] = []


class _SumWeigher(weights.BaseHostWeigher):  # type: ignore[misc]
    minval, maxval = 0.0, 1.0
    """The sum is normalised already: with these Nova takes it as it is."""

    def __init__(self) -> None:
        super().__init__()
        self._outage = self._own_outage()

    @property
    def terms(self) -> Sequence[Term]:
        raise NotImplementedError

    def weigh_objects(
        self, weighed_obj_list: Sequence[weights.WeighedHost], weight_properties: RequestSpec
    ) -> list[float]:
        return self._sum([one.obj for one in weighed_obj_list], weight_properties)

    def _weigh_object(self, obj: HostState, weight_properties: RequestSpec) -> float:
        return sum(self._sum([obj], weight_properties))

    def _sum(self, hosts: Sequence[HostState], spec: RequestSpec) -> list[float]:
        try:
            found = weighted_sum(hosts, spec, self.terms)
        except Exception as error:
            # an exception would fail the build; this is no reason to
            self._outage.failed(error, level=logging.ERROR, exc_info=True)
            return NO_OPINION
        self._outage.works()
        return found

    def _own_outage(self) -> OutageLog:
        name = type(self).__name__
        return OutageLog(
            LOG, lost=f'{name} does not work and is silent', back=f'{name} works again'
        )


class SingleWeigher(_SumWeigher):
    """One weigher of the market: a term of the sum of MarketWeigher, or by itself when nova.conf names it."""

    option: ClassVar[str]
    """The multiplier, in [nova_market] and in the metadata of aggregates."""

    least: float | None = None
    most: float | None = None
    """0 and 1 leave weights as they are: from -1 to 0, so that no multiplier makes a merit of a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.configured()  # a multiplier that is not a number fails at the start
        self._opinion_outage = self._own_outage()

    @property
    def terms(self) -> Sequence[Term]:
        return (self,)

    def configured(self) -> float:
        """The multiplier of hosts whose aggregates set none."""
        found: float = CONF.nova_market[self.option]
        return found

    def opinion(self, candidates: Candidates) -> Array | None:
        """Its weights, not normalised; None: it has no opinion. Raises nothing."""
        try:
            found = self._weights(candidates)
            if found is not None and not np.isfinite(found).all():
                raise ValueError('a weight is not a number')
        except Exception as error:
            self.failed(error)
            return None
        self._opinion_outage.works()
        return found

    def failed(self, error: Exception) -> None:
        """Log the exception that is handled now, once until it works again."""
        self._opinion_outage.failed(error, level=logging.ERROR, exc_info=True)

    def _weights(self, candidates: Candidates) -> Array | None:
        snapshot = candidates.snapshot
        return None if snapshot is None else self._by_market(snapshot, candidates)

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        raise NotImplementedError


class MarketWeigher(_SumWeigher):
    """All weighers that are installed, each with its own multiplier, in one pass of Nova over the hosts."""

    def __init__(self) -> None:
        super().__init__()
        self._terms = [cls() for cls in installed_weighers() if issubclass(cls, SingleWeigher)]

    @property
    def terms(self) -> Sequence[Term]:
        return self._terms


class BidLoadWeigher(SingleWeigher):
    """Hosts with few bids for their size first."""

    option = 'bid_load_weight_multiplier'

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_bid_load(
            snapshot, candidates.request, candidates.rows, candidates.newcomers
        )


class AllocationErrorWeigher(SingleWeigher):
    """Hosts first where everybody, the new server too, gets what his bid buys in the undivided cloud."""

    option = 'allocation_error_weight_multiplier'
    least, most = 0.0, 1.0

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_allocation_error(
            snapshot, candidates.request, candidates.rows, candidates.newcomers
        )


class HeavinessWeigher(SingleWeigher):
    """Hosts first whose projects are as heavy as this one. Silent until heaviness is published."""

    option = 'heaviness_weight_multiplier'
    least, most = 0.0, 1.0

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        return host_weight.by_heaviness(snapshot, candidates.request, candidates.rows)


class PowerWeigher(SingleWeigher):
    """Hosts that need few watts a core first. Silent until watts are published."""

    option = 'power_weight_multiplier'

    def __init__(self) -> None:
        super().__init__()
        off = f'set [nova_market]{self.option} to 0'
        self._unfed = Unfed(type(self).__name__, 'weighs nothing', 'hosts.watts', ENGINE, off)

    def _by_market(self, snapshot: SchedulerSnapshot, candidates: Candidates) -> Array | None:
        self._unfed.looked_at(snapshot.watts)
        return host_weight.by_watts(snapshot, candidates.rows)


class PackingWeigher(SingleWeigher):
    """Hosts with most servers first. Needs no snapshot: Nova counts them itself."""

    option = 'packing_weight_multiplier'

    def _weights(self, candidates: Candidates) -> Array | None:
        return host_weight.by_servers(candidates.servers)
