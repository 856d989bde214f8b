# SPDX-License-Identifier: Apache-2.0
"""What somebody asks Nova for, as the market sees it: how much, for how long, what it would bid.

Implements rules B1 and S3 of doc/source/specs/market.rst, and L5 of
doc/source/specs/leases.rst. Units: cores, MiB, GiB, micro-credits per period,
seconds. A text that is no value is ignored: flavors are checked where they are written.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.core.market.bid import NO_BID, Bid, first_set
from nova_market.core.market.bid_sources import stated_bids
from nova_market.core.market.extra_spec import (
    CLASS,
    CLASSES,
    DURATION,
    LONG,
    MOST_PERIODS,
    MOST_SECONDS,
    PERIODS,
    PREFIX,
    limits,
    whole,
)

LEASE_HINT = 'market_lease'
"""Scheduler hint of a server that uses what a lease has reserved: the lease's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """size:     of one server, (cores, MiB); limit: the most it can use, a_max
    bid:      (cpu, memory), ABSENT where neither a hint nor the flavor sets one
    count:    servers asked for together
    periods:  for which the project must be able to pay; None: whatever the default is; 0: not asked
    market:   the flavor asks for the market: it has a key of it
    duration: seconds; None: not known. Only the flavor sets it: a tenant would give whatever lets him in
    new:      the servers do not exist yet; False: one that exists moves
    disk_gib: of one server on its host; lease: the id that a hint names, ''; server_id: as Nova has it
    """

    project_id: str
    size: tuple[float, float]
    limit: tuple[float, float]
    bid: Bid = NO_BID
    count: int = 1
    periods: int | None = None
    market: bool = False
    work: str = LONG
    duration: int | None = None
    new: bool = True
    disk_gib: float = 0.0
    lease: str = ''
    server_id: str = ''

    @property
    def amounts(self) -> tuple[float, float, float]:
        """Of one server, in the order of AXES."""
        return (*self.size, self.disk_gib)


def request_of(
    project_id: str,
    size: tuple[float, float],
    extra_specs: Mapping[str, str],
    hints: Mapping[str, str],
    *,
    count: int = 1,
    new: bool = True,
    disk_gib: float = 0.0,
    server_id: str = '',
) -> ServerRequest:
    """From a flavor and the scheduler hints of a server; of a bid the hint goes first (B1)."""
    size = (float(size[0]), float(size[1]))
    lease = hints.get(LEASE_HINT, '')
    if not any(key.startswith(PREFIX) for key in (*extra_specs, *hints)):
        return ServerRequest(
            project_id=project_id, size=size, limit=size, count=count, new=new,
            disk_gib=disk_gib, lease=lease, server_id=server_id,
        )  # fmt: skip
    stated = stated_bids(metadata={}, hints=hints, extra_specs=extra_specs)
    limit = limits(extra_specs)
    work = extra_specs.get(CLASS, LONG)
    return ServerRequest(
        project_id=project_id,
        size=size,
        limit=(min(size[0], limit.cpu), min(size[1], limit.memory_mib)),
        bid=first_set(stated.server, stated.flavor),
        count=count,
        periods=whole(extra_specs.get(PERIODS, ''), 0, MOST_PERIODS),
        market=any(key.startswith(PREFIX) for key in extra_specs),
        work=work if work in CLASSES else LONG,
        duration=whole(extra_specs.get(DURATION, ''), 1, MOST_SECONDS),
        new=new,
        disk_gib=disk_gib,
        lease=lease,
        server_id=server_id,
    )
