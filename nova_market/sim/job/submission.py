# SPDX-License-Identifier: Apache-2.0
"""Jobs as they are submitted to queues: from a log, or built for a test.

For SVMSched (papers, section 6.2), where the partitions of a log are applications with a queue each; rules J1
and J2 of doc/source/specs/jobs.rst. Units: seconds, cores and MiB of one server. Arrays (jobs,), in order of
submission.

A job of a log that is wider than a host becomes a gang: as few equal servers as there is room for, so that
it has at most `servers - 1` cores more than the log gives it.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.errors import BadWorkload
from nova_market.sim.workload.swf import ORIGINS, Log

DEFAULT_PRIORITY = 100
"""Lower numbers go first (SVMSched, algorithm 1)."""

ONE_QUEUE = 'none'

GROUPINGS = (ONE_QUEUE, *ORIGINS)
"""What a queue of a log is: one for all jobs, or one for each number in that column of the log."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Submissions:
    """queues: their names; queue: row of each job's queue; time_limit: the estimate, at least `run`

    servers: of a gang, 1 for other jobs; cores, memory_mib: of one of its servers
    """

    number: Values
    submit: Array
    run: Array
    time_limit: Array
    servers: Values
    cores: Values
    memory_mib: Array
    queue: Rows
    queues: tuple[str, ...]
    priority: Values = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    best_effort: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        count = len(self.number)
        if not len(self.priority):
            object.__setattr__(self, 'priority', np.full(count, DEFAULT_PRIORITY, dtype=np.int64))
        if not len(self.best_effort):
            object.__setattr__(self, 'best_effort', np.zeros(count, dtype=np.bool_))
        for name in ARRAYS:
            if getattr(self, name).shape != (count,):
                raise BadWorkload(f'{name} has another length than number')
        self._check()

    def _check(self) -> None:
        if len(self) and (np.diff(self.submit) < 0).any():
            row = int(np.argmax(np.diff(self.submit) < 0)) + 1
            raise BadWorkload(f'job {self.number[row]} was submitted before the one in front of it')
        bad = (self.run < 0) | (self.time_limit < self.run) | (self.servers < 1) | (self.cores < 1)
        bad |= (self.queue < 0) | (self.queue >= len(self.queues)) | (self.memory_mib < 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise BadWorkload(
                f'job {self.number[row]}: {self.run[row]:g} s within a limit of {self.time_limit[row]:g} s '
                f'on {self.servers[row]} servers of {self.cores[row]} cores and {self.memory_mib[row]:g} '
                f'MiB in queue {self.queue[row]} of {len(self.queues)}: give 0 s or more, at least one '
                'server and core, and a queue that exists'
            )

    def __len__(self) -> int:
        return len(self.number)

    @property
    def width(self) -> Values:
        """Cores of all servers of each job."""
        return self.servers * self.cores

    def take(self, rows: Rows) -> 'Submissions':
        """Some jobs, in the order of rows; the queues stay."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ARRAYS})

    def in_queues(self, queue: Rows, names: tuple[str, ...]) -> 'Submissions':
        """The same jobs in other queues. queue: (jobs,) row in `names`"""
        return replace(self, queue=queue, queues=names)


ARRAYS = (
    'number',
    'submit',
    'run',
    'time_limit',
    'servers',
    'cores',
    'memory_mib',
    'queue',
    'priority',
    'best_effort',
)


def from_log(
    log: Log, *, host_cores: int, grouping: str = ONE_QUEUE, memory: bool = False
) -> Submissions:
    """The jobs of a log; queues in order of the numbers that name them, `user 3` and so on.

    memory: each server has the log's memory per processor times its cores, 0 where the log has none;
    without it no job needs memory

    :raises BadWorkload: there is no such grouping, or hosts have no core.
    """
    if host_cores < 1:
        raise BadWorkload(f'hosts of {host_cores} cores: give at least 1')
    jobs = log.jobs
    servers = -(-jobs.processors // host_cores)
    cores = -(-jobs.processors // servers)
    queue, queues = _queues(log, grouping)
    needed = np.nan_to_num(jobs.memory_mib) * cores if memory else np.zeros(len(jobs))
    return Submissions(
        number=jobs.number,
        submit=jobs.submit - (jobs.submit[0] if len(jobs) else 0.0),
        run=jobs.run,
        time_limit=jobs.estimate,
        servers=servers,
        cores=cores,
        memory_mib=needed,
        queue=queue,
        queues=queues,
    )


def at_once(jobs: Submissions) -> Submissions:
    """All jobs in the first second, in their order: experiments 3 and 4 of SVMSched, section 6.5."""
    return replace(jobs, submit=np.zeros(len(jobs)))


def _queues(log: Log, grouping: str) -> tuple[Rows, tuple[str, ...]]:
    if grouping == ONE_QUEUE:
        return np.zeros(len(log.jobs), dtype=np.intp), ('all',)
    if grouping not in log.origins:
        raise BadWorkload(f'queues by {grouping!r:.40}: give {", ".join(GROUPINGS)}')
    found, row = np.unique(log.origins[grouping], return_inverse=True)
    return row.astype(np.intp), tuple(f'{grouping} {number}' for number in found.tolist())
