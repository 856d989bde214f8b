# SPDX-License-Identifier: Apache-2.0
"""Jobs, their attempts and workers, what happened to them, and what the service keeps."""

import sqlalchemy as sa

from nova_market.db.migrations.initial.events import make_events
from nova_market.db.migrations.resumable import CONTENT, COUNTER, create, index, row


def make() -> None:
    _jobs()
    _contents()
    _attempts()
    _workers()
    _events()
    _states()


def _jobs() -> None:
    create(
        'jobs',
        sa.Column('number', COUNTER, autoincrement=True, nullable=False),
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('queue_id', sa.String(length=64), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('user_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('kind', sa.String(length=16), nullable=False),
        sa.Column('priority', sa.Integer(), nullable=False),
        sa.Column('weight', sa.Double(), nullable=False),
        sa.Column('flavor', sa.String(length=255), nullable=False),
        sa.Column('cores', sa.Double(), nullable=False),
        sa.Column('memory_mib', sa.Double(), nullable=False),
        sa.Column('disk_gib', sa.Double(), nullable=False),
        sa.Column('servers', sa.Integer(), nullable=False),
        sa.Column('time_limit', sa.Integer(), nullable=False),
        sa.Column('array_id', sa.String(length=64)),
        sa.Column('array_index', sa.Integer(), nullable=False),
        sa.Column('array_size', sa.Integer(), nullable=False),
        sa.Column('after', CONTENT),
        sa.Column('after_condition', sa.String(length=16), nullable=False),
        sa.Column('retries', sa.Integer(), nullable=False),
        sa.Column('least_run_time', sa.Integer(), nullable=False),
        sa.Column('notice', sa.Integer(), nullable=False),
        sa.Column('preempt_action', sa.String(length=16), nullable=False),
        sa.Column('value', sa.BigInteger(), nullable=False),
        sa.Column('not_before', sa.Double(), nullable=False),
        sa.Column('cost_limit', sa.BigInteger(), nullable=False),
        sa.Column('submitted_at', sa.Double(), nullable=False),
        *_service_columns(),
        sa.ForeignKeyConstraint(['queue_id'], ['job_queues.id'], name='job_queue'),
        sa.PrimaryKeyConstraint('number'),
        sa.UniqueConstraint('id', name='job_id'),
        sqlite_autoincrement=True,
    )
    index('jobs_by_state', 'jobs', ['state', 'project_id', 'queue_id'])
    index('jobs_of_array', 'jobs', ['array_id'])
    index('jobs_of_project', 'jobs', ['project_id', 'number'])
    index('jobs_of_queue', 'jobs', ['queue_id', 'number'])


def _service_columns() -> list[sa.Column[object]]:
    """What changes of a job."""
    return [
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('wish', sa.String(length=16), nullable=False),
        sa.Column('changed_at', sa.Double(), nullable=False),
        sa.Column('attempt', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('lost', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('requeues', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('started_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('ended_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('exit_code', sa.Integer()),
        sa.Column('charged', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('compensation', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('displaced_by', sa.String(length=64), server_default='', nullable=False),
        sa.Column('reason_code', sa.String(length=32), server_default='', nullable=False),
        sa.Column('reason_text', sa.String(length=1000), server_default='', nullable=False),
        sa.Column('reason_numbers', CONTENT),
        sa.Column('expected_start', sa.Double()),
        sa.Column('saves', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('by_offer', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('reserve', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('owed', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
    ]


def _contents() -> None:
    create(
        'job_contents',
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('script', CONTENT, nullable=False),
        sa.Column('environment', CONTENT, nullable=False),
        sa.Column('checkpoint', CONTENT, nullable=False),
        sa.Column('output_url', sa.String(length=2000), server_default='', nullable=False),
        sa.Column('digest', sa.String(length=64), server_default='', nullable=False),
        sa.PrimaryKeyConstraint('id'),
    )


def _attempts() -> None:
    create(
        'job_attempts',
        sa.Column('job_id', sa.String(length=64), nullable=False),
        sa.Column('number', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('rank', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('worker_id', sa.String(length=64), nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('created_at', sa.Double(), nullable=False),
        sa.Column('started_at', sa.Double(), nullable=False),
        sa.Column('ended_at', sa.Double(), nullable=False),
        sa.Column('reported_at', sa.Double(), nullable=False),
        sa.Column('saved_at', sa.Double(), nullable=False),
        sa.Column('exit_code', sa.Integer()),
        sa.Column('usage', CONTENT, nullable=False),
        sa.Column('output', CONTENT),
        sa.Column('output_total', sa.BigInteger(), server_default=sa.text('0'), nullable=False),
        sa.Column('text', sa.String(length=1000), server_default='', nullable=False),
        sa.Column('given_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('excluded', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('by_cloud', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint('job_id', 'number', 'rank'),
    )


def _workers() -> None:
    create(
        'job_workers',
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('queue_id', sa.String(length=64), nullable=False),
        sa.Column('flavor', sa.String(length=255), nullable=False),
        sa.Column('cores', sa.Double(), nullable=False),
        sa.Column('memory_mib', sa.Double(), nullable=False),
        sa.Column('disk_gib', sa.Double(), nullable=False),
        sa.Column('host', sa.String(length=255), server_default='', nullable=False),
        sa.Column('intention', sa.String(length=16), nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('server_id', sa.String(length=64), server_default='', nullable=False),
        sa.Column('address', sa.String(length=64), server_default='', nullable=False),
        sa.Column('credential', sa.String(length=64), server_default='', nullable=False),
        sa.Column('job_id', sa.String(length=64), server_default='', nullable=False),
        sa.Column('attempt', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('rank', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('created_at', sa.Double(), nullable=False),
        sa.Column('seen_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('idle_since', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('clock_offset', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('tries', sa.Integer(), server_default=sa.text('0'), nullable=False),
        sa.Column('retry_at', sa.Double(), server_default=sa.text('0'), nullable=False),
        sa.Column('session', sa.String(64), server_default='', nullable=False),
        sa.Column('project_id', sa.String(64), server_default='', nullable=False),
        sa.ForeignKeyConstraint(['queue_id'], ['job_queues.id'], name='worker_queue'),
        sa.PrimaryKeyConstraint('id'),
    )
    index('workers_of_queue', 'job_workers', ['queue_id', 'id'])
    index('workers_idle', 'job_workers', ['queue_id', 'intention', 'state', 'job_id', 'flavor'])


def _events() -> None:
    make_events('job_events', 'job_id', sa.Column('attempt', sa.Integer(), nullable=False))


def _states() -> None:
    """The one row of sizes is there from the beginning: whoever changes queues locks it."""
    create(
        'job_states',
        sa.Column('name', sa.String(length=20), nullable=False),
        sa.Column('document', CONTENT, nullable=False),
        sa.Column('version', sa.BigInteger, nullable=False, server_default=sa.text('0')),
        sa.PrimaryKeyConstraint('name'),
    )
    create(
        'job_projects',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint('project_id'),
    )
    create(
        'job_hosts',
        sa.Column('name', sa.String(length=20), nullable=False),
        sa.Column('sizes', CONTENT, nullable=False),
        sa.PrimaryKeyConstraint('name'),
    )
    row('job_hosts', 'name', name='largest', sizes=b'')
