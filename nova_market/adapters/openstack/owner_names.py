# SPDX-License-Identifier: Apache-2.0
"""Flavors, images and networks by name or id, as an owner means them; and which he has misspelt.

`ask` is the way to Nova, Glance and Neutron with the rights of the owner. OwnerNames implements
ports.OwnerNames with the token of a request.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol
from urllib.parse import quote

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.session import Session
from oslo_config import cfg

from nova_market.adapters.openstack.answers import (
    FAILURES,
    REFUSED,
    described,
    document,
    items,
    translated,
    unavailable,
)
from nova_market.adapters.openstack.session import (
    EndpointFilter,
    endpoint_filter,
    session_from_conf,
)
from nova_market.adapters.openstack.trust_session import VERSIONS
from nova_market.core.app.cloud_name import CloudName, NameKind, UnknownName, near
from nova_market.core.market.extra_spec import limits
from nova_market.core.market.owner_server import ServerFlavor
from nova_market.errors import CloudRefused

LOG = logging.getLogger(__name__)

REFUSALS = REFUSED | {401}
"""The token is that of the request: it is the caller's when it is not good for a service."""

LISTED = 500
"""Images and networks that are looked through for a name like one that is unknown."""


class Ask(Protocol):
    """GET at a service; the document, None for what is not there.

    missing: False: it must be there; refused: False: a refusal is None too
    :raises CloudRefused, CloudUnavailable, CloudAway: as ports.OwnerCloud defines.
    """

    def __call__(
        self,
        method: str,
        path: str,
        *,
        service: str = 'compute',
        missing: bool = True,
        refused: bool = True,
    ) -> Any: ...


def flavor_named(ask: Ask, name: str) -> Mapping[str, Any] | None:
    """By id, else by name."""
    answer = ask('GET', f'/flavors/{quote(name, safe="")}')
    with translated():
        found: Mapping[str, Any] | None = answer['flavor'] if answer is not None else None
        if found is None:
            found = next((one for one in _flavors(ask) if one['name'] == name), None)
    return found


def server_flavor(found: Mapping[str, Any]) -> ServerFlavor:
    """What a server of it can use: less than its size where its extra specs limit bids."""
    with translated():
        specs = found.get('extra_specs') or {}
        limit = limits({str(name): str(value) for name, value in specs.items()})
        return ServerFlavor(
            id=str(found['id']),
            vcpus=min(float(found['vcpus']), limit.cpu),
            memory_mib=min(float(found['ram']), limit.memory_mib),
        )


def image_named(ask: Ask, project_id: str, name: str) -> str | None:
    """The id, by id, else of the newest of that name: the project's own, then a public one.

    An administrator's roles show the images of all projects: what others name so is never meant.
    """
    found = ask('GET', f'/images/{quote(name, safe="")}', service='image', refused=False)
    named = f'/images?name=in:{quote(_quoted(name), safe="")}&sort=created_at:desc&limit=1'
    for whose in _whose_images(project_id):
        if found is None:
            answer = ask('GET', f'{named}&{whose}', service='image') or {}
            found = next(iter(answer.get('images', ())), None)
    with translated():
        return None if found is None else str(found['id'])


def networks_named(ask: Ask, project_id: str, name: str) -> Sequence[str]:
    """The ids, by id, else by name: the project's own, then those that are shared with it.

    A network that another project shares, unasked, never takes the place of one of the project's own.
    """
    wanted = quote(name, safe='')
    own = f'project_id={quote(project_id, safe="")}'
    for query in (f'id={wanted}', f'name={wanted}&{own}', f'name={wanted}&shared=true'):
        answer = ask('GET', f'/v2.0/networks?{query}&fields=id', service='network')
        if found := (answer or {}).get('networks', ()):
            with translated():
                return [str(one['id']) for one in found]
    return ()


