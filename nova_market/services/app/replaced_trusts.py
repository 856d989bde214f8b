# SPDX-License-Identifier: Apache-2.0
"""Trusts that were replaced are ended: whoever gave one hands his roles on no longer than they are used.

An application can be taken over by somebody else of its project, who can't end what another user gave. The
controller can, as it acts as whoever gave it. Units: seconds.
"""

import logging
from collections.abc import Mapping, Sequence

from nova_market.core.app.record import StoredApp
from nova_market.core.market.owner_server import OwnerAccess
from nova_market.errors import AccessLost, CloudAway, CloudRefused, CloudUnavailable, TrustGone
from nova_market.ports import Clock, OwnerCloud
from nova_market.services.app.inputs import AppStores

LOG = logging.getLogger(__name__)

PAUSE = 3600.0
"""After a refusal: most that are replaced gave roles which their users have lost, and so they do nothing."""

MOST = 5
"""Of one application in a pass: all others wait meanwhile."""


class ReplacedTrusts:
    """read() once in a pass, then end() for each application."""

    def __init__(self, stores: AppStores, cloud: OwnerCloud, clock: Clock) -> None:
        self._stores = stores
        self._cloud = cloud
        self._clock = clock
        self._known: Mapping[str, Sequence[str]] = {}
        self._again: dict[str, float] = {}

    def read(self) -> None:
        """Which there are now."""
        self._known = self._stores.apps.replaced_trusts()
        there = {trust for trusts in self._known.values() for trust in trusts}
        self._again = {trust: at for trust, at in self._again.items() if trust in there}

    def end(self, app: StoredApp) -> bool:
        """Those of one application; were all asked for? What is refused is tried again later.

        :raises CloudAway, DatabaseUnavailable: the next pass goes on.
        """
        now = self._clock.monotonic()
        due = [one for one in self._known.get(app.id, ()) if now >= self._again.get(one, 0.0)]
        for trust_id in due[:MOST]:
            try:
                self._cloud.forget(OwnerAccess(project_id=app.project_id, trust_id=trust_id))
            except TrustGone:
                LOG.debug('app %s: trust %s is gone already', app.id, trust_id)
            except CloudAway:
                raise
            except (AccessLost, CloudRefused, CloudUnavailable) as error:
                self._again[trust_id] = self._clock.monotonic() + PAUSE
                LOG.warning('app %s: its former trust is not ended: %s', app.id, error)
                continue
            self._stores.apps.trust_ended(app.id, trust_id)
            LOG.info('app %s: its former trust %s is ended', app.id, trust_id)
        return len(due) <= MOST
