# SPDX-License-Identifier: Apache-2.0
"""Offers of a tender queue for a job: on its idle workers, behind what they have to do, on new ones.

Implements INRIA RR-7837, sections 3.2 and 3.3.2, eq. (1) to (4), and rules O1, O3 and T2 of
doc/source/specs/tender.rst, with core.tender's pool, places and offers. A job takes whole workers for its
time limit: a PE is a worker here, and one of n servers takes n of them at once, so that a place is n workers
of one flavor that are free at the same time.

    seconds = handover + time limit               on idle workers
              wait + time limit                   behind the jobs of busy ones, eq. (2)
              handover + start + time limit       on new ones, eq. (3)

    cost = (P_core * cores + P_memory * MiB + P_disk * GiB) * servers * time limit, eq. (1)

The offers that are made for each flavor are the soonest of each kind, as all of a kind cost the same. What
was promised since the forecast is behind it. Seconds, cores, MiB, GiB, micro-credits.
"""

import math
from collections.abc import Sequence

import numpy as np

from nova_market.core.calendar.booking import request
from nova_market.core.calendar.calendar import Calendar
from nova_market.core.calendar.start import earliest_gang
from nova_market.core.job.charge import HOUR
from nova_market.core.job.forecast import Forecast, PeLine, QueueForecast, TenderForecast
from nova_market.core.job.pe_line import turns
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.request import Size
from nova_market.core.ledger.money import MAX_AMOUNT, credit_text
from nova_market.core.resource import Array, Rows
from nova_market.core.tender.cost import Prices
from nova_market.core.tender.job_offer import (
    JobNeed,
    JobOffers,
    Promise,
    columns,
    places_at,
)
from nova_market.core.tender.offer import LONGEST, Offers, offers_for
from nova_market.core.tender.place import Kind, Openings, places
from nova_market.core.tender.pool import Pool, Queued, WorkerFlavors, pool
from nova_market.core.tender.task import Task

Row = tuple[int, float, Kind, int, int]
"""Cost, seconds, kind, count, row of the flavor."""


def queue_offers(
    need: JobNeed,
    queue: StoredQueue,
    forecast: Forecast,
    *,
    promises: Sequence[Promise] = (),
    calendar: Calendar,
    now: float,
) -> JobOffers:
    """All offers of a tender queue.

    promises: of this queue, made since the forecast, in the order of their acceptance
    calendar: the forecast's, behind all promises that take room of their own
    """
    ahead = forecast.queues.get(queue.id)
    if ahead is None or ahead.tender is None:
        reason = (
            f'queue {queue.name} has its policy since the last pass only: ask again in some seconds'
        )
        return JobOffers(offers=columns([]), why=(reason,))
    rows: list[Row] = []
    why: list[str] = []
    for row, (flavor, size) in enumerate(need.flavors.items()):
        room = _room(need, size, queue, ahead, forecast, calendar, promises, now)
        free, idle = _free(ahead.tender, flavor, promises, now)
        if isinstance(room, str):
            # nothing more may start now: idle workers stay idle
            free, idle = free[idle:], 0
        new = _new(need, queue, ahead.tender, room, promises)
        delay = forecast.start_of(flavor) + ahead.tender.handover
        found = _flavor_offers(need, size, free, idle, new, ahead.tender, delay, now)
        made, problem = _in_time(found, need, row, (room, new), now)
        rows.extend(made)
        if not made:
            why.append(f'{flavor}: {problem}')
    return JobOffers(offers=columns(rows), why=tuple(why))


