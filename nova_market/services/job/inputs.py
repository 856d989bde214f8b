# SPDX-License-Identifier: Apache-2.0
"""What one pass over all jobs reads: rows of the stores, and the cloud.

Implements the observation of SVMSched's scheduling module, section 4.2.2. Seconds since the epoch.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nova_market.core.job.cloud_room import Cloud
from nova_market.core.job.operator_limits import JobLimits, jobs_in_force, queue_in_force
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import StoredJob
from nova_market.core.resource import Array
from nova_market.errors import AccessLost, CloudRefused, CloudUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import (
    AttemptStore,
    JobHosts,
    JobStateStore,
    JobStore,
    OfferStore,
    QueueStore,
    WorkerUrl,
)
from nova_market.row_boundary import RowBoundary
from nova_market.services.cloud_rows import sound_hosts, sound_servers

LOG = logging.getLogger(__name__)

PAGE = 1000
MOST_SIZES = 100
"""Sizes of hosts that admission compares a flavor with."""

LOST = 'no job is started or preempted, jobs that run go on: the cloud cannot be read'
BACK = 'the cloud can be read again: jobs are started'

Size = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStores:
    """All in one database."""

    queues: QueueStore
    jobs: JobStore
    attempts: AttemptStore
    states: JobStateStore
    offers: OfferStore


def all_queues(store: QueueStore) -> list[StoredQueue]:
    """Every queue, by name and project."""
    found: list[StoredQueue] = []
    while page := store.queues(after=found[-1].key if found else '', limit=PAGE):
        found.extend(page)
    return found


def queues_in_force(store: QueueStore, most: JobLimits) -> list[StoredQueue]:
    """The same with what counts of their limits (J11)."""
    return [queue_in_force(one, most) for one in all_queues(store)]


def active_jobs(
    store: JobStore, queues: Sequence[StoredQueue], most: JobLimits
) -> Sequence[StoredJob]:
    """Every active job, with what counts of its limits."""
    return jobs_in_force(store.active(), queues, most)


class CloudReader:
    """What the cloud has; an outage is logged once, and jobs that run go on meanwhile."""

    def __init__(
        self, hosts: JobHosts, boundary: RowBoundary, lost: str = LOST, back: str = BACK
    ) -> None:
        """lost, back: for the log, when the cloud is away and when it is there again."""
        self._boundary = boundary
        self._hosts = hosts
        self._outage = OutageLog(LOG, lost=lost, back=back)

    @property
    def away(self) -> bool:
        """Whether the last reading failed."""
        return self._outage.active

    def read(self) -> Cloud | None:
        """Hosts, servers and aggregates; None while they cannot be had."""
        try:
            found = Cloud(
                hosts=sound_hosts(self._boundary, self._hosts.hosts()),
                servers=sound_servers(self._boundary, self._hosts.servers()),
                aggregates=self._hosts.aggregates(),
            )
        except (CloudUnavailable, AccessLost, CloudRefused) as error:
            self._outage.failed(error)
            return None
        self._outage.works()
        return found


class Listening:
    """Since when the API has answered workers without a gap, as far as this service can tell (JW8).

    It begins anew when the service begins to lead, when its database was away, and while the URL of the
    workers does not answer. What nobody could have received is no silence of a worker.
    """

    def __init__(self, url: WorkerUrl, wall: Callable[[], float]) -> None:
        self._url = url
        self._wall = wall
        self._since: float | None = None
        self._outage = OutageLog(
            LOG,
            lost='no worker is declared lost for its silence: the API does not answer at [jobs]worker_url',
            back='the API answers at [jobs]worker_url again: silent workers are declared lost',
        )

    def forget(self) -> None:
        """Nothing is known of the time until now."""
        self._since = None

    def since(self) -> float:
        """Asks the API."""
        if not self._url.answers():
            self._outage.failed('no answer')
            self._since = None
            return self._wall()
        self._outage.works()
        if self._since is None:
            self._since = self._wall()
        return self._since


class HostSizes:
    """What the largest hosts have, kept for admission (J2); written when it changes."""

    def __init__(self, store: QueueStore) -> None:
        self._store = store
        self._noted: list[Size] | None = None

    def forget(self) -> None:
        self._noted = None

    def note(self, capacity: Array) -> None:
        """capacity: (AXES, hosts)."""
        cores, memory, disk = capacity.tolist()
        sizes = _largest(zip(cores, memory, disk, strict=True))
        if sizes and sizes != self._noted:
            self._store.note_hosts(sizes)
            self._noted = sizes


def _largest(sizes: Iterable[Sequence[float]]) -> list[Size]:
    """Those that no other one is at least as large as, the ones with most cores first."""
    found: list[Size] = []
    for cores, memory, disk in sorted(set(map(tuple, sizes)), reverse=True):
        if not any(memory <= other[1] and disk <= other[2] for other in found):
            found.append((cores, memory, disk))
    return found[:MOST_SIZES]
