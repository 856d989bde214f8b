# SPDX-License-Identifier: Apache-2.0
"""The servers of all applications of a project, asked for once in a pass of the controller.

For the virtual clusters of Merkat (INRIA RR-8648), section 2.3.1: applications of one project share a list.
"""

from collections.abc import Callable, Sequence

from nova_market.core.app.record import StoredApp
from nova_market.core.market.owner_server import OwnerAccess, OwnerServer
from nova_market.errors import CloudUnavailable
from nova_market.ports import OwnerCloud


class Listing:
    """The marked servers of each project, read once in a pass with the first trust that is good for it."""

    def __init__(self, cloud: OwnerCloud, answered: Callable[[], None]) -> None:
        """answered: called when the cloud has."""
        self._cloud = cloud
        self._answered = answered
        self._known: dict[str, Sequence[OwnerServer]] = {}
        self._failed: dict[str, CloudUnavailable] = {}

    def servers(self, app: StoredApp) -> Sequence[OwnerServer]:
        """:raises CloudUnavailable, AccessLost: not to be had."""
        if app.project_id in self._failed:
            raise self._failed[app.project_id]  # not once more for each of its applications
        if app.project_id not in self._known:
            access = OwnerAccess(project_id=app.project_id, trust_id=app.trust_id)
            try:
                self._known[app.project_id] = self._cloud.servers(access)
            except CloudUnavailable as error:
                self._failed[app.project_id] = error
                raise
            self._answered()
        return self._known[app.project_id]
