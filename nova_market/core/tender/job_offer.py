# SPDX-License-Identifier: Apache-2.0
"""Offers for a job in a queue: what it would cost, and when it would be done, on each flavor.

Implements INRIA RR-7837, section 3.2, and rules O1 to O3 of doc/source/specs/tender.rst on the calendar of
rule C1. An offer is for the time limit of the job, at the queue's price of a core and an hour; it begins at
the earliest time at which there is room behind all that runs and waits (core.job.forecast), and behind what
was promised since then. Seconds, cores, MiB, GiB, micro-credits.

    seconds = wait + time limit                on idle workers of the queue, or behind what runs
              wait + start + time limit        on new workers

Differs from the paper: a job takes whole servers for its time limit, and all there is free is seen at once,
where the paper looks at each PE; one offer stands for all of the places of a flavor (count).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.booking import Request, bookings, request
from nova_market.core.calendar.calendar import Calendar, booked
from nova_market.core.calendar.start import GangStart, earliest_gang, how_many
from nova_market.core.job.forecast import Forecast, QueueForecast, binds
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.request import Size, most_cost
from nova_market.core.ledger.money import MAX_AMOUNT, credit_text
from nova_market.core.resource import Rows
from nova_market.core.tender.offer import LONGEST, Offers
from nova_market.core.tender.place import NOBODY, Kind

MOST_PLACES = 1000
"""As many equal places are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNeed:
    """What a job needs. flavors: by name, with what a server of each takes, the preferred one first

    deadline: the job is done by then; inf: at any time
    """

    flavors: Mapping[str, Size]
    servers: int
    time_limit: int
    deadline: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Servers that were promised room since the forecast: behind them comes whoever asks now.

    queue_id, flavor, servers: whose idle workers they take
    how:   of a tender queue: where; until: when they are free again, at the latest; 0: it is not accepted yet
    """

    queue_id: str
    flavor: str
    size: Size
    servers: int
    time_limit: int
    how: Kind = Kind.NEW
    until: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JobOffers:
    """offers: `flavor` is the row in the need's flavors, `host` and `pe` are NOBODY
    why: a sentence for each flavor without an offer, or one for all of them
    """

    offers: Offers
    why: tuple[str, ...]


def job_offers(
    need: JobNeed,
    queue: StoredQueue,
    forecast: Forecast,
    *,
    idle: Mapping[str, int],
    promises: Sequence[Promise] = (),
    calendar: Calendar | None = None,
    now: float,
) -> JobOffers:
    """All offers that can be made now.

    idle:     workers of the queue without a job, by flavor
    calendar: the forecast's behind the promises; None: it is made here
    """
    ahead = forecast.queues.get(queue.id)
    if (refusal := _not_forecast(need, queue, ahead)) is not None:
        return no_offers(refusal)
    assert ahead is not None
    if calendar is None:
        calendar = behind(promises, forecast.calendar, now)
    mine = [one for one in promises if one.queue_id == queue.id]
    rows: list[tuple[int, float, Kind, int, int]] = []
    why: list[str] = []
    for row, flavor in enumerate(need.flavors):
        spare = idle.get(flavor, 0) - sum(one.servers for one in mine if one.flavor == flavor)
        found = _offer(need, flavor, queue, ahead, forecast, calendar, spare, now)
        if isinstance(found, str):
            why.append(f'{flavor}: {found}')
        else:
            rows.append((*found, row))
    return JobOffers(offers=columns(rows), why=tuple(why))


def no_offers(why: str) -> JobOffers:
    """None, for this reason."""
    return JobOffers(offers=columns([]), why=(why,))


def behind(promises: Sequence[Promise], calendar: Calendar, now: float) -> Calendar:
    """The calendar with what was promised since, each at its earliest start, in the order of promising."""
    for one in promises:
        wanted = request(one.size, one.time_limit, now)
        found = earliest_gang(calendar, wanted, one.servers)
        if found is None:
            continue
        count = len(found.hosts)
        taken = bookings(
            host=found.hosts,
            start=np.full(count, found.start),
            end=np.full(count, found.start + wanted.duration),
            amounts=wanted.amounts[:, None] * np.ones(count),
        )
        calendar = booked(calendar, taken)
    return calendar


def _not_forecast(need: JobNeed, queue: StoredQueue, ahead: QueueForecast | None) -> str | None:
    """Why nobody knows when a job of this queue would start; None: it is known."""
    if ahead is None:
        return f'queue {queue.name} was made since the last pass: ask again in some seconds'
    if ahead.unplaced:
        return f'{ahead.unplaced} jobs of queue {queue.name} wait, and when they start is not known'
    if ahead.over_share and binds(queue.policy, need.time_limit, queue.short_below):
        return (
            f'{ahead.over_share} jobs of queue {queue.name} wait until its use is below its share'
        )
    return None


def _offer(
    need: JobNeed,
    flavor: str,
    queue: StoredQueue,
    ahead: QueueForecast,
    forecast: Forecast,
    calendar: Calendar,
    idle: int,
    now: float,
) -> tuple[int, float, Kind, int] | str:
    """Cost, seconds, kind and count; or why there is none."""
    size = need.flavors[flavor]
    cost = most_cost(queue, size, need.servers, need.time_limit)
    if cost > MAX_AMOUNT:
        return f'costs more than an account can hold, {credit_text(MAX_AMOUNT)} credits'
    whole = (size[0] * need.servers, size[1] * need.servers)
    bound = binds(queue.policy, need.time_limit, queue.short_below)
    if bound and any(taken > left for taken, left in zip(whole, ahead.left, strict=True)):
        return (
            f'the share of queue {queue.name} leaves {ahead.left[0]:g} cores and {ahead.left[1]:.0f} MiB, it '
            f'takes {whole[0]:g} and {whole[1]:g}'
        )
    usable = forecast.aggregates.get(queue.aggregate)
    hosts = np.flatnonzero(usable) if usable is not None else np.empty(0, dtype=np.intp)
    wanted = request(size, need.time_limit, now)
    start = earliest_gang(calendar, wanted, need.servers, preferred=hosts)
    if start is None:
        return f'no hosts will have room for {need.servers} such servers'
    # not start - now: starts are on the calendar's grid, and by rounding an offer would be gone at once
    at_once = start.start <= wanted.earliest
    wait = 0.0 if at_once else max(start.start - now, 0.0)
    kind = _kind(at_once, idle >= need.servers and queue.reuse)
    seconds = wait + forecast.handover + need.time_limit
    seconds += forecast.start_of(flavor) if kind is Kind.NEW else 0.0
    if seconds > LONGEST:
        return f'it would be done in {seconds:.0f} s: offers are for at most {LONGEST:.0f} s'
    if now + seconds > need.deadline:
        return f'it would be done {now + seconds - need.deadline:.0f} s after the deadline'
    if kind is Kind.IDLE:
        return cost, seconds, kind, idle // need.servers
    return cost, seconds, kind, places_at(calendar, wanted, need.servers, hosts, start)


def _kind(at_once: bool, idle: bool) -> Kind:
    if not at_once:
        return Kind.ACTIVE
    return Kind.IDLE if idle else Kind.NEW


def places_at(
    calendar: Calendar, wanted: Request, servers: int, hosts: Rows, start: GangStart
) -> int:
    """How many such jobs could start then."""
    end = start.start + wanted.duration
    each = how_many(calendar, wanted.amounts, start.start, end, MOST_PLACES)
    return max(int(each[hosts].sum()) // servers, 1)


def columns(rows: Sequence[tuple[int, float, Kind, int, int]]) -> Offers:
    cost, seconds, kind, count, flavor = zip(*rows, strict=True) if rows else ([],) * 5
    nobody = np.full(len(rows), NOBODY, dtype=np.intp)
    return Offers(
        cost=np.array(cost, dtype=np.int64),
        seconds=np.array(seconds, dtype=np.float64),
        kind=np.array([int(one) for one in kind], dtype=np.intp),
        flavor=np.array(flavor, dtype=np.intp),
        count=np.array(count, dtype=np.intp),
        pe=nobody,
        host=nobody,
        source=np.zeros(len(rows), dtype=np.intp),
    )
