# SPDX-License-Identifier: Apache-2.0
"""A cloud in memory as owners of servers see it: the simulator's, and the tests' Nova and Keystone.

Implements ports.OwnerCloud on the hosts of a MemoryCloud, so that what an owner makes takes part in the
market there. Units: seconds, cores, MiB.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.core.app.record import APP_MARKS
from nova_market.core.market.inventory import CloudServer
from nova_market.core.market.owner_server import (
    NewServer,
    OwnerAccess,
    OwnerServer,
    ServerFlavor,
    ServerMarks,
    ServerState,
)
from nova_market.core.resource import HostName
from nova_market.errors import AccessLost, CloudAway, CloudRefused, CloudUnavailable, TrustGone
from nova_market.ports import Clock

UNADDRESSED = (ServerState.BUILDING, ServerState.FAILED)


@dataclass(slots=True)
class _Made:
    project_id: str
    metadata: Mapping[str, str]
    name: str
    host: str
    flavor: ServerFlavor
    created_at: float
    ready_at: float
    state: ServerState = ServerState.BUILDING
    fault: str = ''
    gone_at: float | None = None
    hidden: bool = False
    address: str = ''
    user_data: str = ''
    later: ServerState | None = None
    """What it is from `ready_at` on; None: nothing is under way."""


class MemoryOwnerCloud:
    """boot, leave, upload: seconds that a start, a deletion, and the shelving of a server take.

    available = False: it does not answer; unanswered: how often. barred: trusts whose owner is locked out.
    locked: servers that nobody may change. broken: flavors that are answered with an error.
    failing: slots whose next server ends in error.
    lost_answers: so many creations are done, and the answer is lost. quota: servers of a project.
    skips: what is hidden is left out of lists, as Nova does it by default. ids: of servers, by number.

    full: hosts can be full: a server that none has room for, by what Placement counts of it, ends in error.
    place: chooses the host then, '' for none; that with most room where it is not given. May be changed.

    A suspended server keeps its room on its host, a shelved one does not. One that is unshelved stays shelved
    when no host has room for its memory.
    """

    def __init__(
        self,
        cloud: MemoryCloud,
        clock: Clock,
        flavors: Mapping[str, ServerFlavor],
        *,
        boot: float = 0.0,
        leave: float = 0.0,
        upload: float = 0.0,
        quota: int = 1000,
        ids: str = 'server-{:04d}',
        marks: ServerMarks = APP_MARKS,
        full: bool = False,
        place: Callable[[ServerFlavor], str] | None = None,
    ) -> None:
        self.marks = marks
        self._full = full
        self.place = place or self._with_room
        self.available = True
        self.unanswered = 0
        self.barred: set[str] = set()
        self.locked: set[str] = set()
        self.broken: set[str] = set()
        self.failing: set[str] = set()
        self.lost_answers = 0
        self.skips = True
        self.quota = quota
        self.trusts: MutableMapping[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self._cloud = cloud
        self._clock = clock
        self.flavors = flavors
        self._boot, self._leave, self._upload = boot, leave, upload
        self.made: dict[str, _Made] = {}
        self._count = 0
        self._ids = ids
        self._given = 0
        self._addresses = 0

    def trust(self, project_id: str) -> str:
        """Make one."""
        self._given += 1
        name = f'trust-{self._given}'
        self.trusts[name] = project_id
        return name

    def kept(self) -> dict[str, Any]:
        """Its servers as a JSON document, for `restore`; trusts and settings are whoever made it's."""
        made = {server_id: asdict(one) for server_id, one in self.made.items()}
        return {'made': made, 'count': self._count, 'addresses': self._addresses}

    def restore(self, document: Mapping[str, Any]) -> None:
        """What `kept` gave, in place of what there is. The hosts of the servers are the cloud's affair."""
        self.made = {name: _made_from(one) for name, one in document['made'].items()}
        self._count, self._addresses = document['count'], document['addresses']

    def servers(self, access: OwnerAccess) -> Sequence[OwnerServer]:
        self._enter(access)
        return [
            _shown(server_id, one, self.marks)
            for server_id, one in sorted(self.made.items())
            if one.project_id == access.project_id
            and (not self.skips if one.hidden else self.marks.owner in one.metadata)
        ]

    def server(self, access: OwnerAccess, server_id: str) -> OwnerServer | None:
        self._enter(access)
        one = self.made.get(server_id)
        if one is None or one.project_id != access.project_id:
            return None
        return _shown(server_id, one, self.marks)

    def flavor(self, access: OwnerAccess, name: str) -> ServerFlavor | None:
        self._enter(access)
        if name in self.broken:
            raise CloudUnavailable(f'compute answers 500 for flavor {name}')
        by_id = {one.id: one for one in self.flavors.values()}
        return self.flavors.get(name) or by_id.get(name)

    def create(self, access: OwnerAccess, wanted: NewServer) -> str:
        self._enter(access)
        self.asked.append(('create', wanted.place))
        flavor = self.flavor(access, wanted.flavor)
        if flavor is None:
            raise CloudRefused(f'there is no flavor {wanted.flavor}')
        if wanted.image == 'missing':
            raise CloudRefused(f'there is no image {wanted.image}')
        own = [one for one in self.made.values() if one.project_id == access.project_id]
        if len(own) >= self.quota:
            raise CloudRefused(f'quota exceeded: {self.quota} servers')
        self._count += 1
        server_id = self._ids.format(self._count)
        fault = 'no valid host was found' if wanted.place in self.failing else ''
        self.failing.discard(wanted.place)
        self.put(server_id, access.project_id, self.marks.of(wanted), flavor, wanted.name, fault)
        if server_id in self.made:
            self.made[server_id].user_data = wanted.user_data
        if self.lost_answers:
            self.lost_answers -= 1
            raise CloudAway('the answer got lost')
        return server_id

    def put(
        self,
        server_id: str,
        project_id: str,
        metadata: Mapping[str, str],
        flavor: ServerFlavor,
        name: str = '',
        fault: str = '',
    ) -> None:
        """Somebody makes a server."""
        now = self._clock.wall()
        host, _ = self._emptiest()
        if self._full and not fault:
            host = self.place(flavor)
            fault = '' if host else 'No valid host was found'
        self._addresses += 1
        self.made[server_id] = _Made(
            project_id, dict(metadata), name, host, flavor, now, now + self._boot, fault=fault,
            address=f'10.0.{self._addresses // 250}.{self._addresses % 250 + 1}',
            later=ServerState.FAILED if fault else ServerState.RUNNING,
        )  # fmt: skip
        if self._full and not fault:
            self._place(server_id, self.made[server_id], 'BUILD')
        self._catch_up()

    def hosted(self) -> Sequence[CloudServer]:
        """Servers that hosts keep room for, of all projects."""
        self._catch_up()
        return self._cloud.servers()

    def remove(self, server_id: str) -> None:
        """Its owner deletes it, behind the controller's back."""
        self.made.pop(server_id, None)
        self._cloud.remove(server_id)

    def stop(self, server_id: str) -> None:
        """Its guest shuts itself down."""
        self.made[server_id].state = ServerState.STOPPED

    def hide(self, server_id: str, hidden: bool = True) -> None:
        """The part of the cloud that it is in does not answer; or it does again."""
        self.made[server_id].hidden = hidden

    def suspend(self, access: OwnerAccess, server_id: str) -> None:
        one = self._changing(access, server_id, 'suspend', ServerState.RUNNING)
        if one is not None:
            self._begin(server_id, one, ServerState.SUSPENDED, 0.0)

    def resume(self, access: OwnerAccess, server_id: str) -> None:
        one = self._changing(access, server_id, 'resume', ServerState.SUSPENDED)
        if one is not None:
            self._begin(server_id, one, ServerState.RUNNING, 0.0)

    def shelve(self, access: OwnerAccess, server_id: str) -> None:
        before = (ServerState.RUNNING, ServerState.SUSPENDED)
        one = self._changing(access, server_id, 'shelve', *before)
        if one is not None:
            self._begin(server_id, one, ServerState.SHELVED, self._upload)

    def unshelve(self, access: OwnerAccess, server_id: str) -> None:
        one = self._changing(access, server_id, 'unshelve', ServerState.SHELVED)
        if one is None:
            return
        host, room = self._emptiest()
        if self._full:
            host = self.place(one.flavor)
        if not host or room < one.flavor.memory_mib:
            return  # no valid host
        one.host = host
        self._place(server_id, one, 'SHELVED_OFFLOADED')  # the room is taken before it starts
        self._begin(server_id, one, ServerState.RUNNING, self._boot)

    def delete(self, access: OwnerAccess, server_id: str) -> None:
        self._enter(access)
        self.asked.append(('delete', server_id))
        one = self.made.get(server_id)
        if one is None or one.project_id != access.project_id:
            return
        self._lock(server_id)
        one.state, one.gone_at = ServerState.DELETING, self._clock.wall() + self._leave
        self._catch_up()

    def forget(self, access: OwnerAccess) -> None:
        self._answer()
        if access.trust_id in self.barred:
            raise AccessLost(f'the owner of trust {access.trust_id} is locked out')
        if self.trusts.pop(access.trust_id, None) is None:
            raise TrustGone(f'there is no trust {access.trust_id}')

    def _emptiest(self) -> tuple[str, float]:
        """(the host with most room, MiB)."""
        room = {host.name: float(host.memory_mib) for host in self._cloud.hosts()}
        for one in self._cloud.servers():
            room[one.host] = room.get(one.host, 0.0) - one.memory_mib
        name = max(room, key=lambda host: (room[host], host))
        return name, room[name]

    def _with_room(self, flavor: ServerFlavor) -> str:
        """The host with most room of those that can hold one more; '' when none can."""
        found: dict[str, float] = {}
        for host in self._cloud.hosts():
            there = [one for one in self._cloud.servers() if one.host == host.name]
            room = host.memory_mib - sum(one.memory_mib for one in there)
            vcpus = host.counted.get('VCPU', host.cores) - sum(one.vcpus for one in there)
            if host.enabled and room >= flavor.memory_mib and vcpus >= flavor.vcpus:
                found[host.name] = room
        return max(found, key=lambda name: (found[name], name), default='')

    def _changing(
        self, access: OwnerAccess, server_id: str, action: str, *before: ServerState
    ) -> _Made | None:
        """A server that is in one of these states; None when it is gone."""
        self._enter(access)
        self.asked.append((action, server_id))
        one = self.made.get(server_id)
        if one is None or one.project_id != access.project_id:
            return None
        self._lock(server_id)
        if one.state not in before:
            raise CloudRefused(f'server {server_id} is {one.state}')
        return one

    def _begin(self, server_id: str, one: _Made, state: ServerState, seconds: float) -> None:
        one.state, one.later = ServerState.BUSY, state
        one.ready_at = self._clock.wall() + seconds
        self._catch_up()

    def _lock(self, server_id: str) -> None:
        if server_id in self.locked:
            raise CloudRefused(f'instance {server_id} is locked')

    def _enter(self, access: OwnerAccess) -> None:
        self._answer()
        if access.trust_id in self.barred:
            raise AccessLost(f'the owner of trust {access.trust_id} is locked out')
        if self.trusts.get(access.trust_id) != access.project_id:
            raise TrustGone(f'there is no trust {access.trust_id} in project {access.project_id}')
        self._catch_up()

    def _answer(self) -> None:
        if not self.available:
            self.unanswered += 1
            raise CloudAway('the cloud was made unavailable; set available to True')

    def _catch_up(self) -> None:
        now = self._clock.wall()
        for server_id, one in list(self.made.items()):
            if one.gone_at is not None and one.gone_at <= now:
                self.remove(server_id)
            elif one.gone_at is None and one.later is not None and one.ready_at <= now:
                one.state, one.later = one.later, None
                self._show(server_id, one)

    def _show(self, server_id: str, one: _Made) -> None:
        """On its host, as the market's account sees it."""
        status = {ServerState.RUNNING: 'ACTIVE', ServerState.SUSPENDED: 'SUSPENDED'}
        if one.state is ServerState.SHELVED:
            self._cloud.remove(server_id)
        elif one.state in status:
            self._place(server_id, one, status[one.state])

    def _place(self, server_id: str, one: _Made, status: str) -> None:
        known = {s.id: s for s in self._cloud.servers()}.get(server_id)
        made = known or CloudServer(
            id=server_id,
            project_id=one.project_id,
            host=HostName(one.host),
            vcpus=int(one.flavor.vcpus),
            memory_mib=int(one.flavor.memory_mib),
            name=one.name,
            metadata=one.metadata,
            flavor=one.flavor.id,
            counted={'VCPU': one.flavor.vcpus, 'MEMORY_MB': one.flavor.memory_mib},
        )
        self._cloud.put_server(replace(made, status=status))


def _made_from(document: Mapping[str, Any]) -> _Made:
    later = document['later']
    return _Made(
        **{
            **document,
            'flavor': ServerFlavor(**document['flavor']),
            'state': ServerState(document['state']),
            'later': None if later is None else ServerState(later),
        }
    )


def _shown(server_id: str, one: _Made, marks: ServerMarks) -> OwnerServer:
    if one.hidden:
        return OwnerServer(
            id=server_id, owner='', place='', state=ServerState.UNKNOWN, created_at=one.created_at
        )
    return OwnerServer(
        id=server_id,
        owner=one.metadata.get(marks.owner, ''),
        place=one.metadata.get(marks.place, ''),
        state=one.state,
        created_at=one.created_at,
        fault=one.fault,
        address='' if one.state in UNADDRESSED else one.address,
    )
