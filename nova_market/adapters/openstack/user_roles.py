# SPDX-License-Identifier: Apache-2.0
"""Roles of users in projects, asked of Keystone with the account of group [openstack].

Implements ports.UserRoles, for rules N8 of doc/source/specs/notices.rst and T7 of tender.rst. Keystone gives
no token to a user, or in a project, that is disabled or whose domain is; but it shows both as enabled then,
and lists the role assignments all the same: so user, project and domains are looked at too. Assignments are
effective ones, with those of groups and those that other roles imply. Users of a federation who have roles
only by groups of a mapping are not known to Keystone.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.session import Session
from oslo_config import cfg

from nova_market.adapters.openstack.answers import translated
from nova_market.adapters.openstack.session import identity_url, session_from_conf


class KeystoneUserRoles:
    """For many threads."""

    def __init__(self, session: Session, where: Callable[[], str]) -> None:
        """where: the address of Keystone, without version."""
        self._session = session
        self._where = where

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, needed_by: str) -> 'KeystoneUserRoles':
        """With the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete.
        """
        session = session_from_conf(conf, needed_by)
        return cls(session, identity_url(conf, session))

    def own(self) -> frozenset[str]:
        """Roles of the account itself, for whoever wants to know whether it may ask at all.

        :raises CloudUnavailable: as `roles`.
        """
        with translated():
            user_id, project_id = self._session.get_user_id(), self._session.get_project_id()
        return self.roles(str(user_id), str(project_id))

    def roles(self, user_id: str, project_id: str) -> frozenset[str]:
        wanted = {
            'user.id': user_id,
            'scope.project.id': project_id,
            'effective': 'true',
            'include_names': 'true',
        }
        with translated():
            domains = set()
            for kind, name in (('user', user_id), ('project', project_id)):
                found = self._enabled(kind, name)
                if found is None:
                    return frozenset()
                domains.add(found['domain_id'])
            # a project that is a domain itself has none
            if not all(self._enabled('domain', one) for one in sorted(domains - {None})):
                return frozenset()
            given = self._ask(f'role_assignments?{urlencode(wanted)}')['role_assignments']
            return frozenset(str(one['role']['name']) for one in given)

    def _enabled(self, kind: str, name: str) -> Any:
        """What Keystone has of it; None: it is disabled, or gone."""
        try:
            found = self._ask(f'{kind}s/{quote(name, safe="")}')[kind]
        except keystone_errors.NotFound:
            return None
        return None if found.get('enabled') is False else found

    def _ask(self, path: str) -> Any:
        return self._session.get(f'{self._where()}/v3/{path}', redirect=False, log=False).json()
