# SPDX-License-Identifier: Apache-2.0
"""Work in lanes that do not hold up each other: for rule N9 of doc/source/specs/notices.rst. Seconds.

A lane is a host that messages go to. Those that took their last message quickly share one part of the
workers, each with several of them; all others, also those that are not known yet, share another one, each
with one. So any number of hosts that answer slowly wait for each other, and for nobody else. Work that sends
nothing shows nothing of its host: while the message of a slow one waits for its next try, what comes later
is done in no time. A lane that is kept apart has a part of its own, however slow it is: no tenant chooses
it. A run ends when its time is over, and what goes on then keeps its lane busy in the next one.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from time import monotonic

QUICK = 1.0
"""Seconds that a piece of work of a quick lane takes at most."""

KNOWN = 10_000
"""Lanes that are remembered as quick: those that were so last."""

Work = Callable[[], bool]
"""Whether its lane took something."""


class Lanes:
    """Used by one thread. Work is done by others, of one lane in its order."""

    def __init__(self, workers: int, apart: Collection[str] = ()) -> None:
        """workers: pieces of work at the same time; apart: lanes that share their workers with no other."""
        self._part = max(workers // (2 + len(apart)), 1)
        self._apart = frozenset(apart)
        self._quick: dict[str, None] = {}
        self._busy: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._pools: dict[str | bool, ThreadPoolExecutor] = {}
        self._begun: list[Future[None]] = []

    @property
    def quick(self) -> frozenset[str]:
        """Lanes that took their last piece of work quickly."""
        with self._lock:
            return frozenset(self._quick)

    def run(self, asked: Iterable[tuple[str, Work]], seconds: float) -> list[Work]:
        """Do this work, of (lane, work), for so long; what was not begun.

        Raises what a piece of work of this run or of an earlier one has raised.
        """
        waiting: dict[str, deque[Work]] = {}
        for lane, work in asked:
            waiting.setdefault(lane, deque()).append(work)
        end = monotonic() + seconds
        for lane, some in waiting.items():
            self._begin(lane, some, end)
        wait(self._begun, timeout=seconds)
        left = [work for some in waiting.values() for work in iter(partial(_next, some), None)]
        done = [one for one in self._begun if one.done()]
        self._begun = [one for one in self._begun if not one.done()]
        for one in done:
            one.result()
        return left

    def close(self) -> None:
        """Wait for what was begun."""
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)
        self._pools, self._begun = {}, []

    def _begin(self, lane: str, waiting: deque[Work], end: float) -> None:
        with self._lock:
            part = lane if lane in self._apart else lane in self._quick
            free = (self._part if part is not False else 1) - self._busy[lane]
        if part not in self._pools:
            self._pools[part] = ThreadPoolExecutor(self._part, 'notices')
        for _ in range(min(free, len(waiting))):
            self._begun.append(self._pools[part].submit(self._drive, lane, waiting, end))

    def _drive(self, lane: str, waiting: deque[Work], end: float) -> None:
        """Do what waits in a lane, one after the other."""
        with self._lock:
            self._busy[lane] += 1
        try:
            while monotonic() < end and (some := _next(waiting)):
                began, took = monotonic(), False
                try:
                    took = some()
                finally:
                    self._learn(lane, monotonic() - began, took)
        finally:
            with self._lock:
                self._busy[lane] -= 1
                self._busy += Counter()  # without those that are at 0

    def _learn(self, lane: str, seconds: float, took: bool) -> None:
        with self._lock:
            if seconds > QUICK:
                self._quick.pop(lane, None)
            elif took:
                self._quick.pop(lane, None)
                self._quick[lane] = None
                if len(self._quick) > KNOWN:
                    del self._quick[next(iter(self._quick))]


def _next(waiting: deque[Work]) -> Work | None:
    """What comes next, taken away so that nobody else does it; None: nothing is left."""
    try:
        return waiting.popleft()
    except IndexError:
        return None
