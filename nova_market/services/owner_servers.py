# SPDX-License-Identifier: Apache-2.0
"""The servers of all owners (applications, queues) of a project, asked for once in a pass.

For the virtual clusters of Merkat (INRIA RR-8648), section 2.3.1, and the workers of SVMSched, section 4.2.3:
owners of one project share a list.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from nova_market.core.market.owner_server import OwnerAccess, OwnerServer
from nova_market.errors import CloudUnavailable
from nova_market.ports import OwnerCloud
from nova_market.services.failures import Owner


class TrustingOwner(Owner, Protocol):
    """One that has given a trust."""

    @property
    def trust_id(self) -> str: ...


class OwnerServers:
    """The marked servers of each project, read once in a pass with the first trust that is good for it."""

    def __init__(self, cloud: OwnerCloud, answered: Callable[[], None]) -> None:
        """answered: called when the cloud has."""
        self._cloud = cloud
        self._answered = answered
        self._known: dict[str, Sequence[OwnerServer]] = {}
        self._failed: dict[str, CloudUnavailable] = {}

    def servers(self, owner: TrustingOwner) -> Sequence[OwnerServer]:
        """:raises CloudUnavailable, AccessLost: not to be had."""
        if owner.project_id in self._failed:
            raise self._failed[owner.project_id]  # not once more for each of its owners
        if owner.project_id not in self._known:
            access = OwnerAccess(project_id=owner.project_id, trust_id=owner.trust_id)
            try:
                self._known[owner.project_id] = self._cloud.servers(access)
            except CloudUnavailable as error:
                self._failed[owner.project_id] = error
                raise
            self._answered()
        return self._known[owner.project_id]
