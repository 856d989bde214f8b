# SPDX-License-Identifier: Apache-2.0
"""What is free during an interval, and when a request can start, on each host.

Implements rule C1 of doc/source/specs/calendar.rst. Units: seconds, amounts in the units of AXES. Each
function is a constant number of numpy passes over the segments of a calendar.

A request that starts at t occupies [t, t + duration); it fits when that much is free in every segment that
the interval touches. The starts that are possible on a host are therefore closed intervals, one for each
longest run of segments in which the request fits.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.booking import Request
from nova_market.core.calendar.calendar import Calendar, touched
from nova_market.core.resource import Array, Flags, Rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StartIntervals:
    """Possible starts: from first[i] to last[i], both included, on host[i]; by host, then by time."""

    host: Rows
    first: Array
    last: Array


def least_free(calendar: Calendar, start: float, end: float) -> Array:
    """(AXES, hosts): what is free on each host during the whole of [start, end), start < end."""
    if not calendar.hosts:
        return np.zeros((len(calendar.free), 0))
    cuts = _cuts(calendar, start, end)
    least: Array = np.minimum.reduceat(calendar.free, cuts, axis=1)[:, ::2]
    return least


def start_intervals(calendar: Calendar, request: Request, servers: int = 1) -> StartIntervals:
    """All possible starts on each host. servers: so many of them at once, on the same host."""
    return _intervals(calendar, _fitting(calendar, request.amounts, servers), request)


def earliest_starts(calendar: Calendar, request: Request, servers: int = 1) -> Array:
    """(hosts,): the earliest start on each host, inf where there is none. servers: on the same host."""
    found = start_intervals(calendar, request, servers)
    earliest = np.full(calendar.hosts, np.inf)
    # of several assignments to one host the last one counts
    earliest[found.host[::-1]] = found.first[::-1]
    return earliest


def free_until(calendar: Calendar, amounts: Array, start: float) -> Array:
    """(hosts,): from `start` on the amounts (AXES,) are free without a gap until then; -inf: not even then.

    What backfilling asks: a job may start now where its time limit ends by that time.
    """
    host, begin, end = _runs(calendar, _fitting(calendar, amounts, 1))
    now = (begin <= start) & (start < end)
    until = np.full(calendar.hosts, -np.inf)
    until[host[now]] = end[now]
    return until


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GangStart:
    """start: of all servers; hosts: (servers,) the host of each, in the order of preference"""

    start: float
    hosts: Rows


def earliest_gang(
    calendar: Calendar,
    request: Request,
    servers: int,
    most_per_host: int | None = None,
    preferred: Rows | None = None,
) -> GangStart | None:
    """The earliest time at which so many servers can start together; None: there is none.

    most_per_host: 1 puts each on another host; None: no limit
    preferred: the rows of hosts that may be used, filled in this order; None: all, from the first row on

    The number that fits on a host changes only between segments, and so the number that can *start* grows
    only where a run of segments with room for k servers begins: these times are the candidates.
    """
    most = servers if most_per_host is None else min(servers, most_per_host)
    fitting = _how_many(calendar, request.amounts, most)
    order = np.arange(calendar.hosts) if preferred is None else preferred
    if len(order) < calendar.hosts:
        usable = np.zeros(calendar.hosts, dtype=np.bool_)
        usable[order] = True
        fitting[~usable[calendar.host]] = 0
    first, last, weight = _by_level(calendar, fitting, request)
    opening, closing = np.argsort(first, kind='stable'), np.argsort(last, kind='stable')
    times = first[opening]
    opened = np.cumsum(weight[opening])[np.searchsorted(times, times, side='right') - 1]
    closed = np.concatenate([[0], np.cumsum(weight[closing])])
    open_then = opened - closed[np.searchsorted(last[closing], times, side='left')]
    enough = np.flatnonzero(open_then >= servers)
    if not len(enough):
        return None
    start = float(times[enough[0]])
    each = _least_of(calendar, fitting, start, start + request.duration)
    return GangStart(start=start, hosts=np.repeat(order, each[order])[:servers])


def how_many(calendar: Calendar, amounts: Array, start: float, end: float, most: int) -> Rows:
    """(hosts,): how many servers of these amounts fit on each host in all of [start, end), at most `most`."""
    return _least_of(calendar, _how_many(calendar, amounts, most), start, end)


def _by_level(calendar: Calendar, fitting: Rows, request: Request) -> tuple[Array, Array, Rows]:
    """First and last start of each run with room for at least k servers, and how many k that stands for."""
    levels = np.flatnonzero(np.bincount(fitting)[1:]) + 1
    firsts, lasts, weights = [], [], []
    for level, weight in zip(levels, np.diff(levels, prepend=0), strict=True):
        found = _intervals(calendar, fitting >= level, request)
        firsts.append(found.first)
        lasts.append(found.last)
        weights.append(np.full(len(found.first), weight, dtype=np.intp))
    empty = np.empty(0)
    return (
        np.concatenate([empty, *firsts]),
        np.concatenate([empty, *lasts]),
        np.concatenate([empty.astype(np.intp), *weights]),
    )


def _fitting(calendar: Calendar, amounts: Array, servers: int) -> Flags:
    """(segments,): are so many servers of these amounts free there?"""
    fine = np.ones(len(calendar.times), dtype=np.bool_)
    for axis in np.flatnonzero(amounts):
        fine &= calendar.free[axis] >= servers * amounts[axis]
    small = _too_small(calendar, amounts)
    if small.any():
        fine &= ~small[calendar.host]
    return fine


def _how_many(calendar: Calendar, amounts: Array, most: int) -> Rows:
    """(segments,): how many servers of these amounts are free there, at most `most`."""
    count = np.full(len(calendar.times), float(most))
    for axis in np.flatnonzero(amounts):
        np.minimum(count, np.floor(calendar.free[axis] / amounts[axis]), out=count)
    small = _too_small(calendar, amounts)
    if small.any():
        count[small[calendar.host]] = 0.0
    whole: Rows = np.maximum(count, 0.0).astype(np.intp)
    return whole


def _least_of(calendar: Calendar, counts: Rows, start: float, end: float) -> Rows:
    """(hosts,): the least of these counts of segments during [start, end)."""
    if not calendar.hosts:
        return counts
    least: Rows = np.minimum.reduceat(counts, _cuts(calendar, start, end))[::2]
    return least


def _too_small(calendar: Calendar, amounts: Array) -> Flags:
    """(hosts,): may no server of these amounts be there, whatever is free?"""
    small: Flags = np.asarray((calendar.largest < amounts[:, None]).any(axis=0))
    return small


def _intervals(calendar: Calendar, fitting: Flags, request: Request) -> StartIntervals:
    host, begin, end = _runs(calendar, fitting)
    first = np.maximum(begin, request.earliest)
    limit = np.minimum(end, request.finish)
    fine = first + request.duration <= limit
    host, first, limit = host[fine], first[fine], limit[fine]
    last = np.full(len(limit), np.inf)
    known = np.isfinite(limit)
    last[known] = limit[known] - request.duration
    return StartIntervals(host=host, first=first, last=last)


def _runs(calendar: Calendar, fitting: Flags) -> tuple[Rows, Array, Array]:
    """Host, begin and end of each longest run of segments with the flag."""
    before, after = np.zeros_like(fitting), np.zeros_like(fitting)
    before[1:], after[:-1] = fitting[:-1], fitting[1:]
    before[calendar.offsets[:-1]] = False
    after[calendar.offsets[1:] - 1] = False
    first = np.flatnonzero(fitting & ~before)
    last = np.flatnonzero(fitting & ~after)
    # behind the last segment of a host stands the first one of the next, at -inf
    end = np.append(calendar.times, -np.inf)[last + 1]
    end[np.isneginf(end)] = np.inf
    return calendar.host[first], calendar.times[first], end


def _cuts(calendar: Calendar, start: float, end: float) -> Rows:
    """For reduceat: every other one of its results is of the segments of a host that touch [start, end)."""
    hosts = np.arange(calendar.hosts)
    low, high = touched(calendar, hosts, np.full(len(hosts), start), np.full(len(hosts), end))
    cuts = np.stack([low, high + 1], axis=1).ravel()
    # reduceat takes no index behind the last element, and needs none
    return cuts[:-1] if cuts[-1] == len(calendar.times) else cuts
