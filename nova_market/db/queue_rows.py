# SPDX-License-Identifier: Apache-2.0
"""Rows of queues as values, and back."""

import json
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import Row

from nova_market.core.job.queue import QUEUE_BOUNDS, QueueLimits, QueueState, StoredQueue
from nova_market.core.row_check import checked
from nova_market.db.apps import packed

COLUMNS = (
    'id', 'name', 'project_id', 'user_id', 'trust_id', 'share', 'aggregate', 'state', 'generation',
    'created_at', 'changed_at',
)  # fmt: skip
SETTINGS = tuple(field.name for field in fields(StoredQueue) if field.name not in COLUMNS)
"""What is kept as a document."""

TUPLES = ('flavors', 'networks', 'projects', 'roles')


def queue_values(queue: StoredQueue) -> dict[str, Any]:
    """A queue as columns have it."""
    settings = {name: getattr(queue, name) for name in SETTINGS}
    settings['limits'] = asdict(queue.limits)
    columns = {name: getattr(queue, name) for name in COLUMNS}
    return {**columns, 'state': str(queue.state), 'settings': packed(settings)}


def stored_queue(row: Row[Any]) -> StoredQueue:
    """Of a row of job_queues.

    :raises BadRow, KeyError, TypeError, ValueError: it is damaged.
    """
    settings = json.loads(row.settings)
    for name in TUPLES:
        settings[name] = tuple(settings[name])
    settings['limits'] = checked(QueueLimits(**settings['limits']))
    columns = {name: getattr(row, name) for name in COLUMNS}
    made = StoredQueue(**{**columns, **settings, 'state': QueueState(row.state)})
    return checked(made, QUEUE_BOUNDS)
