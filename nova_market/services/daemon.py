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

from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

TICK = 1.0
"""Seconds between two ticks of a service that decides for itself what is due."""

EARLY = 1.0
"""From a wake-up to the tick it triggers, and least distance between ticks: a reboot of a guest is a stop and
a start, and 200 guests that appear together should cost one round."""

STALE_INTERVALS = 3
"""Intervals without an end of the work after which an operator should know."""

TICK_TIMEOUT = 10.0
"""Seconds that a stop waits for the tick that runs now."""

CLEANUP_TIMEOUT = 10.0
"""Seconds that a stop waits for the work to clean up. With TICK_TIMEOUT it is the longest stop; the units in
etc/systemd kill the process after 60 s."""

LOOK = 1.0
"""Seconds between two looks at how long the tick that runs now has lasted."""


class Work(Protocol):
    """What a service does, already started. tick() runs in one thread, late() and stop() in others."""

    def tick(self) -> None:
        """Do what is due. Raises nothing."""

    def late(self) -> str:
        """Show that the tick that runs now lasts too long; what it does now, for the log. Returns at once."""

    def stop(self, *, ended: bool) -> None:
        """There is no other tick. ended: False: the last one goes on still, after the time limit."""


class Daemon(service.Service):  # type: ignore[misc]
    """Ticks until it is stopped, at each interval and soon after a wake-up.

    The thread that waits for its end watches the ticks: one that hangs is logged, and shown by the work.
    """

    def __init__(self, work: Work, interval: float = TICK, *, patience: float) -> None:
        """patience: seconds that a tick may last without being reported."""
        super().__init__()
        self._work = work
        self._interval = interval
        self._patience = patience
        self._began = 0.0
        self._late = OutageLog(
            LOG,
            lost='the work under way takes too long, nothing else is done until it ends',
            back='the work that took too long has ended',
        )
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
        """Until the service is stopped; meanwhile watch the ticks."""
        if self._thread is None:
            return
        while self._thread.is_alive():
            self._thread.join(LOOK)
            self._watch()

    def stop(self, graceful: bool = False) -> None:
        """Stop the work after the tick that runs now, or without it when it takes too long.

        Ends after TICK_TIMEOUT + CLEANUP_TIMEOUT at the latest, whatever the work waits for.
        """
        self._stopping.set()
        self._wake.set()
        ended = self._thread is None or _ends(self._thread, TICK_TIMEOUT)
        if not ended:
            LOG.warning('the work under way has not ended within %.0f s', TICK_TIMEOUT)
        cleanup = threading.Thread(target=self._clean_up, args=(ended,), name='stop', daemon=True)
        cleanup.start()
        if not _ends(cleanup, CLEANUP_TIMEOUT):
            LOG.warning('cleaning up has not ended within %.0f s', CLEANUP_TIMEOUT)
        LOG.info('stopped')
        super().stop(graceful)

    def wake(self, reason: str) -> None:
        """Ask for an early tick. Called from other threads: only sets a flag."""
        LOG.debug('early round: %s', reason)
        self._wake.set()

    def _run(self) -> None:
        pause = min(EARLY, self._interval)
        while not self._stopping.is_set():
            began = self._began = time.monotonic()
            self._wake.clear()
            self._work.tick()
            self._began = 0.0
            self._late.works()
            if self._stopping.wait(pause):
                return
            if self._wake.wait(max(began + self._interval - time.monotonic(), 0.0)):
                self._stopping.wait(pause)

    def _watch(self) -> None:
        """Log a tick that is late, once, and have the work show it, at each look."""
        began = self._began
        lasted = time.monotonic() - began
        if began and lasted > self._patience:
            self._late.failed(f'{self._work.late()}, for {lasted:.0f} s')

    def _clean_up(self, ended: bool) -> None:
        try:
            self._work.stop(ended=ended)
        except Exception:
            LOG.exception('cleaning up failed')


def _ends(thread: threading.Thread, within: float) -> bool:
    thread.join(within)
    return not thread.is_alive()


def _refuse_reload(*_: object) -> None:
    LOG.warning('SIGHUP is ignored: options are read at start; restart the service to change them')
