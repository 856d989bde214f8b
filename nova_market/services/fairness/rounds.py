# SPDX-License-Identifier: Apache-2.0
"""The rounds of nova-fairness: each runs the agent once, shows what it did, and outlives what goes wrong."""

import logging
import threading
from collections.abc import Callable

from nova_market.errors import HostUnavailable
from nova_market.outage_log import OutageLog
from nova_market.services.fairness.agent import Agent, FairnessRecord
from nova_market.services.fairness.progress import RoundUnderWay

LOG = logging.getLogger(__name__)


class FairnessRounds:
    """The work of a services.daemon.Daemon."""

    def __init__(
        self,
        agent: Agent,
        observe: Callable[[FairnessRecord], None],
        failed: Callable[[], None],
        show: Callable[[RoundUnderWay | None], None],
    ) -> None:
        """observe: called with each round done; failed: called for each round that could not be run.

        show: called from time to time while a round takes too long, from another thread; None: it has ended.
        """
        self._agent = agent
        self._observe = observe
        self._failed = failed
        self._show = show
        self._shown = False
        self._showing = threading.Lock()
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
        finally:
            self._show_end()

    def late(self) -> str:
        """As services.daemon.Work: `nova-fairness status` names the phase in which the round is."""
        with self._showing:
            found = self._agent.progress.under_way()
            if found is None:
                return 'showing what the last round did'
            self._shown = True
            self._try_to_show(found)
        return f'a round, in the phase {found.phase}'

    def stop(self, *, ended: bool) -> None:
        """Put the guests' values back, unless a round might still write others."""
        if ended:
            self._agent.stop()
        else:
            LOG.warning('guests keep their values; the next start goes on from them')

    def _show_end(self) -> None:
        """A round that was shown has ended, also when it failed: it is under way no more."""
        with self._showing:
            if self._shown:
                self._shown = False
                self._try_to_show(None)

    def _try_to_show(self, found: RoundUnderWay | None) -> None:
        try:
            self._show(found)
        except OSError as error:
            LOG.debug('the round under way is not shown: %s', error)