def _room(
    need: JobNeed,
    size: Size,
    queue: StoredQueue,
    ahead: QueueForecast,
    forecast: Forecast,
    calendar: Calendar,
    mine: Sequence[Promise],
    now: float,
) -> int | str:
    """How many such jobs can start now beside those that run; why none can."""
    assert ahead.tender is not None
    begun = [one for one in mine if one.how is not Kind.ACTIVE]
    limits = [math.inf]
    for axis, noun in enumerate(('cores', 'MiB')):
        taken = sum(one.size[axis] * one.servers for one in begun)
        left, whole = ahead.left[axis] - taken, size[axis] * need.servers
        if whole > left:
            return f'the share of queue {queue.name} leaves {max(left, 0.0):g} {noun}, it takes {whole:g}'
        limits.append(left // whole if whole > 0 else math.inf)
    usable = forecast.aggregates.get(queue.aggregate)
    hosts = np.flatnonzero(usable) if usable is not None else np.empty(0, dtype=np.intp)
    wanted = request(size, need.time_limit, now)
    start = earliest_gang(calendar, wanted, need.servers, preferred=hosts)
    if start is None or start.start > wanted.earliest:
        return f'no host has room for {need.servers} more of its servers now'
    return max(int(min(places_at(calendar, wanted, need.servers, hosts, start), *limits)), 1)


def _new(
    need: JobNeed,
    queue: StoredQueue,
    tender: TenderForecast,
    room: int | str,
    mine: Sequence[Promise],
) -> int:
    """How many such jobs can have new workers: max_running is of workers, so that each can run a job."""
    most = queue.limits.max_running
    if isinstance(room, str) or most is None:
        return 0 if isinstance(room, str) else room
    made = tender.workers + sum(one.servers for one in mine if one.how is Kind.NEW)
    return min(room, max(most - made, 0) // need.servers)


def _free(
    tender: TenderForecast, flavor: str, mine: Sequence[Promise], now: float
) -> tuple[Array, int]:
    """((workers,) when a job can begin on each of them, ascending; how many of them are idle)."""
    line, begin = tender.lines.get(flavor, PeLine()), now + tender.handover
    free = [begin] * line.idle + np.maximum(line.busy, begin).tolist()
    of_flavor = [one for one in mine if one.flavor == flavor]
    if not line.waiting:
        # those that wait in the line have the first use of a worker that is made: who comes now may not
        # count on it before the next pass
        for one in of_flavor:
            if one.how is Kind.NEW and one.until:
                free += [one.until + tender.handover] * one.servers
    waiting = [one for one in of_flavor if one.how is not Kind.NEW]
    idle = line.idle - sum(one.servers for one in waiting if one.how is Kind.IDLE)
    jobs = [(one.servers, float(one.time_limit)) for one in waiting]
    behind_it = turns(free, jobs, tender.handover)
    found = np.maximum(np.sort(np.array(behind_it.free_at, dtype=np.float64)), behind_it.last)
    return found, max(min(idle, int((found <= begin).sum())), 0)


def _flavor_offers(
    need: JobNeed,
    size: Size,
    free: Array,
    idle: int,
    new: int,
    tender: TenderForecast,
    delay: float,
    now: float,
) -> Offers:
    """Of one flavor: every place, by kind and seconds. delay: of a job on a new worker"""
    servers = need.servers
    core, memory, disk = (price / HOUR * servers for price in tender.prices)
    task = Task(work=float(need.time_limit), memory_mib=size[1], disk_gib=size[2])
    prices = Prices(work=core * size[0], memory_mib=memory, disk_gib=disk)
    there = _pool(size, free, idle, servers, delay)
    opening: Rows = np.zeros(min(new, 1), dtype=np.intp)
    return offers_for(task, places(there, Openings(flavor=opening, host=opening), now), prices, now)


def _pool(
    size: Size,
    free: Array,
    idle: int,
    servers: int,
    delay: float,
) -> Pool:
    """Each PE is as many workers as the job has servers, which are free at the same time."""
    ready = free[servers - 1 :: servers]
    count = len(ready)
    flavors = WorkerFlavors(
        pes=np.ones(1, dtype=np.intp),
        speed=np.ones(1),
        memory_mib=np.array([size[1]]),
        disk_gib=np.array([size[2]]),
        start_cost=np.zeros(1, dtype=np.int64),
        start_seconds=np.array([delay]),
    )
    none = np.zeros(0)
    return pool(
        flavors,
        worker_flavor=np.zeros(count, dtype=np.intp),
        idle_since=np.where(np.arange(count) < idle // servers, 0.0, np.nan),
        pe_worker=np.arange(count, dtype=np.intp),
        ready=ready,
        queued=Queued(
            pe=np.zeros(0, dtype=np.intp), start=none, end=none, memory_mib=none, disk_gib=none
        ),
    )


def _in_time(
    offers: Offers, need: JobNeed, row: int, places_left: tuple[int | str, int], now: float
) -> tuple[list[Row], str]:
    """The soonest of each kind, if it is in time; and why there is none of them.

    places_left: for jobs that start now, or why there are none, and for those of them on new workers
    """
    room, new = places_left
    if not len(offers):
        if isinstance(room, str):
            return [], f'it has no workers for {need.servers} servers, and {room}'
        if not new:
            return (
                [],
                f'it has no workers for {need.servers} servers, and as many as its owner allows',
            )
        most = credit_text(MAX_AMOUNT)
        return [], (
            f'costs more than an account can hold, {most} credits, or takes more than {LONGEST:.0f} s'
        )
    found: list[Row] = []
    for kind in Kind:
        mine = np.flatnonzero(offers.kind == kind)
        if not len(mine):
            continue
        best = int(mine[np.argmin(offers.seconds[mine])])
        count = int(offers.count[best])
        if isinstance(room, int) and kind is not Kind.ACTIVE:
            count = new if kind is Kind.NEW else min(count, room)
        if now + offers.seconds[best] <= need.deadline:
            found.append((int(offers.cost[best]), float(offers.seconds[best]), kind, count, row))
    late = now + float(offers.seconds.min()) - need.deadline
    return found, f'it would be done {late:.0f} s after the deadline'
