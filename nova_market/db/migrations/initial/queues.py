# SPDX-License-Identifier: Apache-2.0
"""Queues, their trusts, names, aliases and invitations, and statistics per minute."""

import sqlalchemy as sa

from nova_market.db.migrations.resumable import CONTENT, create, index


def make() -> None:
    _queues()
    _names()
    _invitations()
    _minutes()


def _queues() -> None:
    create(
        'job_queues',
        sa.Column('id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('user_id', sa.String(length=64), nullable=False),
        sa.Column('trust_id', sa.String(length=64), server_default='', nullable=False),
        sa.Column('share', sa.Double(), nullable=False),
        sa.Column('aggregate', sa.String(length=255), server_default='', nullable=False),
        sa.Column('settings', CONTENT, nullable=False),
        sa.Column('state', sa.String(length=16), nullable=False),
        sa.Column('generation', sa.BigInteger(), nullable=False),
        sa.Column('created_at', sa.Double(), nullable=False),
        sa.Column('changed_at', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'name', name='queue_of_project'),
    )
    index('queues_by_name', 'job_queues', ['name', 'project_id'])
    create(
        'job_queue_trusts',
        sa.Column('trust_id', sa.String(length=64), nullable=False),
        sa.Column('queue_id', sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint('trust_id'),
    )


def _names() -> None:
    create(
        'job_queue_names',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column('user_id', sa.String(length=64), nullable=False),
        sa.Column('left_at', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('project_id', 'name'),
    )
    create(
        'job_queue_aliases',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=64), nullable=False),
        sa.Column(
            'queue_id',
            sa.String(length=64),
            sa.ForeignKey('job_queues.id', name='alias_queue'),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint('project_id', 'name'),
    )
    index('aliases_of_queue', 'job_queue_aliases', ['queue_id'])


def _invitations() -> None:
    create(
        'job_queue_invitations',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column(
            'queue_id',
            sa.String(length=64),
            sa.ForeignKey('job_queues.id', name='invitation_queue'),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint('project_id', 'queue_id'),
    )
    index('invitations_of_queue', 'job_queue_invitations', ['queue_id'])


def _minutes() -> None:
    create(
        'job_minutes',
        sa.Column('queue_id', sa.String(length=64), nullable=False),
        sa.Column('minute', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('cores', sa.Double(), nullable=False),
        sa.Column('share', sa.Double(), nullable=False),
        sa.Column('waiting', sa.Integer(), nullable=False),
        sa.Column('running', sa.Integer(), nullable=False),
        sa.Column('started', sa.Integer(), nullable=False),
        sa.Column('finished', sa.Integer(), nullable=False),
        sa.Column('failed', sa.Integer(), nullable=False),
        sa.Column('preempted', sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint('queue_id', 'minute'),
    )
