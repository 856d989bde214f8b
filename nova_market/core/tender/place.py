# SPDX-License-Identifier: Apache-2.0
"""Where a task could run: PEs of workers, those that are alike as one place, and new workers.

Implements INRIA RR-7837, sections 3.3.2 and 3.3.3, and rule T2 of doc/source/specs/tender.rst. Units and
rows as in pool.py.

PEs of one flavor that are free at the same time lead to equal offers for any task, so they are sorted
once for each pool, and not for each request. Within a place the PE that is used first comes first
[3.3.3]: a worker that has other tasks is another kind of place than one that is idle; of those, the one
that is idle for the shortest time is first.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from nova_market.core.resource import Array, Rows, Values
from nova_market.core.tender.pool import Pool

NOBODY = -1
"""In the place of a PE or a host: there is none."""


class Kind(IntEnum):
    """In the order in which equal offers are preferred [3.3.3]."""

    ACTIVE = 0
    """A worker that has other tasks: on a PE of it that is free, or behind those that wait."""
    IDLE = 1
    NEW = 2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Openings:
    """Flavors of which a new worker can start now. Both (openings,); host: row of the one that it gets."""

    flavor: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    host: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Places:
    """Groups of PEs, then openings. All (places,) but those below.

    kind, flavor: Kind; row of the flavor
    free_at:    when its PEs are free; -inf for a new worker
    delay:      seconds until a new worker takes a task, 0 for one that is there
    start_cost: micro-credits of a new worker
    count:      PEs; 1 for a new worker
    pe:         the one that is used first; NOBODY for a new worker
    host:       of a new worker; NOBODY otherwise

    order: (PEs,) rows of PEs, place after place; place: (PEs,) the place of each, in that order
    room:  (2,) MiB and GiB that a task may take at most to fit in every place, whatever runs beside it
    until: from then on a PE is free that is not free yet: places are to be made again
    """

    pool: Pool
    kind: Rows
    flavor: Rows
    free_at: Array
    delay: Array
    start_cost: Values
    count: Rows
    pe: Rows
    host: Rows
    order: Rows
    place: Rows
    room: tuple[float, float]
    until: float

    def __len__(self) -> int:
        return len(self.kind)


def places(pool: Pool, openings: Openings, now: float) -> Places:
    """All places of a queue; valid until its workers change, or `until`."""
    flavor, free_at = pool.worker_flavor[pool.pe_worker], np.maximum(pool.free_at, now)
    since = pool.idle_since[pool.pe_worker]
    idle = ~np.isnan(since)
    kind = np.where(idle, int(Kind.IDLE), int(Kind.ACTIVE))
    order = np.lexsort((np.where(idle, -since, 0.0), free_at, flavor, kind))
    kind, flavor, free_at = kind[order], flavor[order], free_at[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (
        (free_at[1:] != free_at[:-1]) | (flavor[1:] != flavor[:-1]) | (kind[1:] != kind[:-1])
    )
    first = np.flatnonzero(fresh)
    busy = free_at[free_at > now]
    groups, new = len(first), len(openings.flavor)
    none, no_delay = np.full(new, NOBODY), np.zeros(groups)
    flavors = pool.flavors
    return Places(
        pool=pool,
        kind=np.concatenate([kind[first], np.full(new, int(Kind.NEW))]),
        flavor=np.concatenate([flavor[first], openings.flavor]),
        free_at=np.concatenate([free_at[first], np.full(new, -np.inf)]),
        delay=np.concatenate([no_delay, flavors.start_seconds[openings.flavor]]),
        start_cost=np.concatenate([no_delay.astype(np.int64), flavors.start_cost[openings.flavor]]),
        count=np.concatenate([np.diff(first, append=len(order)), np.ones(new, dtype=np.intp)]),
        pe=np.concatenate([order[first], none]),
        host=np.concatenate([np.full(groups, NOBODY), openings.host]),
        order=order,
        place=np.cumsum(fresh) - 1,
        room=_room_everywhere(pool, openings),
        until=float(busy.min()) if len(busy) else np.inf,
    )


def _room_everywhere(pool: Pool, openings: Openings) -> tuple[float, float]:
    """What the tasks of the other PEs leave in any case, where they leave least."""
    flavors = pool.flavors
    least = []
    for axis, whole in enumerate((flavors.memory_mib, flavors.disk_gib)):
        left = (whole[pool.worker_flavor] - pool.worker_most[axis])[pool.pe_worker]
        rooms = np.concatenate([left + pool.own_most[axis], whole[openings.flavor]])
        least.append(float(rooms.min(initial=np.inf)))
    return least[0], least[1]
