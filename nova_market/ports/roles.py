# SPDX-License-Identifier: Apache-2.0
"""What a user may do in a project, as Keystone knows it now."""

from typing import Protocol


class UserRoles(Protocol):
    """May be called from many threads."""

    def roles(self, user_id: str, project_id: str) -> frozenset[str]:
        """Names of the roles that a token of this user in this project would have; none: he gets no token.

        :raises errors.CloudUnavailable: nobody can tell now.
        """
