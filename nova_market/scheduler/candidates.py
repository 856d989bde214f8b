# SPDX-License-Identifier: Apache-2.0
"""The hosts of one request as arrays, each read once however many weighers look at it.

Implements rules S2 and S4 of doc/source/specs/market.rst. For one request and one thread: a snapshot that
comes meanwhile changes nothing. Arrays (hosts,).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from nova.objects.request_spec import RequestSpec
from nova.scheduler.host_manager import HostState

from nova_market.core.resource import Array, Rows
from nova_market.core.scheduler.host_demand import newcomers_since
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.scheduler import market_feed
from nova_market.scheduler.nova_objects import host_rows, request_from

SUFFIX = '_weight_multiplier'


class Candidates:
    """hosts: those that Nova asks about, in its order."""

    def __init__(self, hosts: Sequence[HostState], spec: RequestSpec) -> None:
        self.hosts = hosts
        self._spec = spec

    @cached_property
    def snapshot(self) -> SchedulerSnapshot | None:
        return market_feed.current()

    @cached_property
    def request(self) -> ServerRequest:
        return request_from(self._spec)

    @cached_property
    def rows(self) -> Rows:
        """In the snapshot, which must be there."""
        assert self.snapshot is not None
        return host_rows(self.snapshot.hosts, self.hosts)

    @cached_property
    def newcomers(self) -> Array:
        """Servers that have come since the round, in those of this size."""
        assert self.snapshot is not None
        used = np.array([host.vcpus_used for host in self.hosts], dtype=float)
        return newcomers_since(self.snapshot, self.request, self.rows, used)

    @cached_property
    def servers(self) -> Array:
        """As Nova counts them."""
        return np.array([host.num_instances for host in self.hosts], dtype=float)

    def with_metadata(self, option: str) -> Sequence[int]:
        """Hosts with an aggregate whose metadata has this multiplier."""
        return self._by_option.get(option, ())

    @cached_property
    def _by_option(self) -> Mapping[str, Sequence[int]]:
        # hosts share their aggregates, whose fields are slow to read
        names: dict[int, tuple[str, ...]] = {}
        found: dict[str, list[int]] = {}
        for row, host in enumerate(self.hosts):
            for aggregate in host.aggregates:
                key = id(aggregate)
                options = names.get(key)
                if options is None:
                    metadata = aggregate.metadata
                    options = names[key] = tuple(n for n in metadata if n.endswith(SUFFIX))
                for option in options:
                    rows = found.setdefault(option, [])
                    if not rows or rows[-1] != row:
                        rows.append(row)
        return found
