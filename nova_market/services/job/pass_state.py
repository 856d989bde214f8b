# SPDX-License-Identifier: Apache-2.0
"""What is known while one pass over the queues of jobs is made. Seconds since the epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nova_market.core.job.cloud_room import Cloud, CloudRoom
from nova_market.core.job.pass_input import PassMemory
from nova_market.core.job.queue import StoredQueue, StoredWorker
from nova_market.core.job.store_values import JobStep
from nova_market.core.row_check import checked
from nova_market.services.job.worker_servers import ServerView


@dataclass(slots=True)
class Pass:
    """What is known in one pass. since: as Listening.since; room: None while the cloud is away."""

    now: float
    since: float
    queues: Sequence[StoredQueue]
    workers: dict[str, StoredWorker]
    cloud: Cloud | None
    view: ServerView = field(default_factory=ServerView)
    steps: list[JobStep] = field(default_factory=list)
    room: CloudRoom | None = None
    selection_seconds: float = 0.0

    def rows(self) -> list[StoredWorker]:
        """Workers, by id."""
        return [self.workers[name] for name in sorted(self.workers)]

    def of_queues(self) -> dict[str, list[StoredWorker]]:
        """Workers by queue, by id."""
        found: dict[str, list[StoredWorker]] = {one.id: [] for one in self.queues}
        for worker_id in sorted(self.workers):
            found.setdefault(self.workers[worker_id].queue_id, []).append(self.workers[worker_id])
        return found


def remembered(document: Mapping[str, Any]) -> tuple[int, PassMemory]:
    """What the pass before has kept.

    :raises BadRow: it is not that.
    """
    order, claims = (tuple(document.get(name, ())) for name in ('order', 'claims'))
    return int(document.get('turn', 0)), checked(PassMemory(order=order, claims=claims))
