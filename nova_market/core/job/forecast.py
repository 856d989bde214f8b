# SPDX-License-Identifier: Apache-2.0
"""What is free for one more job, now and later, behind all that runs and waits.

For offers of jobs (rules O1 and O2 of doc/source/specs/tender.rst) on the calendar of rule C1 and the
expected starts of rule J6. A pass makes it, the service publishes it as a document, and whoever makes offers
reads it. Seconds since the epoch, cores, MiB, GiB.

A job that waits without an expected start stands in no calendar; so there is no forecast for the jobs that
would come behind it in its queue. The use of a queue's share is that at the end of the pass: when it will be
less is not forecast.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nova_market.core.calendar.calendar import Calendar
from nova_market.core.job.pass_input import PassInput
from nova_market.core.job.pe_line import Line, served, turns
from nova_market.core.job.policy_interface import JobPlan
from nova_market.core.job.queue import TENDER
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import hosts_of
from nova_market.core.job.share_use import ROUNDING, capacity_of, used
from nova_market.core.job.start_time import START_SECONDS
from nova_market.core.job.started import after
from nova_market.core.resource import Array, Flags

NO_DELAY = (ReasonCode.NONE, ReasonCode.HELD, ReasonCode.NEVER, ReasonCode.NOT_BEFORE)
"""Jobs that wait for this are not in the way of others."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PeLine:
    """Workers of one flavor of a tender queue. idle: how many are free; busy: when the others are, ascending

    It is behind all that was promised them; nobody begins before the one who was promised one last.
    waiting: how many jobs wait in the line. Of a worker that is made since, they have the first use
    """

    idle: int = 0
    waiting: int = 0
    busy: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TenderForecast:
    """Of a tender queue. lines: by flavor; workers: all that it has, those counted that are still to be made

    prices:   of a core, a MiB and a GiB, micro-credits for an hour
    handover: seconds from the end of a job until the next one runs on its worker
    """

    prices: tuple[float, float, float]
    lines: Mapping[str, PeLine] = field(default_factory=dict)
    workers: int = 0
    handover: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueForecast:
    """unplaced: production jobs that wait, have no expected start, and do not wait for the share
    over_share: those that wait for the share
    left:       cores and MiB that its production jobs may take more until its share is reached
    """

    unplaced: int = 0
    over_share: int = 0
    left: tuple[float, float] = (math.inf, math.inf)
    tender: TenderForecast | None = None
    """None: of a queue with another policy."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Forecast:
    """at: of the pass; calendar: of all hosts; aggregates: (hosts,) that can be used, by name, '' = of all
    starts: seconds from the decision to make a worker until its job runs, by flavor (core.job.start_time)
    start_seconds: the same of other flavors; names: of the hosts
    handover: seconds from a decision until a worker that is idle runs its job
    """

    at: float
    calendar: Calendar
    aggregates: Mapping[str, Flags]
    queues: Mapping[str, QueueForecast] = field(default_factory=dict)
    start_seconds: float = START_SECONDS
    starts: Mapping[str, float] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    handover: float = 0.0

    def start_of(self, flavor: str) -> float:
        """In which a new worker of this flavor starts."""
        return self.starts.get(flavor, self.start_seconds)


def forecast_of(
    seen: PassInput, plan: JobPlan, calendar: Calendar, start_seconds: float = START_SECONDS
) -> Forecast:
    """What one pass leaves. calendar: core.job.expected_start.Expectation's."""
    snapshot, expected = seen.snapshot, plan.expected_start
    waits = ~snapshot.waiting.best_effort & ~np.isin(plan.code, NO_DELAY)
    if expected is not None:
        waits &= np.isnan(expected)
    shared = waits & (plan.code == ReasonCode.SHARE)
    rows, number = snapshot.waiting.queue, len(seen.queues)
    over = np.bincount(rows[shared], minlength=number)
    unplaced = np.bincount(rows[waits & ~shared], minlength=number)
    left = _left(seen, plan)
    tenders = _tenders(seen, plan)
    return Forecast(
        at=snapshot.now,
        calendar=calendar,
        aggregates={
            # what ends on a host that is lost makes no room for others
            name: seen.room.aggregates[row] & seen.room.open
            for name, row in seen.room.aggregate_row.items()
        },
        queues={
            one.id: QueueForecast(
                unplaced=int(unplaced[row]),
                over_share=int(over[row]),
                left=(float(left[0, row]), float(left[1, row])),
                tender=tenders.get(row),
            )
            for row, one in enumerate(seen.queues)
        },
        start_seconds=start_seconds,
        names=seen.room.names,
    )


def binds(policy: str, time_limit: float, short_below: float) -> bool:
    """Whether the share binds a production job of this length: long ones, and under two policies all."""
    return policy in ('rigid', TENDER) or time_limit >= short_below


