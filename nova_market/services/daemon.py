# SPDX-License-Identifier: Apache-2.0
"""nova-market-engine and nova-market-controller as oslo.service services: a tick every second.

The backend of oslo.service (native threads) must be chosen before this module is imported; cmd does it.
"""

import logging
import os
import signal
import threading
from typing import Protocol

from oslo_service import service

LOG = logging.getLogger(__name__)

TICK = 1.0
STOP_TIMEOUT = 15.0


class Ticking(Protocol):
    """What leads or stands by, and does what is due when it is called."""

    def start(self) -> None: ...

    def tick(self) -> None: ...

    def stop(self) -> None: ...


class MarketService(service.Service):  # type: ignore[misc]
    def __init__(self, engine: Ticking) -> None:
        super().__init__()
        self._engine = engine
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        super().start()
        if threading.current_thread() is threading.main_thread():
            # oslo.service would leave at once on Ctrl-C
            signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
            signal.signal(signal.SIGHUP, _refuse_reload)
        self._engine.start()
        self._thread = threading.Thread(target=self._run, name='rounds', daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the service is stopped."""
        if self._thread is not None:
            self._thread.join()

    def stop(self, graceful: bool = False) -> None:
        """Let another one lead; what is under way is stored, and completed by that one."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)
        self._engine.stop()
        LOG.info('stopped')
        super().stop(graceful)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._engine.tick()
            self._stopping.wait(TICK)


def _refuse_reload(*_: object) -> None:
    LOG.warning('SIGHUP is ignored: options are read at start; restart the service to change them')
