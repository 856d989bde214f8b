# SPDX-License-Identifier: Apache-2.0
"""Trusts of Keystone: an owner lets the market's account act for an application in his project.

The owner is the trustor, the account of group [openstack] the trustee; it acts as the owner (impersonation),
with those of his roles that the trust names, in this project only. It ends when the trust is deleted, or
when the owner loses the roles. Implements ports.Trusts.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.session import Session
from oslo_config import cfg

from nova_market.adapters.openstack.answers import translated
from nova_market.adapters.openstack.session import identity_url, session_from_conf
from nova_market.errors import TrustRefused

PATH = '/v3/OS-TRUST/trusts'

REFUSALS = (
    keystone_errors.BadRequest,
    keystone_errors.Forbidden,
    keystone_errors.NotFound,
    keystone_errors.Conflict,
    keystone_errors.Unauthorized,
)


class KeystoneTrusts:
    """For many threads."""

    def __init__(self, session: Session, where: Callable[[], str]) -> None:
        """session: of the account that acts; where: the address of Keystone, without version."""
        self._session = session
        self._where = where

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> 'KeystoneTrusts':
        """With the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete.
        """
        session = session_from_conf(conf, 'the market API')
        return cls(session, identity_url(conf, session))

    def create(self, token: str, user_id: str, project_id: str, roles: Sequence[str]) -> str:
        with _refusable():
            wanted = {
                'trustor_user_id': user_id,
                'trustee_user_id': self._session.get_user_id(),
                'project_id': project_id,
                'impersonation': True,
                'roles': [{'name': role} for role in roles],
            }
            answer = self._ask('POST', self._where() + PATH, token, {'trust': wanted})
            return str(answer.json()['trust']['id'])

    def delete(self, token: str, trust_id: str) -> None:
        with _refusable():
            try:
                self._ask('DELETE', f'{self._where()}{PATH}/{trust_id}', token, None)
            except keystone_errors.NotFound:
                return

    def _ask(self, method: str, url: str, token: str, body: Any) -> Any:
        # with the token of the owner, who alone may delegate his roles
        return self._session.request(
            url,
            method,
            json=body,
            authenticated=False,
            headers={'X-Auth-Token': token},
            redirect=False,
            log=False,
        )


@contextmanager
def _refusable() -> Iterator[None]:
    """Around what Keystone may refuse for reasons that the owner can know."""
    with translated():
        try:
            yield
        except REFUSALS as error:
            raise TrustRefused(f'{error.message!s:.200}') from None
