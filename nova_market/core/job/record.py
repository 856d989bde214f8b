# SPDX-License-Identifier: Apache-2.0
"""What is kept of a job from submission to its end: its row, what it runs, its attempts, its events.

Implements the job queue and the job statistics of SVMSched, section 4.2 (rules J2, J4, J5, J6 of
doc/source/specs/jobs.rst). Units: seconds since the epoch, seconds, cores, MiB, GiB, micro-credits. What a
flavor takes is what one server takes: a gang of n servers takes n times as much.

Two write a job's row: its owner, through the API (`wish`), and the service (state, attempt, reason, money).
A worker writes its own attempt's row only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from nova_market.core.ledger.money import MONEY
from nova_market.core.row_check import AMOUNT, COUNT, TIME, Bounds

MAX_OUTPUT = 65_536
"""Bytes of output that are kept of an attempt: the last ones."""

MAX_EVENTS = 1000
"""Events that are kept of one job; the oldest go first."""

DEFAULT_PRIORITY = 100
"""A lower number goes first, as in SVMSched, algorithm 1."""


class JobKind(StrEnum):
    PRODUCTION = 'production'
    BEST_EFFORT = 'best_effort'
    """Outside the shares, and preempted when a production job needs its room [5.1]."""


class JobState(StrEnum):
    """Where a job is. The last three have ended; only `requeue` takes a job back from there."""

    HELD = 'held'
    """A job that it comes after has not ended."""

    WAITING = 'waiting'
    STARTING = 'starting'
    """An attempt is stored; its workers are not all there yet."""

    RUNNING = 'running'
    PREEMPTING = 'preempting'
    """Its notice runs: it may write a checkpoint."""

    SUSPENDED = 'suspended'
    """Preempted with its servers kept (suspended or shelved): it goes on in the same attempt."""

    FINISHED = 'finished'
    FAILED = 'failed'
    CANCELLED = 'cancelled'


ENDED = (JobState.FINISHED, JobState.FAILED, JobState.CANCELLED)
QUEUED = (JobState.HELD, JobState.WAITING)
ACTIVE = (JobState.STARTING, JobState.RUNNING, JobState.PREEMPTING, JobState.SUSPENDED)


class JobWish(StrEnum):
    """What the owner wants of a job that is active; the service carries it out."""

    RUN = 'run'
    CANCEL = 'cancel'
    REQUEUE = 'requeue'


class PreemptAction(StrEnum):
    """What becomes of a job that is preempted (J4)."""

    REQUEUE = 'requeue'
    SUSPEND = 'suspend'
    SHELVE = 'shelve'
    STOP = 'stop'
    """It has failed, and is not tried again."""


class AfterCondition(StrEnum):
    """When a job that comes after others may start."""

    SUCCESS = 'success'
    """All of them have finished; it is cancelled when one fails or is cancelled."""

    END = 'end'
    """All of them have ended, however."""


class AttemptState(StrEnum):
    """Where one server's part of an attempt is. The last five have ended."""

    STARTING = 'starting'
    RUNNING = 'running'
    PREEMPTING = 'preempting'
    FINISHED = 'finished'
    """Its script exited with 0."""

    FAILED = 'failed'
    """Its script exited with something else, ran too long, or could not be run."""

    PREEMPTED = 'preempted'
    LOST = 'lost'
    """Its worker was silent, or is gone."""

    CANCELLED = 'cancelled'


