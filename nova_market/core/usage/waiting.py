# SPDX-License-Identifier: Apache-2.0
"""What hosts have reported and is not written yet: a room of its own for each host.

Implements rule U1 of doc/source/specs/usage.rst and H31 of doc/source/specs/fairness.rst. A host has room
for some minutes, and in each for the servers that the market knows on it and some more, which it may not
know yet. So what one host sends pushes out nothing of another one. Of several reports of one minute the
first counts. Units: seconds.

The caller serialises calls.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nova_market.core.resource import HostName
from nova_market.core.usage.use import MINUTE, Minute, MinuteUse

MOST_MINUTES = 25
"""Of a host, while the database is away. With 10,000 servers about 100 MB."""

SPARE = 200
"""Servers of a host that the market does not know on it yet: those that were started since the last round."""

REMEMBERED = 64
"""Minutes of a host of which a report has come, whatever has become of it."""

Report = tuple[HostName, MinuteUse]


@dataclass(slots=True)
class _Room:
    """waiting: minute -> report; taken: minutes that have been reported, the oldest first."""

    waiting: dict[Minute, MinuteUse] = field(default_factory=dict)
    taken: deque[Minute] = field(default_factory=lambda: deque(maxlen=REMEMBERED))


class WaitingReports:
    """dropped: minutes of servers that found no room, since somebody has set it to 0."""

    def __init__(self) -> None:
        self.dropped = 0
        self._rooms: dict[HostName, _Room] = {}

    def take(self, host: HostName, use: MinuteUse, known: Iterable[str]) -> None:
        """A report that has come. known: the servers that the market knows on this host."""
        room = self._rooms.setdefault(host, _Room())
        if use.at in room.taken:
            self.dropped += len(use.servers)
            return
        room.taken.append(use.at)
        mine = {server: use.servers[server] for server in known if server in use.servers}
        others = [item for item in use.servers.items() if item[0] not in mine]
        self.dropped += len(others[SPARE:])
        self.wait(host, MinuteUse(at=use.at, servers={**mine, **dict(others[:SPARE])}))

    def wait(self, host: HostName, use: MinuteUse) -> None:
        """Let what has been taken wait, perhaps again."""
        room = self._rooms.setdefault(host, _Room())
        room.waiting[use.at] = use
        while len(room.waiting) > MOST_MINUTES:
            self._drop(room, min(room.waiting))

    def due(self, wall: float, settled: float, early: float) -> list[Report]:
        """What is over for `settled` seconds, oldest first; it waits no longer.

        What begins more than `early` seconds from now is dropped.
        """
        found: list[Report] = []
        for host, room in self._rooms.items():
            for at in sorted(room.waiting):
                if at + MINUTE + settled <= wall:
                    found.append((host, room.waiting.pop(at)))
                elif at > wall + early:
                    self._drop(room, at)
        return sorted(found, key=lambda one: one[1].at)

    def forget(self, hosts: Mapping[HostName, object]) -> None:
        """Of hosts that are not among these and of which nothing waits."""
        self._rooms = {h: room for h, room in self._rooms.items() if h in hosts or room.waiting}

    def _drop(self, room: _Room, at: Minute) -> None:
        self.dropped += len(room.waiting.pop(at).servers)
