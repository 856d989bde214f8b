# SPDX-License-Identifier: Apache-2.0
"""Tables of jobs: queues, jobs and what they run, attempts, workers, events, statistics per minute.

For SVMSched, section 4.2. Units as in core.job.record and core.job.queue. Documents are JSON in UTF-8.

`jobs.number` is the key by which rows stand in the table: submission only appends, and a page is a range.
What a job runs is kept apart, so that a pass over all waiting jobs reads short rows.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.app_tables import ACTION_LENGTH, ADDRESS_LENGTH, CONTENT, REASON_LENGTH
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, Counter, table_of
from nova_market.db.market_tables import STATE_LENGTH

NAME_LENGTH = 64
FLAVOR_LENGTH = 255
HOST_LENGTH = 255
CODE_LENGTH = 32
DIGEST_LENGTH = 64
URL_LENGTH = 2000


class QueueRow(Base):
    """settings: what is not searched by, as a document; see db.queues."""

    __tablename__ = 'job_queues'
    __table_args__ = (
        UniqueConstraint('project_id', 'name', name='queue_of_project'),
        Index('queues_by_name', 'name', 'project_id'),
        TABLE,
    )
    id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    trust_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    share: Mapped[float] = mapped_column(Double)
    aggregate: Mapped[str] = mapped_column(String(255), server_default='')
    settings: Mapped[bytes] = mapped_column(CONTENT)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    generation: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[float] = mapped_column(Double)
    changed_at: Mapped[float] = mapped_column(Double)


class QueueTrustRow(Base):
    """A trust that a queue had before its present one, until it is ended."""

    __tablename__ = 'job_queue_trusts'
    __table_args__ = (TABLE,)
    trust_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    queue_id: Mapped[str] = mapped_column(String(UUID_LENGTH))


class QueueNameRow(Base):
    """A name that a queue of this user had until it was deleted or renamed: it rests."""

    __tablename__ = 'job_queue_names'
    __table_args__ = (TABLE,)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    left_at: Mapped[float] = mapped_column(Double)


class QueueAliasRow(Base):
    """What a project calls a queue of another project that it has accepted."""

    __tablename__ = 'job_queue_aliases'
    __table_args__ = (Index('aliases_of_queue', 'queue_id'), TABLE)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    queue_id: Mapped[str] = mapped_column(ForeignKey('job_queues.id', name='alias_queue'))


class QueueInvitationRow(Base):
    """A project whose jobs a queue of another one takes; as it is in the queue's settings."""

    __tablename__ = 'job_queue_invitations'
    __table_args__ = (Index('invitations_of_queue', 'queue_id'), TABLE)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    queue_id: Mapped[str] = mapped_column(
        ForeignKey('job_queues.id', name='invitation_queue'), primary_key=True
    )


