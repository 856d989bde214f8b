# SPDX-License-Identifier: Apache-2.0
"""Roles of users that are kept in memory."""

from collections.abc import Mapping

from nova_market.errors import CloudAway


class StaticUserRoles:
    """Implements ports.UserRoles. available = False is a Keystone that is down.

    roles: {(user, project): roles}, may be changed; others: of all users and projects that are not in it
    """

    def __init__(
        self, roles: Mapping[tuple[str, str], frozenset[str]], others: frozenset[str] = frozenset()
    ) -> None:
        self.available = True
        self.asked = 0
        self.given = dict(roles)
        self._others = others

    def roles(self, user_id: str, project_id: str) -> frozenset[str]:
        self.asked += 1
        if not self.available:
            raise CloudAway('the roles were made unavailable; set available to True')
        return self.given.get((user_id, project_id), self._others)
