# SPDX-License-Identifier: Apache-2.0
"""Trusts that are kept in memory."""

from collections.abc import Sequence

from nova_market.errors import CloudUnavailable, TrustRefused


class StaticTrusts:
    """Trusts that are kept in memory: a fake for tests.

    roles: of users in projects, {(user, project): roles}; available = False is a Keystone that is down.
    """

    def __init__(self, roles: dict[tuple[str, str], set[str]]) -> None:
        self.available = True
        self.roles = roles
        self._count = 0
        self.trusts: dict[str, tuple[str, str, tuple[str, ...]]] = {}

    def create(self, token: str, user_id: str, project_id: str, roles: Sequence[str]) -> str:
        self._check()
        lacks = set(roles) - self.roles.get((user_id, project_id), set())
        if not token or lacks or not roles:
            raise TrustRefused(f'{user_id} lacks {sorted(lacks) or "a token or a role"}')
        self._count += 1
        trust_id = f'trust-{self._count}'
        self.trusts[trust_id] = (user_id, project_id, tuple(roles))
        return trust_id

    def delete(self, token: str, trust_id: str) -> None:
        self._check()
        self.trusts.pop(trust_id, None)

    def _check(self) -> None:
        if not self.available:
            raise CloudUnavailable('the trusts were made unavailable; set available to True')
