# SPDX-License-Identifier: Apache-2.0
"""nova-fairness, nova-market-engine and nova-market-controller as oslo.service services: one thread of work.

Units: seconds. The backend of oslo.service (native threads) must be chosen before this module is imported;
cmd does it.
"""

import logging
import os
import signal
import threading
import time
from typing import Protocol

from oslo_service import service

LOG = logging.getLogger(__name__)

TICK = 1.0
"""Seconds between two ticks of a service that decides for itself what is due."""

EARLY = 1.0
"""From a wake-up to the tick it triggers, and least distance between ticks: a reboot of a guest is a stop and
a start, and 200 guests that appear together should cost one round."""

STOP_TIMEOUT = 15.0


class Work(Protocol):
    """What a service does, already started. All in one thread, but stop()."""

    def tick(self) -> None:
        """Do what is due. Raises nothing."""

    def stop(self, *, ended: bool) -> None:
        """There is no other tick. ended: False: the last one goes on still, after the time limit."""


class Daemon(service.Service):  # type: ignore[misc]
    """Ticks until it is stopped, at each interval and soon after a wake-up."""

    def __init__(self, work: Work, interval: float = TICK) -> None:
        super().__init__()
        self._work = work
        self._interval = interval
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        super().start()
        if threading.current_thread() is threading.main_thread():
            # oslo.service would leave at once on Ctrl-C, without stop()
            signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
            signal.signal(signal.SIGHUP, _refuse_reload)
        self._thread = threading.Thread(target=self._run, name='rounds', daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the service is stopped."""
        if self._thread is not None:
            self._thread.join()

    def stop(self, graceful: bool = False) -> None:
        """Stop the work after the tick that runs now, or without it when it takes too long."""
        self._stopping.set()
        self._wake.set()
        ended = True
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)
            ended = not self._thread.is_alive()
        if not ended:
            LOG.warning('the work under way has not ended within %.0f s', STOP_TIMEOUT)
        self._work.stop(ended=ended)
        LOG.info('stopped')
        super().stop(graceful)

    def wake(self, reason: str) -> None:
        """Ask for an early tick. Called from other threads: only sets a flag."""
        LOG.debug('early round: %s', reason)
        self._wake.set()

    def _run(self) -> None:
        pause = min(EARLY, self._interval)
        while not self._stopping.is_set():
            began = time.monotonic()
            self._wake.clear()
            self._work.tick()
            if self._stopping.wait(pause):
                return
            if self._wake.wait(max(began + self._interval - time.monotonic(), 0.0)):
                self._stopping.wait(pause)


def _refuse_reload(*_: object) -> None:
    LOG.warning('SIGHUP is ignored: options are read at start; restart the service to change them')
