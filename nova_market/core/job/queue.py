# SPDX-License-Identifier: Apache-2.0
"""Queues, their workers and their statistics, as they are kept.

Implements the applications and their shares of SVMSched, sections 4.2 and 5 (rules J1, J5, J6 of
doc/source/specs/jobs.rst). Units: seconds, cores, MiB, GiB, micro-credits per core and hour.

The share is the operator's; everything else of a queue is its project's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nova_market.core.ledger.money import MONEY
from nova_market.core.market.owner_server import ServerMarks
from nova_market.core.row_check import AMOUNT, COUNT, TIME, Bounds

WORKER_MARKS = ServerMarks(owner='market:queue', place='market:worker')
"""Metadata of a server: the queue and the worker that it is. With a row of that id, it is the service's."""

SHORT_BELOW = 1800
"""Seconds of a short job's time limit: SVMSched, section 6 (30 minutes)."""

IDLE_SECONDS = 600
OF = ':'
"""Between the id of a project and its name of a queue: neither has it."""

TENDER = 'tender'
"""Policy of queues whose jobs are submitted by accepting offers (rules T1 to T4 of specs/tender.rst)."""

MAX_SERVERS = 64
MAX_ARRAY = 1000
MAX_ARRAY_INDEX = 1_000_000
MAX_TIME_LIMIT = 30 * 86_400


