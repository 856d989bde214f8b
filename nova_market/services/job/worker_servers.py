# SPDX-License-Identifier: Apache-2.0
"""The servers of workers as the cloud has them, read once in a pass, before the rows that they belong to.

For rule F5 of doc/source/specs/jobs.rst. A server that is not in a list may be in a part of the cloud that
does not answer: it is gone when the cloud, asked for that one, says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from nova_market.core.job.queue import QueueState, StoredQueue, StoredWorker
from nova_market.core.market.inventory import CloudHost
from nova_market.core.market.owner_server import OwnerAccess, OwnerServer, ServerState
from nova_market.errors import AccessLost, TrustGone
from nova_market.ports import OwnerCloud
from nova_market.services.failures import Failures
from nova_market.services.owner_servers import OwnerServers


@dataclass(slots=True)
class QueueServers:
    """Of one queue. by_place: with its mark, by the id of their worker; by_id: of its workers' rows

    blind: there may be others, in a part of the cloud that does not answer
    """

    by_place: dict[str, list[OwnerServer]] = field(default_factory=dict)
    by_id: dict[str, OwnerServer] = field(default_factory=dict)
    blind: bool = False

    def of(self, worker: StoredWorker) -> Sequence[OwnerServer]:
        """Servers that are this worker."""
        marked = self.by_place.get(worker.id, [])
        own = self.by_id.get(worker.server_id)
        return marked if own is None or own in marked else [*marked, own]


@dataclass(slots=True)
class ServerView:
    """What one pass knows. of_queue: of those that answered; by_worker: the server of each worker; hosts:
    where that is, as the operator sees it

    unknown: workers whose part of the cloud did not answer; lost: queues whose trust is no good, and why
    """

    of_queue: dict[str, QueueServers] = field(default_factory=dict)
    by_worker: dict[str, OwnerServer] = field(default_factory=dict)
    hosts: Mapping[str, CloudHost] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    lost: dict[str, str] = field(default_factory=dict)


def kept_server(worker: StoredWorker, own: Sequence[OwnerServer]) -> OwnerServer | None:
    """The server in the row, else the newest: only the credential that was made last is stored."""
    found = [
        one for one in own if one.state is not ServerState.DELETING or one.id == worker.server_id
    ]
    if not found:
        return None
    return max(found, key=lambda one: (one.id == worker.server_id, one.created_at, one.id))


def read_servers(
    cloud: OwnerCloud,
    failures: Failures[StoredQueue],
    queues: Iterable[StoredQueue],
    workers: Mapping[str, Sequence[StoredWorker]],
) -> ServerView:
    """The servers of these queues. workers: by queue."""
    view = ServerView()
    listing = OwnerServers(cloud, failures.answered)
    for queue in queues:
        own = workers.get(queue.id, ())
        work = partial(_servers, cloud, listing, queue, own, view)
        found = failures.asking(queue, 'servers', work)
        if found is None:
            view.unknown.update(one.id for one in own)
            continue
        view.of_queue[queue.id] = found
        for one in own:
            if (kept := kept_server(one, found.of(one))) is not None:
                view.by_worker[one.id] = kept
    return view


def _servers(
    cloud: OwnerCloud,
    listing: OwnerServers,
    queue: StoredQueue,
    workers: Sequence[StoredWorker],
    view: ServerView,
) -> QueueServers:
    try:
        listed = listing.servers(queue)
    except TrustGone as error:
        if queue.state is QueueState.DELETING and not workers:
            return QueueServers()  # nobody can look any more, and nothing is known to be there
        view.lost[queue.id] = f'its trust is gone: {error}'
        raise
    except AccessLost as error:
        view.lost[queue.id] = f'its trust is not good any more: {error}'
        raise
    found = QueueServers(
        blind=any(one.state is ServerState.UNKNOWN and not one.owner for one in listed)
    )
    wanted = {one.server_id for one in workers if one.server_id}
    for one in listed:
        if one.owner == queue.id:
            found.by_place.setdefault(one.place, []).append(one)
        if one.id in wanted:
            found.by_id[one.id] = one
    access = OwnerAccess(project_id=queue.project_id, trust_id=queue.trust_id)
    for server_id in sorted(wanted - found.by_id.keys()):
        if (single := cloud.server(access, server_id)) is not None:
            found.by_id[server_id] = single
    return found
