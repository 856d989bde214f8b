# SPDX-License-Identifier: Apache-2.0
"""The rounds of nova-fairness: each runs the agent once, shows what it did, and outlives what goes wrong."""

import logging
from collections.abc import Callable

from nova_market.errors import HostUnavailable
from nova_market.outage_log import OutageLog
from nova_market.services.fairness.agent import Agent, FairnessRecord

LOG = logging.getLogger(__name__)


class FairnessRounds:
    """The work of a services.daemon.Daemon."""

    def __init__(
        self,
        agent: Agent,
        observe: Callable[[FairnessRecord], None],
        failed: Callable[[], None],
    ) -> None:
        """observe: called with each round done; failed: called for each round that could not be run."""
        self._agent = agent
        self._observe = observe
        self._failed = failed
        self._outage = OutageLog(
            LOG,
            lost='the hypervisor does not answer, rounds are skipped until it does',
            back='the hypervisor answers again',
        )

    def tick(self) -> None:
        """One round; whatever goes wrong is logged, once per outage where it is the hypervisor's."""
        try:
            record = self._agent.round()
            self._observe(record)
        except HostUnavailable as error:
            self._outage.failed(error)
            self._failed()
        except Exception:
            LOG.exception('this round failed; the next one starts over')
            self._failed()
        else:
            self._outage.works()

    def stop(self, *, ended: bool) -> None:
        """Put the guests' values back, unless a round might still write others."""
        if ended:
            self._agent.stop()
        else:
            LOG.warning('the original values of the guests are put back at the next start')
