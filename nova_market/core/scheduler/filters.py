# SPDX-License-Identifier: Apache-2.0
"""On which hosts a new server may go: affordable there, within its project's share, not reserved by others.

Implements rule S3 of doc/source/specs/market.rst: the share guarantee is that of SVMSched, section 5.3
(usage = max(mem_usage, cpu_usage) <= granted ratio after allocating, but for short and best-effort
work), the leases are those of CloudAlloc. Each function gives (flags, why): one flag per row, and a
sentence for the log where one is False. What the snapshot does not tell, refuses nothing.

Differs from the papers: prices count per host (a crowded host is dearer); a project's other
servers are paid first; a lease keeps its room from servers whose end nobody knows for `window` seconds
before it begins.
"""

import numpy as np

from nova_market.core.ledger.money import credit_text
from nova_market.core.market.bid import ABSENT
from nova_market.core.market.extra_spec import LONG
from nova_market.core.resource import Array, Flags, Rows
from nova_market.core.scheduler.host_demand import levels_after
from nova_market.core.scheduler.request import ServerRequest
from nova_market.core.scheduler.reserved import Reserved, carried, must_be_left
from nova_market.core.scheduler.snapshot import SchedulerSnapshot

UNKNOWN = -1
"""Row of a host that the snapshot does not know."""

ROUNDING = 1e-9

Verdict = tuple[Flags, str]


def affordable_hosts(
    snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows, default_periods: int
) -> Verdict:
    """Can the project pay for this on each of these hosts, for so many periods?

    available >= periods * (what it pays now + count * cost on the host), with

        cost = sum_r min(bid_r, price_r / level_r * a_max_r)      without the bid where there is none

    Asked of new servers only, of flavors that ask for the market, of projects that have an account.
    """
    everywhere = np.ones(len(rows), dtype=np.bool_)
    periods = default_periods if request.periods is None else request.periods
    owner = snapshot.projects.get(request.project_id)
    if not (request.new and request.market and periods) or owner is None:
        return everywhere, ''
    known = rows != UNKNOWN
    each = costs(snapshot, request, rows[known])
    needed = periods * (float(snapshot.due[owner]) + request.count * each)
    available = float(snapshot.available[owner])
    everywhere[known] = needed <= available * (1.0 + ROUNDING)
    if everywhere.all():
        return everywhere, ''
    least = needed.min()
    return everywhere, (
        f'project {request.project_id} has {credit_text(int(available))} credits; {request.count} of these '
        f'servers and what it runs cost {_text(least)} or more in {periods} periods'
    )


def costs(snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows) -> Array:
    """(len(rows),) micro-credits per period for one server with all it can use; inf where none is left.

    What a host has nothing of, or does not control (B5), it does not sell: a server with CPUs of its own goes
    to hosts without shared ones, and whether there is room is for Placement to say.
    """
    limit = np.array(request.limit)[:, None]
    level = levels_after(snapshot, request, rows)
    fair = np.broadcast_to(snapshot.price[:, None] * limit, level.shape)
    full = np.divide(fair, level, out=np.where(fair > 0, np.inf, 0.0), where=level > 0)
    bid = np.array(request.bid, dtype=np.float64)[:, None]
    cost = np.where(bid == ABSENT, full, np.minimum(bid, full))
    total: Array = np.where(snapshot.capacity[:, rows] > 0, cost, 0.0).sum(axis=0)
    return total


def within_share(snapshot: SchedulerSnapshot, request: ServerRequest, rows: Rows) -> Verdict:
    """Does the project stay within its granted part of the cloud? The same for all hosts.

    max_r (used_r + count * size_r) / capacity_r <= share            of the resources that are sold
    """
    fine = np.ones(len(rows), dtype=np.bool_)
    owner = snapshot.projects.get(request.project_id)
    if snapshot.share is None or owner is None or not request.new or request.work != LONG:
        return fine, ''
    granted = float(snapshot.share[owner])
    sold = np.flatnonzero(snapshot.sells.any(axis=1))
    total = snapshot.capacity[sold].sum(axis=1)
    if np.isnan(granted) or not len(sold) or not (total > 0).all():
        return fine, ''
    asked = snapshot.used[:, owner] + request.count * np.array(request.size)
    usage = float((asked[sold] / total).max())
    if usage <= granted * (1.0 + ROUNDING):
        return fine, ''
    return ~fine, (
        f'project {request.project_id} would use {usage:.2%} of the cloud, its share is {granted:.2%}'
    )


def unreserved(
    reserved: Reserved,
    request: ServerRequest,
    rows: Rows,
    free: Array,
    now: float,
    window: float,
) -> Verdict:
    """Do leases keep their room while the server lives? Rule L5 of doc/source/specs/leases.rst.

        free now - what leases have reserved at any time while it lives >= size

    rows: of the hosts in `reserved`, UNKNOWN where no lease has a node; free: (AXES, hosts) what Nova has
    there now. Servers that are there are taken to stay.
    It lives from now for its `duration`, or `window` seconds where that is not set. One that carries a lease
    may use the room of it, and lives until its end at most; a new one goes to hosts of the lease only.
    """
    fine = np.ones(len(rows), dtype=np.bool_)
    lease = carried(reserved, request, now)
    if request.new and request.lease and lease is None:
        return ~fine, f'project {request.project_id} has no lease {request.lease:.40} now'
    life = request.duration
    if lease is None:
        until = now + (window if life is None else life)
    else:
        end = float(reserved.end[lease])
        until = end if life is None else min(now + life, end)
        if request.new:
            fine &= np.isin(rows, reserved.hosts_of(lease))
    known = np.flatnonzero(rows != UNKNOWN)
    if until <= now or not len(known):
        return fine, _refused(fine)
    kept = must_be_left(reserved, lease, now, until)[:, rows[known]]
    size = np.array(request.amounts)[:, None]
    short = (kept > 0) & (free[:, known] - kept < size - ROUNDING)
    fine[known] &= ~short.any(axis=0)
    return fine, _refused(fine)


def _refused(fine: Flags) -> str:
    refused = int(len(fine) - fine.sum())
    return f'leases have reserved the room of {refused} hosts' if refused else ''


def _text(amount: float) -> str:
    return credit_text(int(np.ceil(amount))) if np.isfinite(amount) else 'more than there is'
