# SPDX-License-Identifier: Apache-2.0
"""Projects by id or name, asked of Keystone with the account of group [openstack].

Implements ports.Projects. A name is unique in a domain only, so several projects may have it.
"""

from collections.abc import Callable, Sequence
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

    def named(self, text: str) -> Sequence[str]:
        url = f'{self._where()}/v3/projects'
        with translated():
            try:
                answer = self._session.get(
                    f'{url}/{quote(text, safe="")}', redirect=False, log=False
                )
                return [str(answer.json()['project']['id'])]
            except keystone_errors.NotFound:
                pass
            query = urlencode({'name': text})
            found = self._session.get(f'{url}?{query}', redirect=False, log=False)
            return sorted(str(one['id']) for one in found.json()['projects'])
