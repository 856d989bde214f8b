# SPDX-License-Identifier: Apache-2.0
"""All offers that a queue can make for a task now.

Implements INRIA RR-7837, section 3.3.2, eq. (1) to (4), and rules O1 and T2 of
doc/source/specs/tender.rst:

    seconds = work / speed                      on a PE that is free                        (step 1)
              wait + work / speed               on one that is busy, eq. (2)
              V_start + work / speed            on a new worker, eq. (3)

Equal offers are one offer with a count: of thousands of idle workers of one flavor one answer is enough.

Seconds count from the acceptance of the offer, as in the paper (A_TIME). Units and rows as in pool.py
and cost.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.core.tender.cost import Charging, Prices, task_costs
from nova_market.core.tender.place import Places
from nova_market.core.tender.task import Task
from nova_market.core.tender.worker_room import has_room

LONGEST = 1e10
"""Seconds, 300 years: an offer that takes longer is not made."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Offers:
    """One row for each group of equal offers, by kind, flavor and seconds. All (offers,).

    cost:    micro-credits
    seconds: from acceptance to the end of the task
    kind, flavor: Kind of place; row of the flavor
    count:   PEs (or, of a new worker, 1) that this offer can be had from
    pe:      the one that is used first; NOBODY for a new worker
    host:    of a new worker; NOBODY otherwise
    source:  row of the queue or cloud that made it, of several (O5); 0 for one alone
    """

    cost: Values
    seconds: Array
    kind: Rows
    flavor: Rows
    count: Rows
    pe: Rows
    host: Rows
    source: Rows

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, rows: Rows | Flags) -> 'Offers':
        """Some of them, in this order."""
        return Offers(
            cost=self.cost[rows],
            seconds=self.seconds[rows],
            kind=self.kind[rows],
            flavor=self.flavor[rows],
            count=self.count[rows],
            pe=self.pe[rows],
            host=self.host[rows],
            source=self.source[rows],
        )


def offers_for(
    task: Task,
    places: Places,
    prices: Prices,
    now: float,
    charging: Charging = Charging.PER_SECOND,
) -> Offers:
    """Every way to run the task that there is now, before places.until; none of them is a booking."""
    flavors, flavor = places.pool.flavors, places.flavor
    seconds = np.maximum(places.free_at - now, 0.0) + places.delay
    seconds += (task.work / flavors.speed)[flavor]
    cost = task_costs(task, flavors, prices, charging)[flavor] + places.start_cost
    known = (cost <= MAX_AMOUNT) & (seconds <= LONGEST)
    all_known = bool(known.all())
    offers = Offers(
        cost=(cost if all_known else np.where(known, cost, 0.0)).astype(np.int64),
        seconds=seconds,
        kind=places.kind,
        flavor=flavor,
        count=places.count,
        pe=places.pe,
        host=places.host,
        source=np.zeros(len(cost), dtype=np.intp),
    )
    if task.memory_mib > places.room[0] or task.disk_gib > places.room[1]:
        count, pe = _with_room(task, places, now)
        offers, known = replace(offers, count=count, pe=pe), known & (count > 0)
        return offers.take(known)
    return offers if all_known else offers.take(known)


def merged(answers: Sequence[Offers]) -> Offers:
    """Offers of several queues or clouds, at least one; source: the row of the answer each is from."""
    if len(answers) == 1:
        return answers[0]
    counts = [len(one) for one in answers]
    return replace(joined(answers), source=np.repeat(np.arange(len(answers)), counts))


def joined(answers: Sequence[Offers]) -> Offers:
    """All of them, each with the source that it has."""
    return Offers(
        cost=np.concatenate([one.cost for one in answers]),
        seconds=np.concatenate([one.seconds for one in answers]),
        kind=np.concatenate([one.kind for one in answers]),
        flavor=np.concatenate([one.flavor for one in answers]),
        count=np.concatenate([one.count for one in answers]),
        pe=np.concatenate([one.pe for one in answers]),
        host=np.concatenate([one.host for one in answers]),
        source=np.concatenate([one.source for one in answers]),
    )


def _with_room(task: Task, places: Places, now: float) -> tuple[Rows, Rows]:
    """(places,) how many PEs of each have room for the task, and the first of them."""
    pool, groups = places.pool, len(places) - int((places.host >= 0).sum())
    flavors, new = pool.flavors, places.flavor[groups:]
    begin = np.maximum(pool.free_at, now)
    run = (task.work / flavors.speed)[pool.worker_flavor[pool.pe_worker]]
    fits = np.flatnonzero(has_room(pool, task, begin, begin + run)[places.order])
    place, first, number = np.unique(places.place[fits], return_index=True, return_counts=True)
    count, pe = np.zeros_like(places.count), places.pe.copy()
    count[place], pe[place] = number, places.order[fits[first]]
    count[groups:] = (task.memory_mib <= flavors.memory_mib[new]) & (
        task.disk_gib <= flavors.disk_gib[new]
    )
    return count, pe
