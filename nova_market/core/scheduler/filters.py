# SPDX-License-Identifier: Apache-2.0
"""On which hosts a new server may go: affordable there, within its project's share, not reserved by others.

Implements rule S3 of doc/source/specs/market.rst: the share guarantee is that of SVMSched, section 5.3
(usage = max(mem_usage, cpu_usage) <= granted ratio after allocating, but for short and best-effort
work), the leases are those of CloudAlloc. Each function gives (flags, why): one flag per row, and a
sentence for the log where one is False. What the snapshot does not tell, refuses nothing.

Differs from the papers: prices count per host (a crowded host is dearer); a project's other
servers are paid first; a lease closes a host to servers whose end nobody knows for `window` seconds
before it begins.
"""

from collections.abc import Sequence

import numpy as np

from nova_market.core.ledger.money import credit_text
from nova_market.core.market.bid import ABSENT
from nova_market.core.market.extra_spec import LONG
from nova_market.core.resource import Array, Flags, Rows
from nova_market.core.scheduler.host_demand import levels_after
from nova_market.core.scheduler.request import ServerRequest
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
    snapshot: SchedulerSnapshot,
    request: ServerRequest,
    names: Sequence[str],
    now: float,
    window: float,
) -> Verdict:
    """Is no host reserved by another project while the server lives?

    It lives from now for its `duration`, or `window` seconds where that is not set.
    """
    fine = np.ones(len(names), dtype=np.bool_)
    until = now + (window if request.duration is None else request.duration)
    closed: set[str] = set()
    for lease in snapshot.leases or ():
        if lease.project_id != request.project_id and lease.begin < until and lease.end > now:
            closed |= lease.hosts
    if closed:
        fine = np.array([name not in closed for name in names], dtype=np.bool_)
    refused = int(len(fine) - fine.sum())
    return fine, f'{refused} hosts are reserved by other projects' if refused else ''


def _text(amount: float) -> str:
    return credit_text(int(np.ceil(amount))) if np.isfinite(amount) else 'more than there is'
