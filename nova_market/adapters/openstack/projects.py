# SPDX-License-Identifier: Apache-2.0
"""Projects by id or name, asked of Keystone with the account of group [openstack].

Implements ports.Projects. A name is unique in a domain only, and what projects other domains have is not for
everybody to know. Keystone shows each domain as a project, too, which is none here.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.session import Session
from oslo_config import cfg

from nova_market.adapters.openstack.answers import translated
from nova_market.adapters.openstack.session import identity_url, session_from_conf


class KeystoneProjects:
    """For many threads."""

    def __init__(self, session: Session, where: Callable[[], str]) -> None:
        """where: the address of Keystone, without version."""
        self._session = session
        self._where = where

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> 'KeystoneProjects':
        """With the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete.
        """
        session = session_from_conf(conf, 'the market API')
        return cls(session, identity_url(conf, session))

    def project(self, text: str, domain_id: str) -> str | None:
        with translated():
            with suppress(keystone_errors.NotFound):
                one = self._answer(f'/{quote(text, safe="")}')['project']
                if not one.get('is_domain'):
                    return str(one['id'])
            if not domain_id:
                return None
            query = urlencode({'name': text, 'domain_id': domain_id})
            found = self._answer(f'?{query}')['projects']
            return str(found[0]['id']) if found else None

    def _answer(self, rest: str) -> Any:
        return self._session.get(
            f'{self._where()}/v3/projects{rest}', redirect=False, log=False
        ).json()
