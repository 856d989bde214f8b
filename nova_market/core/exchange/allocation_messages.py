# SPDX-License-Identifier: Apache-2.0
"""The messages of the market's engine and the hosts: allocations, and which of them are in force.

Implements rules A5, B5 and F2 of doc/source/specs/market.rst, and U1 of doc/source/specs/usage.rst.
Units: cores, MiB, seconds since the epoch.

These messages share the transport with those of core.exchange.messages. Each side names itself; a transport
that proves the sender of a frame shows whether that is true. A server that a message does not name has no
allocation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.usage.use import MinuteUse

PREFIX = b'market.'
"""Occurs in every frame that holds a message of the market, whatever its format, and in few others."""

ALLOCATE = 'market.allocate'
APPLIED = 'market.applied'

MAX_SERVERS = 10_000
"""On one host; kernels end before that."""

MAX_ENFORCED = 64
"""Resources that a host may name; an engine looks at those that it sells."""

MAX_CORES = 1e6
MAX_MEMORY_MIB = 2.0**43
"""What Linux can address is 2^32 MiB."""

MAX_TIME = 2.0**53


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationMessage:
    """What the engine allocates to the servers of one host in one period.

    engine, host: sender and receiver
    expires:      from then on it no longer counts, unless a newer one has come
    """

    engine: HostName
    host: HostName
    period: int
    expires: float
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A host's reply: the allocations of these servers are in force on it, written now or before.

    heaviness: of the owners that have VMs on the host, in the whole cloud
    enforced:  resources whose control acts on the host now; None: it does not say (the version before)
    use:       of its servers in one minute that is over (rule U1); None: nothing new, or the version before
    since:     for each of `servers` the second in which its allocation was in force for the first time;
               None: the version before
    """

    host: HostName
    engine: HostName
    period: int
    servers: tuple[str, ...]
    heaviness: Mapping[OwnerId, float] = field(default_factory=dict)
    enforced: tuple[str, ...] | None = None
    use: MinuteUse | None = None
    since: tuple[int, ...] | None = None


MarketMessage = AllocationMessage | Confirmation