class QueueState(StrEnum):
    OPEN = 'open'
    CLOSED = 'closed'
    """It takes no new jobs; those it has are run."""

    DELETING = 'deleting'
    """Its row goes with its last worker and its trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """What a queue takes. None: no limit, or that of the operator (core.job.operator_limits).

    max_waiting: jobs that wait or are held; max_running: jobs that are active at once
    max_time_limit: seconds; max_servers: of one job; max_array: elements of one array
    max_notice, max_least_run_time: seconds; max_retries: of one job
    """

    max_waiting: int | None = None
    max_running: int | None = None
    max_time_limit: int = MAX_TIME_LIMIT
    max_servers: int = MAX_SERVERS
    max_array: int = MAX_ARRAY
    max_notice: int | None = None
    max_least_run_time: int | None = None
    max_retries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQueue:
    """A queue; its name is unique in its project.

    share:       0 to 1 of the cores and of the memory of the cloud, or of the aggregate that is named
    policy:      an entry point of nova_market.job_policy; parameters: its keyword arguments
    flavors:     of its workers, names or ids, the preferred ones first; a job takes one of these
    image, networks: of its workers, names or ids; no network: what Nova chooses ("auto")
    reuse:       a worker whose job has ended runs the next job of the same project in the queue
    projects_trust_each_other: it runs those of other projects too, which a job that gets the better of its
                 guest can read and change
    idle_seconds: how long a worker without a job is kept
    projects, roles: who may submit besides the queue's own project: these projects, and in them (and in its
                 own) whoever has one of the roles; no roles: every member
    weights:     of customers, by project; 1 for those that are not named [5.2.2]
    price_core_hour: what a job is charged, to the queue's project; 0: nothing. Under `tender` the first price
    price_rule:  by which a tender queue adapts its prices: core.job.tender_terms
    trust_id:    of the user who made the queue: its workers are made with it in its project
    """

    id: str
    name: str
    project_id: str
    user_id: str = ''
    trust_id: str = ''
    description: str = ''
    share: float = 0.0
    aggregate: str = ''
    policy: str = 'flexible'
    parameters: Mapping[str, float] = field(default_factory=dict)
    short_below: int = SHORT_BELOW
    flavors: tuple[str, ...] = ()
    image: str = ''
    networks: tuple[str, ...] = ()
    reuse: bool = True
    projects_trust_each_other: bool = False
    idle_seconds: int = IDLE_SECONDS
    limits: QueueLimits = field(default_factory=QueueLimits)
    projects: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    price_core_hour: int = 0
    price_rule: str = 'settled'
    state: QueueState = QueueState.OPEN
    generation: int = 0
    """Grows with each change; 0: not stored yet."""

    created_at: float = 0.0
    changed_at: float = 0.0

    @property
    def key(self) -> str:
        """By its project and name: `PROJECT:NAME`."""
        return f'{self.project_id}{OF}{self.name}'

    @property
    def own_name(self) -> 'QueueName':
        """What its project calls it."""
        return QueueName(project_id=self.project_id, name=self.name, user_id=self.user_id)

    @property
    def is_tender(self) -> bool:
        """Whether its jobs come by accepted offers, at prices that follow the demand."""
        return self.policy == TENDER


QUEUE_BOUNDS: Bounds = {
    'share': (0.0, 1.0),
    'price_core_hour': MONEY,
    **dict.fromkeys(('short_below', 'idle_seconds'), COUNT),
    **dict.fromkeys(('created_at', 'changed_at'), TIME),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueName:
    """What a project calls a queue (J9). user_id: who has given the name"""

    project_id: str
    name: str
    user_id: str


class WorkerState(StrEnum):
    """Where a worker is."""

    STARTING = 'starting'
    """Its server is being made, or its agent has not asked for work yet."""

    IDLE = 'idle'
    BUSY = 'busy'
    SUSPENDED = 'suspended'
    """With the job that was preempted on it."""


class DesiredWorkerState(StrEnum):
    """What is to become of its server: written before anything is asked of Nova (F5)."""

    PRESENT = 'present'
    SUSPENDED = 'suspended'
    SHELVED = 'shelved'
    GONE = 'gone'


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWorker:
    """A server that runs jobs of one queue. The row is written before the server is made.

    server_id:  '' until Nova has answered; a server with this worker's id in WORKER_MARKS is found again
    host:       where the plan puts it, then where it is; '' where any host will do
    credential: SHA-256 of its boot secret, in hexadecimal; the clear text is in its user_data alone
    session:    SHA-256 of what its agent has exchanged that for, and shows from then on; '': not yet
    project_id: whose jobs it has run; '': those of several projects, or nobody knows
    job_id, attempt, rank: what it runs, or will run first; '' when it has no job
    tries:      to make or change the server that failed in a row; not before `retry_at` is the next one
    seen_at:    when its agent called last, by the service's clock; 0: never
    clock_offset: seconds by which the guest's clock is ahead, as it said last
    """

    id: str
    queue_id: str
    flavor: str
    cores: float
    memory_mib: float
    disk_gib: float = 0.0
    host: str = ''
    intention: DesiredWorkerState = DesiredWorkerState.PRESENT
    state: WorkerState = WorkerState.STARTING
    server_id: str = ''
    address: str = ''
    credential: str = ''
    session: str = ''
    project_id: str = ''
    job_id: str = ''
    attempt: int = 0
    rank: int = 0
    created_at: float = 0.0
    seen_at: float = 0.0
    idle_since: float = 0.0
    clock_offset: float = 0.0
    tries: int = 0
    retry_at: float = 0.0


WORKER_BOUNDS: Bounds = {
    **dict.fromkeys(('cores', 'memory_mib', 'disk_gib'), AMOUNT),
    **dict.fromkeys(('created_at', 'seen_at', 'idle_since', 'retry_at'), TIME),
    **dict.fromkeys(('attempt', 'rank', 'tries'), COUNT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMinute:
    """What a queue used and did in one minute (J6); queue_id '': all queues together.

    minute:  number of the minute since the epoch
    cores:   in use by its jobs, mean over the minute
    share:   the same as a part of what the queue's share is of: 0 to 1
    waiting, running: jobs at the end of the minute
    started, finished, failed, preempted: jobs within it
    """

    queue_id: str
    minute: int
    cores: float = 0.0
    share: float = 0.0
    waiting: int = 0
    running: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    preempted: int = 0
