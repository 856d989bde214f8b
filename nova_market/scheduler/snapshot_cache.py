# SPDX-License-Identifier: Apache-2.0
"""The newest snapshot of this process: refreshed in the background, looked up without waiting.

Implements rule S2 of doc/source/specs/market.rst. Times: seconds of a monotonic clock.

nova-scheduler makes its filters in the parent and forks its workers then, and a thread does not survive a
fork: so nothing is started before a plug-in first asks, and what was started in another process is started
again. The lock is held by nobody for longer than it takes to assign.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.errors import BadSnapshot, NovaMarketError
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

UNREAD, AGAIN = 'the market can not be read', 'the market can be read again'
SILENT = 'filters of the market let everything pass and its weighers are silent'
KNOWN = 'the market is known: its filters and weighers count'

PAUSE = 20.0
"""Seconds between two looks where the option cannot be read."""


class Source(Protocol):
    """Where snapshots come from."""

    def read(self, known: SchedulerSnapshot | None) -> tuple[SchedulerSnapshot | None, float]:
        """(a newer snapshot or None when `known` is the newest, its age in seconds).

        :raises NovaMarketError: there is none to be had now.
        """


@dataclass(frozen=True, slots=True)
class Held:
    """A snapshot, and when its round began."""

    snapshot: SchedulerSnapshot
    began: float


class Feed:
    """For many threads, in whichever process asks."""

    def __init__(
        self,
        source: Callable[[], Source],
        *,
        refresh: Callable[[], float],
        max_age: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
        background: bool = True,
    ) -> None:
        """source: makes it, in the process and thread that uses it; background: False: `look` by hand."""
        self._make = source
        self._refresh = refresh
        self._max_age = max_age
        self._monotonic = monotonic
        self._background = background
        self._pid = 0
        self._lock = threading.Lock()
        self._source: Source | None = None
        self._held: Held | None = None
        self._reading = OutageLog(LOG, lost=UNREAD, back=AGAIN)
        self._market = OutageLog(LOG, lost=SILENT, back=KNOWN, unproven=True)
        self._refused = 0

    def current(self) -> SchedulerSnapshot | None:
        """The newest snapshot that is not too old; None otherwise, which the log says once."""
        if self._pid != os.getpid():
            self._start()
        held = self._held
        if held is not None and self._monotonic() - held.began <= self._max_age():
            self._market.works()
            return held.snapshot
        if self._market.active:
            return None
        if held is None:
            self._market.failed('it is not known yet', level=logging.INFO)
        else:
            self._market.failed(f'it was last seen more than {self._max_age():.0f} s ago')
        return None

    def look(self) -> None:
        """Ask the source once. Raises nothing."""
        held = self._held
        try:
            if self._source is None:
                self._source = self._make()
            asked = self._monotonic()
            found, age = self._source.read(held.snapshot if held else None)
        except NovaMarketError as error:
            self._refused = self._refused + 1 if isinstance(error, BadSnapshot) else 0
            self._reading.failed(error)
            return
        except Exception as error:
            self._reading.failed(error, kind=repr(error), level=logging.ERROR, exc_info=True)
            return
        snapshot = found or (held.snapshot if held else None)
        if snapshot is not None:
            began = asked - age
            if held is not None and held.snapshot.period == snapshot.period:
                # a round grows no younger, whatever the clock of who answers says
                began = min(began, held.began)
            self._held = Held(snapshot, began)
        self._reading.works()
        self._refused = 0

    def pause(self) -> float:
        """Seconds until the next look; longer and longer while what answers is no snapshot.

        To parse it and to refuse it takes time of the process's other threads.
        """
        refresh = max(1.0, self._refresh())
        return min(refresh * 2.0 ** min(self._refused, 10), max(refresh, self._max_age()))

    def _start(self) -> None:
        with self._lock:
            pid = os.getpid()
            if self._pid == pid:
                return
            # what another process has opened is not ours, and a snapshot of the parent is still good
            self._source = None
            if self._background:
                threading.Thread(target=self._run, name='nova-market snapshot', daemon=True).start()
            self._pid = pid

    def _run(self) -> None:
        options = OutageLog(
            LOG,
            lost='options of [nova_market] can not be read',
            back='options of [nova_market] can be read again',
        )
        while True:
            self.look()
            try:
                pause = self.pause()
                options.works()
            except Exception as error:  # the thread would end without a word
                options.failed(error, level=logging.ERROR, exc_info=True)
                pause = PAUSE
            time.sleep(pause)