class JobRow(Base):
    """queue_id to submitted_at never change; `wish` is the owner's, the rest the service's."""

    __tablename__ = 'jobs'
    __table_args__ = (
        UniqueConstraint('id', name='job_id'),
        Index('jobs_of_project', 'project_id', 'number'),
        Index('jobs_of_queue', 'queue_id', 'number'),
        Index('jobs_by_state', 'state', 'project_id', 'queue_id'),
        Index('jobs_of_array', 'array_id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    number: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    queue_id: Mapped[str] = mapped_column(ForeignKey('job_queues.id', name='job_queue'))
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    user_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    kind: Mapped[str] = mapped_column(String(STATE_LENGTH))
    priority: Mapped[int] = mapped_column(Integer)
    weight: Mapped[float] = mapped_column(Double)
    flavor: Mapped[str] = mapped_column(String(FLAVOR_LENGTH))
    cores: Mapped[float] = mapped_column(Double)
    memory_mib: Mapped[float] = mapped_column(Double)
    disk_gib: Mapped[float] = mapped_column(Double)
    servers: Mapped[int] = mapped_column(Integer)
    time_limit: Mapped[int] = mapped_column(Integer)
    array_id: Mapped[str | None] = mapped_column(String(UUID_LENGTH))
    array_index: Mapped[int] = mapped_column(Integer)
    array_size: Mapped[int] = mapped_column(Integer)
    after: Mapped[bytes | None] = mapped_column(CONTENT)
    after_condition: Mapped[str] = mapped_column(String(STATE_LENGTH))
    retries: Mapped[int] = mapped_column(Integer)
    least_run_time: Mapped[int] = mapped_column(Integer)
    notice: Mapped[int] = mapped_column(Integer)
    preempt_action: Mapped[str] = mapped_column(String(STATE_LENGTH))
    value: Mapped[int] = mapped_column(BigInteger)
    not_before: Mapped[float] = mapped_column(Double)
    cost_limit: Mapped[int] = mapped_column(BigInteger)
    submitted_at: Mapped[float] = mapped_column(Double)
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    wish: Mapped[str] = mapped_column(String(STATE_LENGTH))
    changed_at: Mapped[float] = mapped_column(Double)
    attempt: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    lost: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    requeues: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    started_at: Mapped[float] = mapped_column(Double, server_default=text('0'))
    ended_at: Mapped[float] = mapped_column(Double, server_default=text('0'))
    exit_code: Mapped[int | None] = mapped_column(Integer)
    charged: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    compensation: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    displaced_by: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    saves: Mapped[bool] = mapped_column(Boolean, server_default=false())
    by_offer: Mapped[bool] = mapped_column(Boolean, server_default=false())
    reserve: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    owed: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    reason_code: Mapped[str] = mapped_column(String(CODE_LENGTH), server_default='')
    reason_text: Mapped[str] = mapped_column(String(REASON_LENGTH), server_default='')
    reason_numbers: Mapped[bytes | None] = mapped_column(CONTENT)
    expected_start: Mapped[float | None] = mapped_column(Double)


class ContentRow(Base):
    """What jobs run: id is that of the job, or of the array, whose elements share one."""

    __tablename__ = 'job_contents'
    __table_args__ = (TABLE,)
    id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    script: Mapped[bytes] = mapped_column(CONTENT)
    environment: Mapped[bytes] = mapped_column(CONTENT)
    checkpoint: Mapped[bytes] = mapped_column(CONTENT)
    output_url: Mapped[str] = mapped_column(String(URL_LENGTH), server_default='')
    digest: Mapped[str] = mapped_column(String(DIGEST_LENGTH), server_default='')


class AttemptRow(Base):
    """One server's part of one attempt, with the tail of its output."""

    __tablename__ = 'job_attempts'
    __table_args__ = (TABLE,)
    job_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    rank: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    worker_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    created_at: Mapped[float] = mapped_column(Double)
    given_at: Mapped[float] = mapped_column(Double, server_default=text('0'))
    started_at: Mapped[float] = mapped_column(Double)
    ended_at: Mapped[float] = mapped_column(Double)
    excluded: Mapped[float] = mapped_column(Double, server_default=text('0'))
    by_cloud: Mapped[bool] = mapped_column(Boolean, server_default=false())
    reported_at: Mapped[float] = mapped_column(Double)
    saved_at: Mapped[float] = mapped_column(Double)
    exit_code: Mapped[int | None] = mapped_column(Integer)
    usage: Mapped[bytes] = mapped_column(CONTENT)
    output: Mapped[bytes | None] = mapped_column(CONTENT)
    output_total: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    text: Mapped[str] = mapped_column(String(REASON_LENGTH), server_default='')


class WorkerRow(Base):
    __tablename__ = 'job_workers'
    __table_args__ = (
        Index('workers_of_queue', 'queue_id', 'id'),
        # those without a job are counted for each request for offers
        Index('workers_idle', 'queue_id', 'intention', 'state', 'job_id', 'flavor'),
        TABLE,
    )
    id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    queue_id: Mapped[str] = mapped_column(ForeignKey('job_queues.id', name='worker_queue'))
    flavor: Mapped[str] = mapped_column(String(FLAVOR_LENGTH))
    cores: Mapped[float] = mapped_column(Double)
    memory_mib: Mapped[float] = mapped_column(Double)
    disk_gib: Mapped[float] = mapped_column(Double)
    host: Mapped[str] = mapped_column(String(HOST_LENGTH), server_default='')
    intention: Mapped[str] = mapped_column(String(STATE_LENGTH))
    state: Mapped[str] = mapped_column(String(STATE_LENGTH))
    server_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    address: Mapped[str] = mapped_column(String(ADDRESS_LENGTH), server_default='')
    credential: Mapped[str] = mapped_column(String(DIGEST_LENGTH), server_default='')
    session: Mapped[str] = mapped_column(String(DIGEST_LENGTH), server_default='')
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    job_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    attempt: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    rank: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    created_at: Mapped[float] = mapped_column(Double)
    seen_at: Mapped[float] = mapped_column(Double, server_default=text('0'))
    idle_since: Mapped[float] = mapped_column(Double, server_default=text('0'))
    clock_offset: Mapped[float] = mapped_column(Double, server_default=text('0'))
    tries: Mapped[int] = mapped_column(Integer, server_default=text('0'))
    retry_at: Mapped[float] = mapped_column(Double, server_default=text('0'))


class JobEventRow(Base):
    __tablename__ = 'job_events'
    __table_args__ = (
        Index('job_events_of', 'job_id', 'id'),
        {**TABLE, 'sqlite_autoincrement': True},
    )
    id: Mapped[int] = mapped_column(Counter, primary_key=True, autoincrement=True)
    job_id: Mapped[str] = mapped_column(String(UUID_LENGTH))
    at: Mapped[float] = mapped_column(Double)
    attempt: Mapped[int] = mapped_column(Integer)
    action: Mapped[str] = mapped_column(String(ACTION_LENGTH))
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH), server_default='')
    numbers: Mapped[bytes] = mapped_column(CONTENT)


