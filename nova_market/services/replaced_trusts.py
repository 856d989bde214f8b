# SPDX-License-Identifier: Apache-2.0
"""Trusts that were replaced are ended: whoever gave one hands his roles on no longer than they are used.

An application or a queue can be taken over by somebody else of its project, who can't end what another user
gave. The service can, as it acts as whoever gave it. Units: seconds.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from nova_market.core.market.owner_server import OwnerAccess
from nova_market.errors import AccessLost, CloudAway, CloudRefused, CloudUnavailable, TrustGone
from nova_market.ports import Clock, OwnerCloud
from nova_market.services.failures import Owner

LOG = logging.getLogger(__name__)

PAUSE = 3600.0
"""After a refusal: most that are replaced gave roles which their users have lost, and so they do nothing."""

MOST = 5
"""Of one owner in a pass: all others wait meanwhile."""


class ReplacedTrusts:
    """read() once in a pass, then end() for each owner."""

    def __init__(
        self,
        noun: str,
        cloud: OwnerCloud,
        clock: Clock,
        *,
        known: Callable[[], Mapping[str, Sequence[str]]],
        ended: Callable[[str, str], None],
    ) -> None:
        """noun: what an owner is, for the log.

        known: trusts that were replaced, by owner; ended: of an owner's id, forgets this one of them
        """
        self._noun = noun
        self._read = known
        self._ended = ended
        self._cloud = cloud
        self._clock = clock
        self._known: Mapping[str, Sequence[str]] = {}
        self._again: dict[str, float] = {}

    def read(self) -> None:
        """Which there are now."""
        self._known = self._read()
        there = {trust for trusts in self._known.values() for trust in trusts}
        self._again = {trust: at for trust, at in self._again.items() if trust in there}

    def end(self, owner: Owner) -> bool:
        """Those of one owner; were all asked for? What is refused is tried again later.

        :raises CloudAway, DatabaseUnavailable: the next pass goes on.
        """
        now = self._clock.monotonic()
        due = [one for one in self._known.get(owner.id, ()) if now >= self._again.get(one, 0.0)]
        for trust_id in due[:MOST]:
            try:
                self._cloud.forget(OwnerAccess(project_id=owner.project_id, trust_id=trust_id))
            except TrustGone:
                LOG.debug('%s %s: trust %s is gone already', self._noun, owner.id, trust_id)
            except CloudAway:
                raise
            except (AccessLost, CloudRefused, CloudUnavailable) as error:
                self._again[trust_id] = self._clock.monotonic() + PAUSE
                LOG.warning('%s %s: its former trust is not ended: %s', self._noun, owner.id, error)
                continue
            self._ended(owner.id, trust_id)
            LOG.info('%s %s: its former trust %s is ended', self._noun, owner.id, trust_id)
        return len(due) <= MOST