def document_of(forecast: Forecast) -> dict[str, Any]:
    """As JSON has it."""
    calendar = forecast.calendar
    return {
        'at': forecast.at,
        'offsets': calendar.offsets.tolist(),
        'times': [None if math.isinf(one) else one for one in calendar.times.tolist()],
        'free': calendar.free.tolist(),
        'largest': calendar.largest.tolist(),
        'aggregates': {
            name: np.flatnonzero(rows).tolist() for name, rows in forecast.aggregates.items()
        },
        'queues': {
            name: [
                one.unplaced,
                one.over_share,
                *(_finite(left) for left in one.left),
                _tender_document(one.tender),
            ]
            for name, one in forecast.queues.items()
        },
        'start_seconds': forecast.start_seconds,
        'handover': forecast.handover,
        'starts': dict(forecast.starts),
        'names': list(forecast.names),
    }


def forecast_from(document: Mapping[str, Any]) -> Forecast | None:
    """The inverse; None of {}: nothing was published yet."""
    if not document:
        return None
    times = [-math.inf if one is None else one for one in document['times']]
    calendar = Calendar(
        offsets=np.array(document['offsets'], dtype=np.intp),
        times=np.array(times, dtype=np.float64),
        free=np.array(document['free'], dtype=np.float64),
        largest=np.array(document['largest'], dtype=np.float64),
    )
    return Forecast(
        at=float(document['at']),
        calendar=calendar,
        aggregates={
            name: _flags(rows, calendar.hosts) for name, rows in document['aggregates'].items()
        },
        queues={
            name: QueueForecast(
                unplaced=unplaced,
                over_share=over,
                left=(_or_inf(a), _or_inf(b)),
                # documents of the version before have no more
                tender=_tender_from(more[0]) if more else None,
            )
            for name, (unplaced, over, a, b, *more) in document['queues'].items()
        },
        start_seconds=float(document['start_seconds']),
        # older services did not write it
        handover=float(document.get('handover', 0.0)),
        starts=dict(document.get('starts', {})),
        names=tuple(document.get('names', ())),
    )


def _left(seen: PassInput, plan: JobPlan) -> Array:
    """(COUNTED, queues): what is left of the shares after what starts now."""
    snapshot = after(seen.snapshot, plan.placement, plan.starts)
    queues, hosts = snapshot.queues, snapshot.hosts
    part = queues.share + ROUNDING - used(snapshot.running, queues, hosts)
    whole: Array = np.maximum(part, 0.0) * capacity_of(hosts)[:, queues.aggregate]
    return whole


def _tenders(seen: PassInput, plan: JobPlan) -> dict[int, TenderForecast]:
    """By row of the queue."""
    snapshot, facts = seen.snapshot, seen.tender
    if not any(one.is_tender for one in seen.queues):
        return {}
    hosts = hosts_of(plan.placement)
    begun = {row: hosts[row] for row in plan.starts.tolist()}
    limits = snapshot.waiting.time_limit.tolist()
    lines = served(snapshot.lines, begun, limits, snapshot.now)
    servers = snapshot.waiting.servers.tolist()
    return {
        row: TenderForecast(
            prices=facts.prices[one.id],
            lines={
                line.flavor: _pe_line(line, servers, limits, snapshot.now)
                for line in lines
                if line.queue == row
            },
            workers=sum(
                line.workers + sum(int(servers[job]) for job in line.new)
                for line in lines
                if line.queue == row
            ),
            handover=facts.handover,
        )
        for row, one in enumerate(seen.queues)
        if one.is_tender and one.id in facts.prices
    }


def _pe_line(line: Line, servers: Sequence[int], limits: Sequence[float], now: float) -> PeLine:
    """Behind the jobs that wait in it."""
    free_at = line.free_at(now)
    found = turns(free_at, [(servers[row], limits[row]) for row in line.jobs], line.handover)
    begin = now + line.handover
    free = np.maximum(np.sort(np.array(found.free_at, dtype=np.float64)), found.last)
    # those whose job is past its limit are not idle
    idle = min(int((free <= begin).sum()), len(line.idle))
    return PeLine(idle=idle, waiting=len(line.jobs), busy=free[idle:])


def _tender_document(tender: TenderForecast | None) -> dict[str, Any] | None:
    if tender is None:
        return None
    return {
        'prices': list(tender.prices),
        'lines': {
            name: [one.idle, one.waiting, one.busy.tolist()] for name, one in tender.lines.items()
        },
        'workers': tender.workers,
        'handover': tender.handover,
    }


def _tender_from(document: Mapping[str, Any] | None) -> TenderForecast | None:
    if document is None:
        return None
    core, memory, disk = document['prices']
    return TenderForecast(
        prices=(core, memory, disk),
        lines={
            name: PeLine(idle=idle, waiting=waiting, busy=np.array(busy, dtype=np.float64))
            for name, (idle, waiting, busy) in document['lines'].items()
        },
        workers=int(document['workers']),
        handover=float(document['handover']),
    )


def _flags(rows: Sequence[int], hosts: int) -> Flags:
    found = np.zeros(hosts, dtype=np.bool_)
    found[rows] = True
    return found


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else float(value)
