# SPDX-License-Identifier: Apache-2.0
"""Waiting jobs, running jobs, queues, owners and hosts of one selection pass, as columns.

Implements what the algorithms of SVMSched (papers/svmsched.txt, section 5.4) take as known: requirements,
duration, priority, submission time and queue of each job, granted share of each application. Rules J1 to J4.

A row number is the identity of a thing within one pass; the caller keeps the ids, and orders rows by id or by
age, because ties are broken by row. Resources are the first axis, in the order of core.calendar.axes.AXES:
(AXES, jobs), (AXES, hosts). Units: cores, MiB, GiB; times are seconds of the caller's clock (`now` of the
snapshot), inf where there is no end; money is micro-credits. Rows are intp, flags bool, counts int64, all
others float64. Shapes and ranges are checked once, when a value is made.

Differs from the paper: there each application has a queue for production jobs and one for best-effort jobs;
here one queue holds both and `best_effort` tells them apart. The queue is the application.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.errors import BadSnapshot


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Placement:
    """(placements,): so many `servers` of the job in row `job` are on the host in row `host`."""

    job: Rows
    host: Rows
    servers: Values

    def __post_init__(self) -> None:
        _same_length(self, len(self.job), ('job', 'host', 'servers'))
        _at_least(self, 1, ('servers',))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WaitingJobs:
    """Jobs that have not started, (jobs,).

    queue: row in Queues; owner: row in Owners
    best_effort: outside the shares, may be preempted [5.1.2]; the others are production jobs
    priority: lower numbers first; weight: of the customer, larger first among equal priorities [5.2.2]
    submitted: when; earliest among equal priority and weight first
    servers: size of the gang, 1 or more: all start together or none
    amount: what ONE server takes, (AXES, jobs); a server fits one host
    time_limit: seconds; inf when it has none, so that it is never short
    predecessors: how many jobs of `after` have not ended; it is a candidate at 0
    not_before: it is no candidate before (after a failed start, or as its owner wants); -inf: any time
    claim: others were preempted for it: it gets room before all that have no claim
    by_offer: none is preempted for it
    value: micro-credits that the whole job is worth to its owner (policy `value`); 0 where none is given
    """

    queue: Rows
    owner: Rows
    best_effort: Flags
    priority: Values
    weight: Array
    submitted: Array
    servers: Values
    amount: Array
    time_limit: Array
    predecessors: Values
    not_before: Array
    claim: Flags
    by_offer: Flags
    value: Array

    def __post_init__(self) -> None:
        _same_length(self, len(self.queue), tuple(n for n in _names(self) if n != 'amount'))
        _resources(self, 'amount', len(self.queue))
        _at_least(self, 1, ('servers',))
        _at_least(self, 0, ('queue', 'owner', 'weight', 'amount', 'predecessors', 'value'))
        _no_nan(self, ('submitted', 'time_limit', 'not_before'))
        if len(self.queue) and bool((self.time_limit <= 0).any()):
            raise BadSnapshot('time_limit holds a number that is not above 0')

    def __len__(self) -> int:
        return len(self.queue)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunningJobs:
    """Jobs that hold resources: starting, running, or being preempted, (jobs,).

    queue, owner, best_effort, servers, amount: as in WaitingJobs
    started: when it was started, boot included; ends: started + time limit, inf when it has none
    least_run_time: seconds from `started` in which it is not preempted
    saved: time of its last checkpoint, else `started`: what was done since is lost when it is preempted
    keeps_work: it is suspended or shelved when it is preempted, and loses nothing
    leaving: it has been ordered to end, by preemption or cancellation: its room is free soon
    placement: where its servers are; `job` is the row here
    """

    queue: Rows
    owner: Rows
    best_effort: Flags
    servers: Values
    amount: Array
    started: Array
    ends: Array
    least_run_time: Array
    saved: Array
    keeps_work: Flags
    leaving: Flags
    placement: Placement

    def __post_init__(self) -> None:
        columns = tuple(name for name in _names(self) if name not in ('amount', 'placement'))
        _same_length(self, len(self.queue), columns)
        _resources(self, 'amount', len(self.queue))
        _at_least(self, 1, ('servers',))
        _at_least(self, 0, ('queue', 'owner', 'amount', 'least_run_time'))
        _no_nan(self, ('started', 'ends', 'saved'))
        _rows_below(self.placement.job, len(self.queue), 'placement.job')

    def __len__(self) -> int:
        return len(self.queue)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Queues:
    """(queues,). A queue is an application of the paper.

    share: granted part of the aggregate's capacity, 0 to 1 [5.3]
    aggregate: row in Hosts.aggregates: where its jobs may run, and what its share is a part of
    short_below: seconds; a job with a time limit up to this is short
    policy: row in the sequence of policies that core.job.selection gets
    """

    share: Array
    aggregate: Rows
    short_below: Array
    policy: Rows

    def __post_init__(self) -> None:
        _same_length(self, len(self.share), _names(self))
        _at_least(self, 0, _names(self))
        if bool((self.share > 1.0).any()):
            raise BadSnapshot('share holds a number above 1')

    def __len__(self) -> int:
        return len(self.share)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Owners:
    """A user of a project in a queue, (owners,): the leaves of the tree of shares (policy `fair_tree`).

    queue: row in Queues; project: a number for each project
    project_share: the project's part among those of the queue, relative
    user_share: the user's part among those of the project, relative
    usage: decayed core-seconds that it has used up to now (core.job.decayed_usage)
    """

    queue: Rows
    project: Rows
    project_share: Array
    user_share: Array
    usage: Array

    def __post_init__(self) -> None:
        _same_length(self, len(self.queue), _names(self))
        _at_least(self, 0, _names(self))

    def __len__(self) -> int:
        return len(self.queue)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Hosts:
    """(hosts,). Hosts that are disabled or powered down have no free room.

    capacity: Placement's inventory, (total - reserved) * ratio, (AXES, hosts) (rule C3)
    free: what new servers may take now, (AXES, hosts); the room of idle workers is free
    aggregates: which hosts belong to each, (aggregates, hosts); without any there is one row, all True
    """

    capacity: Array
    free: Array
    aggregates: Flags

    def __post_init__(self) -> None:
        count = self.capacity.shape[-1]
        _resources(self, 'capacity', count)
        _resources(self, 'free', count)
        _at_least(self, 0, ('capacity', 'free'))
        if self.aggregates.ndim != 2 or self.aggregates.shape[1] != count:
            raise BadSnapshot(
                f'aggregates has the shape {self.aggregates.shape}; (aggregates, {count}) is needed'
            )

    def __len__(self) -> int:
        return int(self.capacity.shape[1])


def check_rows(
    waiting: WaitingJobs, running: RunningJobs, queues: Queues, owners: Owners, hosts: Hosts
) -> None:
    """Every row that one of them names exists in the other.

    :raises BadSnapshot: names the column, the row and how many rows there are.
    """
    for rows, count, name in (
        (waiting.queue, len(queues), 'waiting.queue'),
        (waiting.owner, len(owners), 'waiting.owner'),
        (running.queue, len(queues), 'running.queue'),
        (running.owner, len(owners), 'running.owner'),
        (running.placement.host, len(hosts), 'running.placement.host'),
        (queues.aggregate, len(hosts.aggregates), 'queues.aggregate'),
        (owners.queue, len(queues), 'owners.queue'),
    ):
        _rows_below(rows, count, name)


def _names(value: object) -> tuple[str, ...]:
    return tuple(value.__dataclass_fields__)  # type: ignore[attr-defined]


def _same_length(value: object, length: int, names: tuple[str, ...]) -> None:
    for name in names:
        found = getattr(value, name).shape
        if found != (length,):
            raise BadSnapshot(f'{name} has the shape {found}; ({length},) is needed')


def _resources(value: object, name: str, length: int) -> None:
    found = getattr(value, name).shape
    if found != (len(AXES), length):
        raise BadSnapshot(f'{name} has the shape {found}; ({len(AXES)}, {length}) is needed')


def _at_least(value: object, least: int, names: tuple[str, ...]) -> None:
    for name in names:
        column = getattr(value, name)
        # written so that NaN is refused too
        if column.size and not bool((column >= least).all()):
            raise BadSnapshot(f'{name} holds a number that is not at least {least}')


def _no_nan(value: object, names: tuple[str, ...]) -> None:
    for name in names:
        if bool(np.isnan(getattr(value, name)).any()):
            raise BadSnapshot(f'{name} holds NaN')


def _rows_below(rows: Rows, count: int, name: str) -> None:
    if len(rows) and (int(rows.max()) >= count or int(rows.min()) < 0):
        worst = int(rows.max()) if int(rows.max()) >= count else int(rows.min())
        raise BadSnapshot(f'{name} names the row {worst}; there are {count}')
