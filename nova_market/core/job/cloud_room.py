# SPDX-License-Identifier: Apache-2.0
"""What hosts have for jobs: capacity, what is free now, aggregates, and the calendar of everything but jobs.

Implements rules C2 to C4 of doc/source/specs/calendar.rst for the selection of jobs (rule J3 of
doc/source/specs/jobs.rst):

    capacity = (total - reserved) * ratio of Placement, 0 on a host that is disabled
    free     = capacity - what servers take, by their flavors - what workers will take whose servers are not
               there yet;  at least 0; 0 on a host that is disabled or does not answer

What an idle worker takes counts as free: a job of its queue runs in it, and it goes where another job needs
its room (core.job.pass_starts). What a suspended server takes does not, since Placement counts it too; a
shelved one is on no host. Nova may count more cores of a host than its servers have: the difference is
reserved there, and is not free.

Units as AXES (cores as Placement counts VCPU, MiB, GiB); arrays (AXES, hosts), hosts in the order of their
names. Nothing but jobs is booked for later yet, so the calendar has one step for each host.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.calendar.axes import AXES, CORES, COUNTED
from nova_market.core.calendar.calendar import Calendar, unbooked
from nova_market.core.calendar.capacity import capacity as offered
from nova_market.core.calendar.grain import MOST_AMOUNT
from nova_market.core.job.queue import WORKER_MARKS, DesiredWorkerState, StoredWorker, WorkerState
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.resource import Array, Flags

OF_CORES = ('VCPU', 'PCPU')
"""What Nova counts together as the vCPUs that are used on a host."""

ROUNDING = 2.0**-20
"""Part of a core that sums of fractions may miss by: a grain of the calendar."""

WHOLE_CLOUD = ''
"""Name of the aggregate in row 0: all hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """What was read of the cloud. aggregates: the names of their hosts, by name of the aggregate."""

    hosts: Sequence[CloudHost]
    servers: Sequence[CloudServer]
    aggregates: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudRoom:
    """names: of the hosts; capacity, free: (AXES, hosts); open: (hosts,) enabled, and it answers

    aggregates: (aggregates, hosts), row 0 is the whole cloud; aggregate_row: by name
    host_of:   row of the host that each worker is on, or will be on, by its id
    leaving:   workers that are to go, whose servers are there still, and whose room nobody else has yet
    """

    names: tuple[str, ...]
    capacity: Array
    free: Array
    open: Flags
    aggregates: Flags
    aggregate_row: Mapping[str, int]
    calendar: Calendar
    host_of: Mapping[str, int]
    leaving: tuple[StoredWorker, ...] = ()


def cloud_room(
    cloud: Cloud, workers: Sequence[StoredWorker], wanted: Iterable[str] = ()
) -> CloudRoom:
    """The room there is. workers: all that are stored, of all queues.

    wanted: aggregates that queues name: one that the cloud does not have gets a row without hosts, so that
    its queues' jobs wait for it
    """
    hosts = sorted(cloud.hosts, key=lambda one: one.name)
    row = {str(one.name): number for number, one in enumerate(hosts)}
    by_server = _by_server(workers)
    there = {_worker_of(one, by_server): row.get(str(one.host)) for one in cloud.servers}
    host_of = {
        one.id: place
        for one in workers
        if (place := there[one.id] if one.id in there else row.get(one.host)) is not None
    }
    whole = _whole(hosts)
    free = np.maximum(whole - _taken(cloud.servers, row, len(hosts)) - _reserved(cloud, row), 0.0)
    for one in workers:
        if one.id in host_of and one.id in there and is_idle(one):
            free[:, host_of[one.id]] += _amounts(one)
    leaving = [
        one
        for one in workers
        if one.intention is DesiredWorkerState.GONE and there.get(one.id) is not None
    ]
    # with the room of servers that go, which others have that are to be made
    later = free.copy()
    for one in leaving:
        later[:, host_of[one.id]] += _amounts(one)
    open_ = np.array([host.enabled and host.answering for host in hosts], dtype=np.bool_)
    for one in workers:
        if one.id in host_of and one.id not in there and _will_be(one):
            host_of[one.id] = _likely_host(later, open_, one, host_of[one.id])
            later[:, host_of[one.id]] -= _amounts(one)
            free[:, host_of[one.id]] -= _amounts(one)
    free = np.clip(free, 0.0, whole)
    free[:, [not one.answering for one in hosts]] = 0.0
    names = (WHOLE_CLOUD, *sorted({*cloud.aggregates, *wanted} - {WHOLE_CLOUD}))
    return CloudRoom(
        names=tuple(row), capacity=whole, free=free, open=open_, aggregates=_members(cloud, names, row),
        aggregate_row={name: number for number, name in enumerate(names)},
        calendar=unbooked(offered(whole)), host_of=host_of,
        leaving=_with_room(leaving, later - free, host_of),
    )  # fmt: skip


