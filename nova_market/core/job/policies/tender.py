# SPDX-License-Identifier: Apache-2.0
"""Who accepted an offer gets what it promised: a worker of the queue in turn, or a new one at once.

Implements INRIA RR-7837, sections 3.3.2 and 3.3.3: rule T2 of doc/source/specs/tender.rst. Jobs that were
promised a worker that was there wait for one in their line (core.job.pe_line), first in, first out; no server
is made for them, unless their line has fewer workers than they need. Jobs that were promised a new worker,
and those without a promise (their queue had another policy), start where there is room, by submission,
backfilled. Shares have limited what was offered, and bind long jobs all the same (J10). Nobody is preempted.
"""

import numpy as np

from nova_market.core.calendar.axes import CORES
from nova_market.core.job.in_order import by_submission, started_in_order
from nova_market.core.job.pe_line import Line, served, turns
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, Spot, hosts_of, most_of_any, placement_of
from nova_market.core.job.share_keeping import within_shares
from nova_market.core.job.waiting_reasons import Reasons
from nova_market.core.resource import Array, Rows


@within_shares
def tender(seen: JobSnapshot, **parameters: float) -> Selection:
    """Lines first, then what starts on new workers. parameters: of the prices (core.job.tender_terms)."""
    waiting, hosts, shapes = seen.waiting, seen.hosts, seen.shapes
    room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
    starts: list[int] = []
    spots: list[Spot] = []
    for line in seen.lines:
        idle = list(line.idle)
        for job in line.jobs:
            if not seen.candidates[job]:
                continue
            spot = _spot(seen, line, job, room, idle)
            if spot is None:
                break  # nobody overtakes the first one
            room.take(shapes.amount[:, shapes.of[job]], spot)
            starts.append(job)
            spots.append(spot)
    in_line = np.zeros(len(waiting), dtype=np.bool_)
    in_line[[job for line in seen.lines for job in line.jobs]] = True
    rows = by_submission(np.flatnonzero(seen.candidates & ~in_line), waiting)
    new, new_spots = started_in_order(rows, shapes, room)
    starts, spots = starts + new, spots + new_spots
    placement = placement_of(starts, spots)
    reasons = Reasons(len(waiting))
    left = np.setdiff1d(rows, np.array(new, dtype=np.intp))
    reasons.lack_of_room(left, shapes, hosts, room)
    _without_preemption(left, seen, room, reasons)
    expected = np.full(len(waiting), np.nan)
    for line in served(seen.lines, hosts_of(placement), waiting.time_limit.tolist(), seen.now):
        _in_turn(line, seen, reasons, expected)
    return Selection(
        starts=np.array(starts, dtype=np.intp),
        placement=placement,
        code=reasons.code,
        numbers=reasons.numbers,
        state=seen.state,
        expected_start=expected,
    )


def _spot(seen: JobSnapshot, line: Line, job: int, room: Room, idle: list[int]) -> Spot | None:
    """Hosts of idle workers, which are taken out of `idle`.

    Any where the line has too few workers, those counted that are made for others in this pass.
    """
    shape, servers = int(seen.shapes.of[job]), int(seen.waiting.servers[job])
    amount = seen.shapes.amount[:, shape]
    coming = sum(int(seen.waiting.servers[row]) for row in line.new)
    if servers > line.workers + coming:
        return room.spot(amount, servers, int(seen.shapes.aggregate[shape]))
    free = room.free.copy()
    taken: list[int] = []
    for host in idle:
        if len(taken) < servers and bool((free[:, host] >= amount).all()):
            free[:, host] -= amount
            taken.append(host)
    if len(taken) < servers:
        return None
    for host in taken:
        idle.remove(host)
    hosts, count = np.unique(np.array(taken, dtype=np.intp), return_counts=True)
    return hosts, count.astype(np.int64)


def _without_preemption(rows: Rows, seen: JobSnapshot, room: Room, reasons: Reasons) -> None:
    """Jobs that lack room have a reason for which nobody is preempted."""
    shape = seen.shapes.of[rows]
    most = room.most_free()[CORES, seen.shapes.aggregate[shape]]
    cores, servers = seen.shapes.amount[CORES, shape], seen.shapes.servers[shape]
    gang = reasons.code[rows] == ReasonCode.GANG
    lacking = gang | (reasons.code[rows] == ReasonCode.ROOM)
    numbers = reasons.numbers[rows[lacking & ~gang]]
    reasons.give(rows[gang], ReasonCode.NEW_WORKER, CORES, cores[gang], most[gang], servers[gang])
    reasons.give(rows[lacking & ~gang], ReasonCode.NEW_WORKER, *numbers.T)


def _in_turn(line: Line, seen: JobSnapshot, reasons: Reasons, expected: Array) -> None:
    """Place in the line and expected start of the jobs that wait for a worker of it."""
    rows = np.array([job for job in line.jobs if seen.candidates[job]], dtype=np.intp)
    if not len(rows):
        return
    waiting = seen.waiting
    jobs = list(zip(waiting.servers[rows].tolist(), waiting.time_limit[rows].tolist(), strict=True))
    starts = np.array(turns(line.free_at(seen.now), jobs, line.handover).starts)
    known = np.isfinite(starts)
    expected[rows[known]] = starts[known]
    place = np.arange(1, len(rows) + 1)[known]
    reasons.give(rows[known], ReasonCode.WORKER, place, line.workers, starts[known] - seen.now)
    rest = rows[~known]
    shape = seen.shapes.of[rest]
    most = most_of_any(seen.hosts.free, seen.hosts.aggregates)[CORES, seen.shapes.aggregate[shape]]
    cores, servers = seen.shapes.amount[CORES, shape], seen.shapes.servers[shape]
    reasons.give(rest, ReasonCode.NEW_WORKER, CORES, cores, most, servers)
