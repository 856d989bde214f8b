# SPDX-License-Identifier: Apache-2.0
"""Which workers of a queue that run nothing go.

Implements rule J1 of doc/source/specs/jobs.rst (how long an idle worker is kept) for the workers of SVMSched,
section 4.2.3. A worker goes

- when it has been idle for `idle_seconds`; while jobs of its queue wait, not before HANDOVER, so that the
  next pass can use it even where nothing is kept; in a tender queue not at all, as it may be promised
- when its queue uses no worker twice, no longer lists its flavor, is being deleted or is gone
- when it was silent for as long as a worker may be
- GRACE after its job was given up, if no message of it has taken the job back (JW5), and at once when its job
  has ended or runs elsewhere

Seconds of the service's clock.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.queue import (
    DesiredWorkerState,
    QueueState,
    StoredQueue,
    StoredWorker,
    WorkerState,
)

HANDOVER = 30.0
GRACE = 60.0
"""As long as a worker may be silent."""


def upkeep(
    queue: StoredQueue | None,
    workers: Sequence[StoredWorker],
    *,
    active: Collection[str],
    now: float,
    listening_since: float,
    pace: WorkerPace,
    has_waiting: bool,
) -> tuple[StoredWorker, ...]:
    """Rows that change.

    queue:   None when it is gone; workers: all of it
    active:  ids of jobs that are active, read after the workers: one that has just started is among them
    has_waiting: whether jobs of the queue wait
    """
    found = []
    for one in workers:
        if one.intention is DesiredWorkerState.GONE or one.job_id in active:
            continue
        if queue is None or queue.state is QueueState.DELETING or one.job_id:
            grace = GRACE if one.job_id and one.idle_since and queue is not None else 0.0
            if now - one.idle_since >= grace:
                found.append(replace(one, intention=DesiredWorkerState.GONE))
        elif _goes(queue, one, now, listening_since, pace, has_waiting):
            found.append(replace(one, intention=DesiredWorkerState.GONE))
        elif one.state is not WorkerState.IDLE or not one.idle_since:
            found.append(replace(one, state=WorkerState.IDLE, idle_since=one.idle_since or now))
    return tuple(found)


def _goes(
    queue: StoredQueue,
    worker: StoredWorker,
    now: float,
    listening_since: float,
    pace: WorkerPace,
    has_waiting: bool,
) -> bool:
    """Whether a worker without a job goes."""
    if not queue.reuse or worker.flavor not in queue.flavors or not worker.seen_at:
        return True
    if now - max(worker.seen_at, listening_since) > pace.silence:
        return True
    if queue.is_tender and has_waiting:
        return False
    kept = max(queue.idle_seconds, HANDOVER) if has_waiting else queue.idle_seconds
    return worker.idle_since > 0.0 and now - worker.idle_since >= kept
