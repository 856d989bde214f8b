# SPDX-License-Identifier: Apache-2.0
"""nova-fairness as an oslo.service service: runs a round each interval and on lifecycle events.

The backend of oslo.service (native threads) must be chosen before this module is imported; cmd does it.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from oslo_service import service

from nova_market.errors import HostUnavailable
from nova_market.services.fairness.agent import Agent, RoundRecord

LOG = logging.getLogger(__name__)

EARLY = 1.0
"""Seconds from a lifecycle event to the round it triggers, and least distance between rounds: a reboot
is a stop and a start, and 200 guests that appear together should cost one round."""

STOP_TIMEOUT = 15.0


class FairnessService(service.Service):  # type: ignore[misc]
    def __init__(
        self,
        agent: Agent,
        interval: float,
        observe: Callable[[RoundRecord], None],
        failed: Callable[[], None],
    ) -> None:
        """observe: called with each round done; failed: called for each round that could not be run."""
        super().__init__()
        self._agent = agent
        self._interval = interval
        self._observe = observe
        self._failed = failed
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._down = False

    def start(self) -> None:
        super().start()
        if threading.current_thread() is threading.main_thread():
            # oslo.service would leave at once on Ctrl-C, with the guests' values not put back
            signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
            signal.signal(signal.SIGHUP, _refuse_reload)
        self._thread = threading.Thread(target=self._run, name='rounds', daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the service is stopped."""
        if self._thread is not None:
            self._thread.join()

    def stop(self, graceful: bool = False) -> None:
        """Stop after the round that runs now and put the guests' values back."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)
            if self._thread.is_alive():
                LOG.warning(
                    'a round did not end within %.0f s; originals are left to the next start',
                    STOP_TIMEOUT,
                )
            else:
                self._agent.stop()
                LOG.info('stopped')
        super().stop(graceful)

    def wake(self, reason: str) -> None:
        """Ask for an early round. Called from the hypervisor's event thread: only sets a flag."""
        LOG.debug('early round: %s', reason)
        self._wake.set()

    def run_once(self) -> None:
        """One round; whatever goes wrong is logged, once per outage where it is the hypervisor's."""
        try:
            record = self._agent.round()
            self._observe(record)
        except HostUnavailable as error:
            if not self._down:
                LOG.warning(
                    'the hypervisor does not answer, rounds are skipped until it does: %s', error
                )
            self._down = True
            self._failed()
        except Exception:
            LOG.exception('this round failed; the next one starts over')
            self._failed()
        else:
            if self._down:
                LOG.info('the hypervisor answers again')
            self._down = False

    def _run(self) -> None:
        pause = min(EARLY, self._interval)
        while not self._stopping.is_set():
            began = time.monotonic()
            self._wake.clear()
            self.run_once()
            if self._stopping.wait(pause):
                return
            if self._wake.wait(max(began + self._interval - time.monotonic(), 0.0)):
                self._stopping.wait(pause)


def _refuse_reload(*_: object) -> None:
    LOG.warning('SIGHUP is ignored: options are read at start; restart the service to change them')
