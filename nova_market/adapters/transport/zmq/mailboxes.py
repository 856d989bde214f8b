# SPDX-License-Identifier: Apache-2.0
"""Frames that wait for the thread of the sockets: a box for each host, which keeps the newest."""

import threading
from collections import deque
from collections.abc import Container, Mapping

from nova_market.core.resource import HostName

CAPACITY = 4
"""Frames that are kept for a host that can't be reached: a statement and an answer of two intervals."""

UNSENT = 'unsent'


class Mailboxes:
    """All threads may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: dict[HostName, deque[bytes]] = {}
        self._unsent = 0

    @property
    def dropped(self) -> Mapping[str, int]:
        """Frames that newer ones have displaced, by the word for it; empty when there were none."""
        return {UNSENT: self._unsent} if self._unsent else {}

    def post(self, host: HostName, frame: bytes) -> None:
        """Leave a frame; the oldest of a full box gives way."""
        with self._lock:
            box = self._boxes.setdefault(host, deque())
            if len(box) == CAPACITY:
                box.popleft()
                self._unsent += 1
            box.append(frame)

    def waiting(self) -> list[HostName]:
        """Hosts for which something is there."""
        with self._lock:
            return [host for host, box in self._boxes.items() if box]

    def take(self, host: HostName) -> bytes | None:
        """The oldest frame for a host; None when nothing is there."""
        with self._lock:
            box = self._boxes.get(host)
            return box.popleft() if box else None

    def put_back(self, host: HostName, frame: bytes) -> None:
        """What could not be sent is the oldest again, unless newer ones have filled the box."""
        with self._lock:
            box = self._boxes.setdefault(host, deque())
            if len(box) < CAPACITY:
                box.appendleft(frame)
            else:
                self._unsent += 1

    def empty(self, host: HostName) -> int:
        """Throw away what waits for a host; how many frames that were."""
        with self._lock:
            return len(self._boxes.pop(host, ()))

    def forget_others(self, hosts: Container[HostName]) -> None:
        """Remove the empty boxes of all that are none of these hosts."""
        with self._lock:
            for host in [h for h, box in self._boxes.items() if not box and h not in hosts]:
                del self._boxes[host]