class QueueMinuteRow(Base):
    """queue_id '': all queues together."""

    __tablename__ = 'job_minutes'
    __table_args__ = (TABLE,)
    queue_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    minute: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    cores: Mapped[float] = mapped_column(Double)
    share: Mapped[float] = mapped_column(Double)
    waiting: Mapped[int] = mapped_column(Integer)
    running: Mapped[int] = mapped_column(Integer)
    started: Mapped[int] = mapped_column(Integer)
    finished: Mapped[int] = mapped_column(Integer)
    failed: Mapped[int] = mapped_column(Integer)
    preempted: Mapped[int] = mapped_column(Integer)


class HostSizesRow(Base):
    """One row: what the largest hosts have, as a document."""

    __tablename__ = 'job_hosts'
    __table_args__ = (TABLE,)
    name: Mapped[str] = mapped_column(String(20), primary_key=True)
    sizes: Mapped[bytes] = mapped_column(CONTENT)


class JobProjectRow(Base):
    """A project that has submitted jobs: its row is locked while its jobs that wait are counted."""

    __tablename__ = 'job_projects'
    __table_args__ = (TABLE,)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)


class JobStateRow(Base):
    """What the service carries from pass to pass: db.job_states."""

    __tablename__ = 'job_states'
    __table_args__ = (TABLE,)
    name: Mapped[str] = mapped_column(String(20), primary_key=True)
    document: Mapped[bytes] = mapped_column(CONTENT)
    version: Mapped[int] = mapped_column(BigInteger, server_default=text('0'))
    """Grows with each write: whoever has this version need not read the document."""


job_queues = table_of(QueueRow)
job_queue_aliases = table_of(QueueAliasRow)
job_queue_invitations = table_of(QueueInvitationRow)
job_queue_names = table_of(QueueNameRow)
job_queue_trusts = table_of(QueueTrustRow)
jobs = table_of(JobRow)
job_contents = table_of(ContentRow)
job_attempts = table_of(AttemptRow)
job_workers = table_of(WorkerRow)
job_events = table_of(JobEventRow)
job_minutes = table_of(QueueMinuteRow)
job_hosts = table_of(HostSizesRow)
job_projects = table_of(JobProjectRow)
job_states = table_of(JobStateRow)

BESIDE_QUEUES = (
    job_workers,
    job_minutes,
    job_queue_trusts,
    job_queue_aliases,
    job_queue_invitations,
)
"""Whose rows go with their queue."""
