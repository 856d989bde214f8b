# SPDX-License-Identifier: Apache-2.0
"""What whoever selects jobs sees of a simulated cloud, and what he answers.

Units: seconds; rows of jobs, queues and hosts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nova_market.sim.job.hosts import Hosts
from nova_market.sim.job.submission import Submissions


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A job that holds room.

    hosts: of each of its servers; begin: when it was given room
    start: of its script, when all workers are there; end: of its script; limit: when its time limit ends it
    until: when its notice ends, if it is preempted; least_run_time: seconds from `begin` in which it is not
    """

    hosts: tuple[int, ...]
    begin: float
    start: float
    end: float
    limit: float
    until: float | None = None
    least_run_time: float = 0.0


@dataclass(slots=True, kw_only=True)
class World:
    """now: the time; waiting: jobs in order of submission; attempts: of the jobs that hold room, by job
    claims: waiting jobs for which others were preempted, and which have not started
    """

    jobs: Submissions
    hosts: Hosts
    now: float = 0.0
    waiting: list[int] = field(default_factory=list)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    claims: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """hosts: a host for each server of the job"""

    job: int
    hosts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """job: gives its room back, and waits again; displacer: the waiting job that it is done for"""

    job: int
    displacer: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """In the order in which they are carried out, preemptions first."""

    starts: Sequence[Start] = ()
    preemptions: Sequence[Preemption] = ()


class Selector(Protocol):
    """Whoever chooses; it is asked again at the same time until it chooses nothing."""

    def choose(self, world: World) -> Choice:
        """What to start and what to preempt now; it does not change the world."""
