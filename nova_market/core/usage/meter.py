# SPDX-License-Identifier: Apache-2.0
"""The meter of a host: from looks at its guests to what each used in each minute of the wall clock.

Implements rule U1 of doc/source/specs/usage.rst. What was used between two looks is divided by time
where a minute ends between them, so nothing is lost or counted twice. A wall clock that is set back a little
leaves the minute open until it has passed it again; one that is set back by more than PATIENCE begins anew
at the time it has.
"""

from collections import deque
from dataclasses import dataclass

from nova_market.core.host.sample import Counters, HostSample
from nova_market.core.usage.use import LONGEST, MINUTE, Minute, MinuteUse, ServerUse

PATIENCE = 300
"""Seconds that a wall clock may go back before its new time is believed."""

MOST_WAITING = 10
"""Minutes that wait for an engine; older ones are dropped."""

MEBI = 2**20


@dataclass(slots=True)
class _Running:
    """As ServerUse, in floats: rounded once, when the minute ends."""

    seconds: float = 0.0
    core_ms: float = 0.0
    memory: float = 0.0
    memory_max: int = 0
    disk_bytes: float = 0.0
    disk_operations: float = 0.0
    network_bytes: float = 0.0

    def add(self, before: Counters, now: Counters, seconds: float, part: float) -> None:
        """This part of what was used in so many seconds."""
        self.seconds += part * seconds
        self.core_ms += part * _grown(before, now, 'cpu_time_ns') / 1e6
        self.memory += part * seconds * now.rss_bytes / MEBI
        self.memory_max = max(self.memory_max, -(-now.rss_bytes // MEBI))
        self.disk_bytes += part * _grown(before, now, 'disk_read_bytes', 'disk_write_bytes')
        self.disk_operations += part * _grown(before, now, 'disk_read_ops', 'disk_write_ops')
        self.network_bytes += part * _grown(before, now, 'net_rx_bytes', 'net_tx_bytes')

    def ended(self) -> ServerUse:
        return ServerUse(
            seconds=round(self.seconds),
            core_ms=_bounded(self.core_ms),
            memory_mib_seconds=_bounded(self.memory),
            memory_mib_max=self.memory_max,
            disk_bytes=_bounded(self.disk_bytes),
            disk_operations=_bounded(self.disk_operations),
            network_bytes=_bounded(self.network_bytes),
        )


class UsageMeter:
    """One thread uses it."""

    def __init__(self) -> None:
        self._last: HostSample | None = None
        self._minute: Minute | None = None
        self._running: dict[str, _Running] = {}
        self._waiting: deque[MinuteUse] = deque(maxlen=MOST_WAITING)

    def take(self, sample: HostSample, wall: float) -> None:
        """Count what was used since the last look. wall: seconds since the epoch."""
        before, self._last = self._last, sample
        seconds = sample.time - before.time if before is not None else 0.0
        minute = Minute(int(wall // MINUTE) * MINUTE)
        if self._minute is None:
            self._minute = minute
        if not self._minute - PATIENCE < minute <= self._minute:
            # the minute that is over gets what was used before its end
            rest = min(wall - minute, seconds) / seconds if seconds > 0 else 1.0
            self._count(before, sample, seconds, 1.0 - rest)
            self._close()
            self._minute = minute
            self._count(before, sample, seconds, rest)
        else:
            self._count(before, sample, seconds, 1.0)

    def oldest(self) -> MinuteUse | None:
        """The oldest minute that is over and has not been sent; None when there is none."""
        return self._waiting[0] if self._waiting else None

    def sent(self, use: MinuteUse) -> None:
        """It has been sent, and is not sent again."""
        if self._waiting and self._waiting[0] is use:
            self._waiting.popleft()

    def _count(
        self, before: HostSample | None, sample: HostSample, seconds: float, part: float
    ) -> None:
        if before is None or seconds <= 0 or part <= 0:
            return
        known = {item.guest.incarnation: item.counters for item in before.guests}
        for item in sample.guests:
            old = known.get(item.guest.incarnation)
            if old is not None:
                running = self._running.setdefault(item.guest.id, _Running())
                running.add(old, item.counters, seconds, part)

    def _close(self) -> None:
        if self._minute is not None and self._running:
            used = {guest: one.ended() for guest, one in self._running.items()}
            self._waiting.append(MinuteUse(at=self._minute, servers=used))
        self._running = {}


def _grown(before: Counters, now: Counters, *names: str) -> int:
    """A counter that fell, as of a device that was taken away, has grown by nothing."""
    return sum(max(getattr(now, name) - getattr(before, name), 0) for name in names)


def _bounded(amount: float) -> int:
    return min(round(amount), LONGEST)