class OwnerNames:
    """Implements ports.OwnerNames. For many threads."""

    def __init__(self, session: Session, where: EndpointFilter) -> None:
        """session: whose account knows the catalog; where: in it."""
        self._session = session
        self._where = where

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> 'OwnerNames':
        """With the catalog of the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete.
        """
        return cls(session_from_conf(conf, 'the market API'), endpoint_filter(conf))

    def unknown(
        self, token: str, project_id: str, names: Iterable[CloudName]
    ) -> Sequence[UnknownName]:
        ask = self._asking(token)
        found = (self._problem(ask, project_id, name) for name in sorted(set(names)))
        return [one for one in found if one is not None]

    def sizes(
        self, token: str, project_id: str, flavors: Iterable[str]
    ) -> Mapping[str, ServerFlavor]:
        ask, found = self._asking(token), {}
        for name in sorted(set(flavors)):
            try:
                flavor = flavor_named(ask, name)
            except CloudRefused as error:
                LOG.info('flavor %s of project %s is not checked: %s', name, project_id, error)
                continue
            if flavor is not None:
                found[name] = server_flavor(flavor)
        return found

    def _asking(self, token: str) -> Ask:
        """With a memory: a list serves all names that are looked for in it."""

        @cache
        def ask(
            method: str,
            path: str,
            *,
            service: str = 'compute',
            missing: bool = True,
            refused: bool = True,
        ) -> Any:
            return self._ask(token, method, path, service, missing, refused)

        return ask

    def _problem(self, ask: Ask, project_id: str, name: CloudName) -> UnknownName | None:
        """Why a name is not good; None: it is, or nobody can look for him, and the controller will see."""
        try:
            count = _count(ask, project_id, name)
            if count == 1:
                return None
            if count:
                return UnknownName(name=name, why=f'{count} are named so: give the id of one')
            others = _names(ask, project_id, name.kind)
            return UnknownName(
                name=name,
                why=f'there is no such {name.kind} that your project may use',
                near=near(name.name, others),
            )
        except CloudRefused as error:
            LOG.info('%s %s of project %s is not checked: %s', *_pair(name), project_id, error)
            return None

    def _ask(
        self, token: str, method: str, path: str, service: str, missing: bool, refused: bool
    ) -> Any:
        least, most = VERSIONS.get(service, (None, None))
        session = adapter.Adapter(
            self._session,
            service_type=service,
            min_version=least,
            max_version=most,
            raise_exc=False,
            **self._where,
        )
        try:
            # with the token of the owner, who sees what he may use
            answer = session.request(
                path, method, authenticated=False, headers={'X-Auth-Token': token}, log=False
            )
        except keystone_errors.EndpointNotFound as error:
            # for a service whose versions cannot be read too
            if self._in_catalog(service):
                raise unavailable(error) from None
            raise CloudRefused(described(error)) from None
        except FAILURES as error:
            raise unavailable(error) from None
        return document(answer, service, missing=missing, refused=refused, refusals=REFUSALS)

    def _in_catalog(self, service: str) -> bool:
        """The catalog came with the token: this is no request."""
        try:
            where = self._session.get_endpoint(
                service_type=service, skip_discovery=True, **self._where
            )
        except keystone_errors.EndpointNotFound:
            return False
        return bool(where)


def _pair(name: CloudName) -> tuple[str, str]:
    return str(name.kind), name.name


def _count(ask: Ask, project_id: str, name: CloudName) -> int:
    """How many things a name stands for."""
    match name.kind:
        case NameKind.FLAVOR:
            return int(flavor_named(ask, name.name) is not None)
        case NameKind.IMAGE:
            return int(image_named(ask, project_id, name.name) is not None)
    return len(networks_named(ask, project_id, name.name))


def _names(ask: Ask, project_id: str, kind: NameKind) -> Sequence[str]:
    """Names of this kind that the owner may use, as far as they are looked through."""
    with translated():
        if kind is NameKind.FLAVOR:
            return [str(one['name']) for one in _flavors(ask)]
        if kind is NameKind.NETWORK:
            answer = ask('GET', f'/v2.0/networks?fields=name&limit={LISTED}', service='network')
            return [str(one['name']) for one in (answer or {}).get('networks', ())]
        found = []
        for whose in _whose_images(project_id):
            answer = ask('GET', f'/images?limit={LISTED}&{whose}', service='image')
            found += [str(one['name']) for one in (answer or {}).get('images', ())]
        return found


def _whose_images(project_id: str) -> Sequence[str]:
    return f'owner={quote(project_id, safe="")}', 'visibility=public'


def _flavors(ask: Ask) -> Iterable[Mapping[str, Any]]:
    return items(lambda page: ask('GET', page, missing=False), '/flavors/detail', 'flavors')


def _quoted(name: str) -> str:
    """As one value of Glance's `in:`."""
    return '"' + name.replace('\\', '\\\\').replace('"', '\\"') + '"'