OPEN_ATTEMPT = (AttemptState.STARTING, AttemptState.RUNNING, AttemptState.PREEMPTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReason:
    """Why a job waits, or why it ended as it did.

    code:    a word that does not change: share, room, limit, dependency, reservation, exit, time_limit, ...
    text:    a sentence for people, with the numbers in it
    numbers: the same for programs
    """

    code: str
    text: str = ''
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """A job, or one element of an array.

    number:      order of submission over all queues, from 1; marker of the next page. 0: not stored yet
    array_id:    '' when it is of no array; array_size: number of its elements, array_index: of this one
    cores, memory_mib, disk_gib: what one of its servers takes
    servers:     of a gang: they start together or not at all
    time_limit:  seconds; the attempt is ended then
    weight:      of its customer, within the queue [5.2.2]
    retries:     attempts more after one that was lost; `lost` counts these
    least_run_time: seconds before which it is not preempted
    notice:      seconds between SIGTERM and the end, when it is preempted
    value:       micro-credits that the whole job is worth to its owner; 0: not given
    not_before:  it is not started before; 0: at any time
    attempt:     number of the newest attempt; 0: none yet
    requeues:    how often it was preempted or requeued, or had to pay for another run
    cost_limit:  most that one run is charged, by the price of its queue at submission; held before each run
    charged:     for all of its runs
    displaced_by: id of the job for which it is being preempted; '' for none
    compensation: what those who displaced it have paid it
    saves:       it has a checkpoint script: it is said to lose nothing when it is preempted
    by_offer:    it came by an offer that was accepted: no job is preempted for it
    reserve:     what is still held, beside cost_limit, for jobs that it displaces
    owed:        what the job that displaces it pays when it has gone; already taken from that one's reserve
    started_at:  of the newest attempt's run; 0: it has not run
    expected_start: None: not known
    """

    id: str
    queue_id: str
    project_id: str
    user_id: str
    name: str = ''
    number: int = 0
    kind: JobKind = JobKind.PRODUCTION
    priority: int = DEFAULT_PRIORITY
    weight: float = 1.0
    flavor: str
    cores: float
    memory_mib: float
    disk_gib: float = 0.0
    servers: int = 1
    time_limit: int
    array_id: str = ''
    array_index: int = 0
    array_size: int = 0
    after: tuple[str, ...] = ()
    """Ids of jobs and of arrays."""

    after_condition: AfterCondition = AfterCondition.SUCCESS
    retries: int = 1
    least_run_time: int = 0
    notice: int = 30
    preempt_action: PreemptAction = PreemptAction.REQUEUE
    value: int = 0
    not_before: float = 0.0
    cost_limit: int = 0
    submitted_at: float = 0.0

    state: JobState = JobState.WAITING
    wish: JobWish = JobWish.RUN
    changed_at: float = 0.0
    """Of `state`."""

    attempt: int = 0
    lost: int = 0
    requeues: int = 0
    started_at: float = 0.0
    ended_at: float = 0.0
    exit_code: int | None = None
    charged: int = 0
    compensation: int = 0
    saves: bool = False
    by_offer: bool = False
    reserve: int = 0
    owed: int = 0
    displaced_by: str = ''
    reason: JobReason | None = None
    expected_start: float | None = None

    @property
    def content_id(self) -> str:
        """Of its JobContent; the elements of an array share one."""
        return self.array_id or self.id


JOB_BOUNDS: Bounds = {
    **dict.fromkeys(('cores', 'memory_mib', 'disk_gib'), AMOUNT),
    **dict.fromkeys(
        ('cost_limit', 'charged', 'compensation', 'reserve', 'owed', 'value'), MONEY
    ),
    **dict.fromkeys(
        ('not_before', 'submitted_at', 'changed_at', 'started_at', 'ended_at', 'expected_start'), TIME
    ),
    **dict.fromkeys(
        ('priority', 'array_index', 'array_size', 'retries', 'least_run_time', 'notice', 'attempt',
         'lost', 'requeues'),
        COUNT,
    ),
    **dict.fromkeys(('servers', 'time_limit'), (1, COUNT[1])),
    'weight': (0.0, 1e9),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContent:
    """What a job runs; read only where it is needed.

    id:         of the job, or of the array
    digest:     SHA-256 of the request that it came with: the same key with another request is refused
    checkpoint: script that is run during the notice; '' = none
    output_url: object store's URL that the worker PUTs the whole output to; '' = the tail alone is kept
    """

    id: str
    script: str
    environment: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str = ''
    output_url: str = ''
    digest: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttempt:
    """One server's part of one attempt of a job: `rank` counts the servers of a gang from 0.

    `number` counts the attempts of a job from 1: a result counts for the attempt it names, and once (J5).
    usage: what the worker measured: cpu_seconds, user_seconds, system_seconds, max_rss_mib, wall_seconds
    given_at: when its worker was given the script: it is charged from then on; 0: it was not. Of one that was
              taken back: as if that had been when it was given up, as it has been charged until then
    excluded: seconds that are neither charged nor count for its time limit: its server was at rest
    by_cloud: LOST, and Nova's record explains why (core.job.cause)
    saved_at: when its checkpoint was written last; 0: never
    reported_at: of the last heartbeat or result, by the service's clock; 0: none yet
    """

    job_id: str
    number: int
    rank: int = 0
    worker_id: str
    state: AttemptState = AttemptState.STARTING
    created_at: float = 0.0
    given_at: float = 0.0
    started_at: float = 0.0
    ended_at: float = 0.0
    excluded: float = 0.0
    by_cloud: bool = False
    reported_at: float = 0.0
    saved_at: float = 0.0
    exit_code: int | None = None
    usage: Mapping[str, float] = field(default_factory=dict)
    text: str = ''
    """Why it ended so, when there is more than an exit code to say."""


ATTEMPT_BOUNDS: Bounds = dict.fromkeys(
    ('created_at', 'given_at', 'started_at', 'ended_at', 'excluded', 'reported_at', 'saved_at'),
    TIME,
)
"""Without what the worker measured, which its guest may have made up: nothing is decided by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutput:
    """The last bytes that an attempt has written. total: bytes written in all."""

    tail: bytes = b''
    total: int = 0


class JobAction(StrEnum):
    """What happened to a job; statistics, metrics and notifications go by these words."""

    SUBMITTED = 'submitted'
    STARTING = 'starting'
    """An attempt is stored."""

    STARTED = 'started'
    """All of its servers are there: once in each attempt."""

    RUNNING = 'running'
    """It goes on in an attempt that had been given up."""

    PREEMPTING = 'preempting'
    PREEMPTED = 'preempted'
    """Its notice is over, and its servers are taken from it."""

    SUSPENDED = 'suspended'
    RESUMED = 'resumed'
    REQUEUED = 'requeued'
    """It waits again."""

    LOST = 'lost'
    FINISHED = 'finished'
    FAILED = 'failed'
    CANCELLED = 'cancelled'
    SET_ASIDE = 'set_aside'
    """It cannot be handled now (R3 of passes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """One thing that happened to a job, and why.

    action: a JobAction, or another word where nothing counts it (`cancel asked`, `marked`)
    """

    job_id: str
    at: float
    action: str

    attempt: int = 0
    reason: str = ''
    numbers: Mapping[str, float] = field(default_factory=dict)
    number: int = 0
    """Grows with time; the marker of the next page. 0: not stored yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldJob:
    """A job that comes after others. states: of those it names that are still there, arrays resolved."""

    id: str
    condition: AfterCondition
    states: Sequence[JobState]
