# SPDX-License-Identifier: Apache-2.0
"""What hosts offer in time: Placement's inventory of those that are enabled.

Implements rule C3 of doc/source/specs/calendar.rst. Units as AXES; seconds of the caller's clock. Arrays
(AXES, hosts) and (hosts,).

Placement lets servers use (total - reserved) x allocation ratio of an inventory; capacity.md writes
"total x ratio - reserved", which is the same only where the ratio is 1. The calendar follows Placement, since
what it promises later must be accepted by Placement then.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.grain import instants, on_grid
from nova_market.core.resource import Array, Flags


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Inventory:
    """What Placement and Nova report of hosts.

    total, reserved, ratio: (AXES, hosts) of the inventories VCPU, MEMORY_MB, DISK_GB
    max_unit: (AXES, hosts) the most that one server may have
    enabled:  (hosts,) Nova may put servers there
    powered:  (hosts,) it is on
    wake:     (hosts,) seconds from the order to power a host on until it takes servers
    """

    total: Array
    reserved: Array
    ratio: Array
    max_unit: Array
    enabled: Flags
    powered: Flags
    wake: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Capacity:
    """amounts: (AXES, hosts) for all servers of a host; largest: (AXES, hosts) for one of them
    since:   (hosts,) from when on; -inf: always
    """

    amounts: Array
    largest: Array
    since: Array


def offered(inventory: Inventory, now: float) -> Capacity:
    """What the hosts offer from `now` on; nothing on a host that is disabled."""
    whole = (inventory.total - inventory.reserved) * inventory.ratio
    open_now = inventory.enabled[None, :]
    return capacity(
        np.where(open_now, np.maximum(whole, 0.0), 0.0),
        largest=np.where(open_now, inventory.max_unit, 0.0),
        since=np.where(inventory.powered, -np.inf, now + inventory.wake),
    )


def capacity(
    amounts: Array, *, largest: Array | None = None, since: Array | None = None
) -> Capacity:
    """A capacity on the grid. largest: None = as much as the host has; since: None = always.

    :raises BadBooking: for an amount that is negative or too large.
    """
    whole = on_grid(amounts)
    return Capacity(
        amounts=whole,
        largest=whole if largest is None else np.minimum(on_grid(largest), whole),
        since=np.full(whole.shape[1], -np.inf) if since is None else instants(since),
    )
