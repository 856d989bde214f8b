# SPDX-License-Identifier: Apache-2.0
"""Which of several engines leads: a lock of tooz that the leader holds.

Implements ports.Leadership and rule F1 of doc/source/specs/market.rst. Units: seconds.

A lock over a network can be lost without notice, so a leader whose last beat is older than `lease` does
not lead any more, whatever it thinks; the rounds' keys make it harmless when two do for a moment.
"""

import contextlib
import logging
import threading
from typing import Any

from tooz import coordination

from nova_market.errors import ConfigurationError
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock

LOG = logging.getLogger(__name__)

LOCK = b'nova-market-engine'

CONNECT_SECONDS = 3.0


class SoleLeader:
    """The only engine there is. Implements ports.Leadership."""

    def __init__(self, leads: bool = True) -> None:
        self.leads = leads

    def start(self) -> None:
        """Nothing to do."""

    def leading(self) -> bool:
        return self.leads

    def stop(self) -> None:
        """Nothing to let go of."""


class ToozLeadership:
    """Implements ports.Leadership. A thread of its own waits for the lock and beats; callers never wait."""

    def __init__(
        self, name: str, url: str, clock: Clock, beat: float = 2.0, lock: bytes = LOCK
    ) -> None:
        """name: of this service, no other may have it; beat: seconds between two looks at the lock.

        lock: what those that take turns compete for

        :raises ConfigurationError: no driver for this URL is installed.
        """
        self._name = name
        self._clock = clock
        self._beat = beat
        self._wanted = lock
        self._lease = 5 * beat
        self._last = 0.0
        self._held = False
        self._lock: Any = None
        self._outage = OutageLog(
            LOG,
            lost=f'the backend of [market]coordination_url does not answer, {name} stands by until it does',
            back='the backend of [market]coordination_url answers again',
        )
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        try:
            self._coordinator = coordination.get_coordinator(url, name.encode())
        except Exception as error:
            # the text may hold the URL, and that a password
            scheme = url.partition(':')[0]
            raise ConfigurationError(
                f'[market]coordination_url: no tooz driver for {scheme!r} can be used '
                f'({type(error).__name__}); install what it needs, for example tooz[redis]'
            ) from None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name='leadership', daemon=True)
        self._thread.start()

    def leading(self) -> bool:
        return self._held and self._clock.monotonic() - self._last < self._lease

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(CONNECT_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait = self._beat
            try:
                wait = self._turn()
            except Exception as error:
                # a driver may raise anything of the library below it
                self._outage.failed(type(error).__name__)
                self._drop_lost()
            else:
                self._outage.works()
            self._stopping.wait(wait)
        self._leave()

    def _turn(self) -> float:
        if not self._coordinator.is_started:
            self._coordinator.start()
            self._lock = self._coordinator.get_lock(self._wanted)
        began = self._clock.monotonic()
        due = self._coordinator.heartbeat() if self._coordinator.requires_beating else None
        if self._held:
            self._held = self._still_ours()
        if not self._held:
            self._held = bool(self._lock.acquire(blocking=False))
        self._last = began
        return min(self._beat, due) if due and due > 0 else self._beat

    def _still_ours(self) -> bool:
        """A file's lock ends with the process only; the others are asked."""
        try:
            return bool(self._lock.is_still_owner())
        except (NotImplementedError, AttributeError):
            return bool(self._lock.acquired)

    def _drop_lost(self) -> None:
        """Redis' driver goes on beating for a lock that somebody else has, and fails for ever."""
        if not self._held or self.leading():
            return
        self._held = False
        with contextlib.suppress(Exception):
            self._lock.release()

    def _leave(self) -> None:
        held, self._held = self._held, False
        try:
            if held:
                self._lock.release()
            if self._coordinator.is_started:
                self._coordinator.stop()
        except Exception as error:
            LOG.debug('giving up the lead: %s', type(error).__name__)
