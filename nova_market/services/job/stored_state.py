# SPDX-License-Identifier: Apache-2.0
"""What passes need of the past and of the cloud beside the rows: usage of owners, capacities, lifecycles.

For rules J3 (`fair_tree`) and J4 (properties of flavors) of doc/source/specs/jobs.rst. Units: core-seconds,
cores, MiB, seconds since the epoch.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from nova_market.core.job.cloud_room import Cloud, CloudRoom
from nova_market.core.job.decayed_usage import HALF_LIFE
from nova_market.core.job.lifecycle import Lifecycle, lifecycle_of
from nova_market.core.job.queue import WORKER_MARKS, StoredQueue, StoredWorker
from nova_market.core.job.record import JobState, StoredJob
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.owner_server import OwnerServer
from nova_market.ports import JobStateStore
from nova_market.row_boundary import RowBoundary

STATE = 'usage'
EVERY = 60.0
"""Seconds between two writes; what lies between is computed again from the jobs that run then."""

LEAST = 1.0
"""Core-seconds below which an owner's usage is forgotten."""

HOLDS_CORES = (JobState.STARTING, JobState.RUNNING, JobState.PREEMPTING)

Owner = tuple[str, str]
"""Queue, project."""


class UsageAccount:
    """Core-seconds of each project in each queue, which lose half of their weight in HALF_LIFE."""

    def __init__(self, states: JobStateStore, boundary: RowBoundary) -> None:
        self._states = states
        self._boundary = boundary
        self._usage: dict[Owner, float] | None = None
        self._at = 0.0
        self._written = 0.0

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._usage = None

    def until(
        self, now: float, queues: Iterable[StoredQueue], active: Iterable[StoredJob]
    ) -> Mapping[Owner, float]:
        """Up to now. What runs now is taken to have run since the last call.

        :raises DatabaseUnavailable: a later call makes up for it.
        """
        if self._usage is None:
            self._read(now)
        known = {one.id for one in queues} | self._boundary.unread('queue')
        passed = max(now - self._at, 0.0)
        part = 2.0 ** (-passed / HALF_LIFE)
        found = {
            owner: value * part
            for owner, value in (self._usage or {}).items()
            if owner[0] in known and value * part >= LEAST
        }
        for job in active:
            if job.state in HOLDS_CORES:
                owner = (job.queue_id, job.project_id)
                found[owner] = found.get(owner, 0.0) + job.cores * job.servers * passed
        self._usage, self._at = found, now
        if now - self._written >= EVERY:
            self._write(now)
        return found

    def _read(self, now: float) -> None:
        stored = self._states.read(STATE)

        def parsed() -> tuple[dict[Owner, float], float]:
            used = {(queue, project): float(one) for queue, project, one in stored.get('of', ())}
            sound = {owner: one for owner, one in used.items() if isfinite(one)}
            return sound, min(float(stored.get('at', now)), now)

        nothing: dict[Owner, float] = {}
        otherwise = nothing, now
        self._usage, self._at = self._boundary.value('document', STATE, 'parse', parsed, otherwise)
        self._written = self._at

    def _write(self, now: float) -> None:
        rows = [[*owner, used] for owner, used in sorted((self._usage or {}).items())]
        self._states.write(STATE, {'at': now, 'of': rows})
        self._written = now


def capacities(room: CloudRoom) -> Mapping[str, tuple[float, float]]:
    """Cores and MiB of each aggregate; '': of the cloud."""
    found = {}
    for name, row in room.aggregate_row.items():
        cores, memory = room.capacity[:2, room.aggregates[row]].sum(axis=1).tolist()
        found[name] = (cores, memory)
    return found


def hosts_of(cloud: Cloud, servers: Mapping[str, OwnerServer]) -> Mapping[str, CloudHost]:
    """The hosts of these servers, by the same keys."""
    hosts = {one.name: one for one in cloud.hosts}
    host_of = {one.id: hosts[one.host] for one in cloud.servers if one.host in hosts}
    return {key: host_of[one.id] for key, one in servers.items() if one.id in host_of}


def lifecycles(
    servers: Iterable[CloudServer], workers: Sequence[StoredWorker]
) -> Mapping[str, Lifecycle]:
    """What the flavors of workers state of preemption, by the flavor as jobs name it."""
    flavor = {one.id: one.flavor for one in workers}
    return {
        flavor[name]: lifecycle_of(one.extra_specs)
        for one in servers
        if (name := one.metadata.get(WORKER_MARKS.place, '')) in flavor
    }