def is_idle(worker: StoredWorker) -> bool:
    """Whether a job of its queue may run in it, and its room counts as free."""
    present = worker.intention is DesiredWorkerState.PRESENT
    return present and worker.state is WorkerState.IDLE and not worker.job_id


def _whole(hosts: Sequence[CloudHost]) -> Array:
    found = np.zeros((len(AXES), len(hosts)))
    for number, one in enumerate(hosts):
        if one.enabled:
            found[:, number] = [max(one.counted.get(name, 0.0), 0.0) for name in COUNTED]
    return np.minimum(found, MOST_AMOUNT)


def _taken(servers: Sequence[CloudServer], row: Mapping[str, int], hosts: int) -> Array:
    """What servers on these hosts take by their flavors, (AXES, hosts)."""
    found = np.zeros((len(AXES), hosts))
    for one in servers:
        if (place := row.get(str(one.host))) is not None:
            found[:, place] += [one.counted.get(name, 0.0) for name in COUNTED]
    return found


def _reserved(cloud: Cloud, row: Mapping[str, int]) -> Array:
    """Cores that Nova counts on hosts beyond those of their servers, (AXES, hosts)."""
    seen = np.zeros(len(row))
    for server in cloud.servers:
        if (place := row.get(str(server.host))) is not None:
            seen[place] += sum(server.counted.get(name, 0.0) for name in OF_CORES)
    found = np.zeros((len(AXES), len(row)))
    for host in cloud.hosts:
        if host.vcpus_used is not None:
            place = row[str(host.name)]
            found[CORES, place] = max(host.vcpus_used - seen[place], 0.0)
    return found


def _by_server(workers: Sequence[StoredWorker]) -> Mapping[str, str]:
    """Worker by the id of its server, and of those whose server is not known yet by their own."""
    return {one.server_id or one.id: one.id for one in workers}


def _worker_of(server: CloudServer, by_server: Mapping[str, str]) -> str:
    """The worker that a server is; '' for any other server.

    Its own metadata counts only while no server is known of that worker: whoever copies it gains nothing.
    """
    return by_server.get(server.id) or by_server.get(
        server.metadata.get(WORKER_MARKS.place, ''), ''
    )


def _members(cloud: Cloud, names: Sequence[str], row: Mapping[str, int]) -> Flags:
    """(aggregates, hosts): which hosts are in which; all are in the first."""
    found = np.zeros((len(names), len(row)), dtype=np.bool_)
    found[0] = True
    for number, name in enumerate(names[1:], 1):
        found[number, [row[host] for host in cloud.aggregates.get(name, ()) if host in row]] = True
    return found


def _with_room(
    leaving: Sequence[StoredWorker], coming: Array, host_of: Mapping[str, int]
) -> tuple[StoredWorker, ...]:
    """Those whose room nobody else has yet. coming: (AXES, hosts) free when all of them are gone."""
    left = coming.copy()
    found = []
    for one in leaving:
        if (left[:, host_of[one.id]] + ROUNDING >= _amounts(one)).all():
            left[:, host_of[one.id]] -= _amounts(one)
            found.append(one)
    return tuple(found)


def _will_be(worker: StoredWorker) -> bool:
    """Whether a server is being made for it, or is to be on a host again."""
    present = worker.intention is DesiredWorkerState.PRESENT
    return present and (worker.state is WorkerState.STARTING or not worker.server_id)


def _likely_host(free: Array, open_: Flags, worker: StoredWorker, planned: int) -> int:
    """Row of the host that Nova will choose: the planned one, or another when that was filled meanwhile.

    Nova puts servers on other hosts than planned. Their room there must not be counted twice on the one
    and not at all on the other: a job would start that has no room.
    """
    fits = open_ & (free + ROUNDING >= _amounts(worker)[:, None]).all(axis=0)
    return planned if fits[planned] or not fits.any() else int(fits.argmax())


def _amounts(worker: StoredWorker) -> Array:
    return np.array([worker.cores, worker.memory_mib, worker.disk_gib])
