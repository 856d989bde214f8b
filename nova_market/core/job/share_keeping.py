# SPDX-License-Identifier: Apache-2.0
"""The pass keeps the shares of the queues, whatever a policy chooses.

Implements rule J10 of doc/source/specs/jobs.rst for SVMSched, section 5.3: a share is the operator's, a
policy is chosen by a queue's owner, and may be somebody's plug-in. Of what it starts, the pass takes out

- a long job that would take its queue over its share; then the policy chooses again from the rest
- a job of a queue without a share, while a job that keeps the share of its queue waits for the same hosts

Units and shapes as in columns.py; use as in share_use.py.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import numpy as np

from nova_market.core.job.columns import Placement, Queues
from nova_market.core.job.pe_line import served
from nova_market.core.job.policy_interface import JobPolicy, JobSnapshot, Selection
from nova_market.core.job.reason import FOR_ROOM, ReasonCode
from nova_market.core.job.room import hosts_of, joined
from nova_market.core.job.round_robin import long_jobs
from nova_market.core.job.share_use import ROUNDING, after_starting, demand, used
from nova_market.core.job.started import after
from nova_market.core.job.waiting_reasons import Reasons
from nova_market.core.resource import Array, Flags, Rows, Values

MOST_RUNS = 8
"""How often a policy chooses in one pass; a queue of jobs of many sizes could keep it choosing."""


def keeping_shares(policy: JobPolicy) -> JobPolicy:
    """The policy without the starts that shares forbid."""

    def run(seen: JobSnapshot) -> Selection:
        chosen = policy(seen)
        keeps = _keeps(seen, chosen.starts)
        return chosen if keeps.all() else _repeated(policy, seen, chosen)

    return run


def within_shares(policy: Callable[..., Selection]) -> Callable[..., Selection]:
    """A policy that looks at no shares: the long jobs that these bind are none of its candidates.

    So no other job waits for one of them.
    """

    @wraps(policy)
    def run(seen: JobSnapshot, **parameters: float) -> Selection:
        over, part = over_share(seen)
        bound = seen.candidates & over & long_jobs(seen)
        unbound = replace(seen, candidates=seen.candidates & ~bound)
        return _waiting_for_share(policy(unbound, **parameters), bound, part, seen)

    return run


def over_share(seen: JobSnapshot) -> tuple[Flags, Array]:
    """(jobs that would take their queue over its share if they started now, its use then), both (jobs,)."""
    queue, shapes = seen.waiting.queue, seen.shapes
    use = used(seen.running, seen.queues, seen.hosts)
    part = after_starting(use, demand(shapes, seen.hosts)[:, shapes.of], queue)
    return part > _granted(seen.queues)[queue], part


def without_share(seen: JobSnapshot) -> Flags:
    """Jobs of queues that have no share, (jobs,)."""
    found: Flags = (seen.queues.share <= 0.0)[seen.waiting.queue]
    return found


def held_up(seen: JobSnapshot, rest: Flags, over: Flags, code: Values) -> Flags:
    """Which of `rest`, jobs of queues without a share, must let others go first, (jobs,).

    seen: its candidates are the jobs of the other queues that still wait; code: their reasons
    over: as over_share
    """
    waits = seen.candidates & ~over & np.isin(code, FOR_ROOM)
    aggregates, of_job = seen.hosts.aggregates, seen.queues.aggregate[seen.waiting.queue]
    hosts = np.logical_or.reduce(aggregates[np.unique(of_job[waits])], axis=0)
    shared = np.logical_or.reduce(aggregates & hosts, axis=1)
    found: Flags = rest & shared[of_job]
    return found


def begun(seen: JobSnapshot, placement: Placement, jobs: Rows) -> JobSnapshot:
    """The snapshot when these jobs run, with the lines of tender queues as they are then."""
    hosts = hosts_of(placement)
    limits = seen.waiting.time_limit.tolist() if seen.lines else ()
    starts = {row: hosts[row] for row in jobs.tolist()}
    lines = served(seen.lines, starts, limits, seen.now)
    return replace(after(seen, placement, jobs), lines=lines)


def _repeated(policy: JobPolicy, seen: JobSnapshot, chosen: Selection) -> Selection:
    """What the policy chooses, and again without the jobs that were taken out."""
    starts: list[Rows] = []
    placements: list[Placement] = []
    refused = np.zeros(len(seen.waiting), dtype=np.bool_)
    for run in range(MOST_RUNS):
        keeps = _keeps(seen, chosen.starts)
        kept = chosen.starts[keeps]
        refused[chosen.starts[~keeps]] = True
        starts.append(kept)
        placements.append(_part(chosen.placement, kept))
        seen = begun(seen, placements[-1], kept)
        seen = replace(seen, state=chosen.state, candidates=seen.candidates & ~refused)
        if keeps.all() or run == MOST_RUNS - 1:
            break
        chosen = policy(seen)
    _, part = over_share(seen)
    chosen = replace(chosen, starts=np.concatenate(starts), placement=joined(placements))
    return _waiting_for_share(chosen, refused, part, seen)


def _waiting_for_share(chosen: Selection, jobs: Flags, part: Array, seen: JobSnapshot) -> Selection:
    """With the share as the reason of these long jobs. part: use of each job's queue if it started now"""
    rows = np.flatnonzero(jobs)
    reasons = Reasons(len(seen.waiting))
    reasons.code[:], reasons.numbers[:] = chosen.code, chosen.numbers
    reasons.give(rows, ReasonCode.SHARE, part[rows], seen.queues.share[seen.waiting.queue[rows]])
    return replace(chosen, code=reasons.code, numbers=reasons.numbers)


def _keeps(seen: JobSnapshot, starts: Rows) -> Flags:
    """Which of these starts keep the shares, one after the other, (starts,)."""
    found = np.ones(len(starts), dtype=np.bool_)
    granted = _granted(seen.queues)
    if np.isinf(granted[seen.waiting.queue[starts]]).all():
        return found
    use, added = used(seen.running, seen.queues, seen.hosts), demand(seen.shapes, seen.hosts)
    queue, shape = seen.waiting.queue[starts].tolist(), seen.shapes.of[starts].tolist()
    long = long_jobs(seen)[starts].tolist()
    for place, (of_queue, of_shape) in enumerate(zip(queue, shape, strict=True)):
        then = use[:, of_queue] + added[:, of_shape]
        if long[place] and (then > granted[of_queue]).any():
            found[place] = False
        else:
            use[:, of_queue] = then
    return found


def _granted(queues: Queues) -> Array:
    """(queues,): use up to which a share allows long jobs; a share of everything binds nobody."""
    return np.where(queues.share < 1.0, queues.share + ROUNDING, np.inf)


def _part(placement: Placement, jobs: Rows) -> Placement:
    """Of these jobs."""
    rows = np.isin(placement.job, jobs)
    return Placement(
        job=placement.job[rows], host=placement.host[rows], servers=placement.servers[rows]
    )
