# SPDX-License-Identifier: Apache-2.0
"""Servers of owners in a real cloud, through Nova, Glance and Neutron, with the trusts of these owners.

Implements ports.OwnerCloud. Units: seconds since the epoch. For one thread.

A server that Nova failed to make is FAILED; one that came into error later is left alone: its owner or the
operator may bring it back. Servers in a cell that does not answer are UNKNOWN (microversion 2.69) when Nova
is asked for one, or for the first of all; pages of a list (`limit`, `marker`) leave them out.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from oslo_config import cfg

from nova_market.adapters.openstack.answers import (
    FAILURES,
    document,
    items,
    translated,
    unavailable,
)
from nova_market.adapters.openstack.owner_names import (
    flavor_named,
    image_named,
    networks_named,
    server_flavor,
)
from nova_market.adapters.openstack.trust_session import TrustSessions
from nova_market.core.app.cloud_name import NO_NETWORK
from nova_market.core.market.owner_server import (
    NewServer,
    OwnerAccess,
    OwnerServer,
    ServerFlavor,
    ServerMarks,
    ServerState,
)
from nova_market.core.timestamp import seconds
from nova_market.errors import CloudRefused
from nova_market.row_boundary import READ, RowBoundary

OF_OWNER = f'{READ} for its owner'
VERSION = '2.69'
SETTLED = {
    'ACTIVE': ServerState.RUNNING,
    'SUSPENDED': ServerState.SUSPENDED,
    'SHELVED': ServerState.SHELVED,
    'SHELVED_OFFLOADED': ServerState.SHELVED,
}
STOPPED = ('SHUTOFF', 'ERROR')
GONE = ('DELETED', 'SOFT_DELETED')
MAX_ADDRESS = 45
"""Characters of the longest text of an IPv6 address."""


class NovaOwnerCloud:
    """Implements ports.OwnerCloud."""

    def __init__(
        self, sessions: TrustSessions, marks: ServerMarks, boundary: RowBoundary | None = None
    ) -> None:
        self._sessions = sessions
        self._marks = marks
        self._boundary = boundary or RowBoundary()

    @classmethod
    def from_conf(
        cls,
        conf: cfg.ConfigOpts,
        needed_by: str,
        marks: ServerMarks,
        boundary: RowBoundary | None = None,
    ) -> 'NovaOwnerCloud':
        """needed_by: a service, for messages; marks: of the servers that it makes.

        :raises ConfigurationError: the account of group [openstack] cannot be used.
        """
        return cls(TrustSessions.from_conf(conf, needed_by), marks, boundary)

    def servers(self, access: OwnerAccess) -> Sequence[OwnerServer]:
        with translated():
            found = [
                self._listed(one, access.project_id)
                for one in self._items(access, '/servers/detail', 'servers')
                if one.get('status') not in GONE
            ]
        return [one for one in found if one.owner or one.state is ServerState.UNKNOWN]

    def server(self, access: OwnerAccess, server_id: str) -> OwnerServer | None:
        answer = self._ask(access, 'GET', f'/servers/{quote(server_id, safe="")}')
        if answer is None:
            return None
        with translated():
            found = answer['server']
            return None if found['status'] in GONE else self._server(found)

    def flavor(self, access: OwnerAccess, name: str) -> ServerFlavor | None:
        found = flavor_named(partial(self._ask, access), name)
        return None if found is None else server_flavor(found)

    def create(self, access: OwnerAccess, wanted: NewServer) -> str:
        flavor = self.flavor(access, wanted.flavor)
        if flavor is None:
            raise CloudRefused(f'there is no flavor {wanted.flavor!r:.100}')
        body = {
            'name': wanted.name,
            'flavorRef': flavor.id,
            'imageRef': self._image(access, wanted.image),
            'networks': self._networks(access, wanted.networks),
            'metadata': dict(self._marks.of(wanted)),
        }
        if wanted.user_data:
            body['user_data'] = base64.b64encode(wanted.user_data.encode()).decode()
        answer = self._ask(access, 'POST', '/servers', {'server': body}, missing=False)
        with translated():
            return str(answer['server']['id'])

    def suspend(self, access: OwnerAccess, server_id: str) -> None:
        self._act(access, server_id, 'suspend')

    def resume(self, access: OwnerAccess, server_id: str) -> None:
        self._act(access, server_id, 'resume')

    def shelve(self, access: OwnerAccess, server_id: str) -> None:
        self._act(access, server_id, 'shelve')

    def unshelve(self, access: OwnerAccess, server_id: str) -> None:
        self._act(access, server_id, 'unshelve')

    def delete(self, access: OwnerAccess, server_id: str) -> None:
        self._ask(access, 'DELETE', f'/servers/{server_id}')

    def forget(self, access: OwnerAccess) -> None:
        path = f'/OS-TRUST/trusts/{quote(access.trust_id, safe="")}'
        self._ask(access, 'DELETE', path, service='identity')
        self._sessions.forget(access.trust_id)

    def _listed(self, answer: Mapping[str, Any], project_id: str) -> OwnerServer:
        """One of a list; what is not understood is there all the same, and nothing is known of it."""
        server_id = str(answer['id'])
        metadata = answer.get('metadata')
        marks = metadata if isinstance(metadata, Mapping) else {}
        nothing = OwnerServer(
            id=server_id,
            owner=str(marks.get(self._marks.owner, '')),
            place=str(marks.get(self._marks.place, '')),
            state=ServerState.UNKNOWN,
        )
        with self._boundary.row('server', server_id, OF_OWNER, project_id):
            return self._server(answer)
        return nothing

    def _server(self, answer: Mapping[str, Any]) -> OwnerServer:
        return _server(answer, self._marks)

    def _act(self, access: OwnerAccess, server_id: str, action: str) -> None:
        self._ask(access, 'POST', f'/servers/{server_id}/action', {action: None})

    def _image(self, access: OwnerAccess, name: str) -> str:
        found = image_named(partial(self._ask, access), access.project_id, name)
        if found is None:
            raise CloudRefused(f'there is no image {name!r:.100} of the project or for everybody')
        return found

    def _networks(self, access: OwnerAccess, names: Sequence[str]) -> Any:
        if not names:
            return 'auto'
        if tuple(names) == NO_NETWORK:
            return 'none'
        return [{'uuid': self._network(access, name)} for name in names]

    def _network(self, access: OwnerAccess, name: str) -> str:
        found = networks_named(partial(self._ask, access), access.project_id, name)
        if len(found) > 1:
            raise CloudRefused(f'{len(found)} networks are named {name!r:.100}: give the id')
        if not found:
            raise CloudRefused(
                f'there is no network {name!r:.100} of the project or shared with it'
            )
        return found[0]

    def _items(self, access: OwnerAccess, path: str, key: str) -> Iterator[Mapping[str, Any]]:
        """Without a limit: Nova leaves servers of cells that do not answer out of pages with one."""
        return items(lambda page: self._ask(access, 'GET', page, missing=False), path, key)

    def _ask(
        self,
        access: OwnerAccess,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        service: str = 'compute',
        missing: bool = True,
        refused: bool = True,
    ) -> Any:
        """The document of the answer; None when there is no such thing.

        missing, refused: as answers.document has them

        :raises CloudRefused, CloudUnavailable, AccessLost: as ports.OwnerCloud defines.
        """
        session = self._sessions.of(access.trust_id, service)
        more = {'microversion': VERSION} if service == 'compute' else {}
        try:
            # what runs on a server may hold secrets, and its application's credential
            answer = session.request(path, method, json=body, log=not body, **more)
        except FAILURES as error:
            raise unavailable(error) from None
        return document(answer, service, missing=missing, refused=refused)


def _server(answer: Mapping[str, Any], marks: ServerMarks) -> OwnerServer:
    metadata = answer.get('metadata') or {}
    fault = answer.get('fault') or {}
    created = answer.get('created')
    return OwnerServer(
        id=str(answer['id']),
        owner=str(metadata.get(marks.owner, '')),
        place=str(metadata.get(marks.place, '')),
        state=_state(answer),
        created_at=seconds(created) if created else 0.0,
        fault=str(fault.get('message', ''))[:300],
        address=_address(answer.get('addresses') or {}),
    )


def _address(networks: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The first fixed one of the first network; Nova keeps the order in which they were asked for."""
    found = (
        str(one['addr'])[:MAX_ADDRESS]
        for addresses in networks.values()
        for one in addresses
        if one.get('OS-EXT-IPS:type', 'fixed') == 'fixed'
    )
    return next(found, '')


def _state(answer: Mapping[str, Any]) -> ServerState:
    status, task = answer['status'], answer.get('OS-EXT-STS:task_state')
    if status == 'UNKNOWN' and 'metadata' not in answer:
        return ServerState.UNKNOWN
    if task == 'deleting':
        return ServerState.DELETING
    if status == 'BUILD':
        return ServerState.BUILDING
    if status == 'ERROR' and not answer.get('OS-SRV-USG:launched_at'):
        return ServerState.FAILED
    if task is None and status in SETTLED:
        return SETTLED[status]
    # Nova powers off a server whose guest has shut itself down
    stopped = task == 'powering-off' or (task is None and status in STOPPED)
    return ServerState.STOPPED if stopped else ServerState.BUSY
