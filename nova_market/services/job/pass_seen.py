# SPDX-License-Identifier: Apache-2.0
"""What one pass over the queues of jobs found and did, for metrics. Units: seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

from nova_market.core.job.minutes import PassRead
from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.store_values import JobStep


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PassSeen:
    """workers: of all queues; steps: those that were written.

    seconds: of the whole pass; selection_seconds: of the decision which jobs start
    troubled: queues that something is wrong with
    """

    read: PassRead
    workers: Sequence[StoredWorker] = ()
    steps: Sequence[JobStep] = ()
    seconds: float = 0.0
    selection_seconds: float = 0.0
    troubled: int = 0
