# SPDX-License-Identifier: Apache-2.0
"""Transports within one process: a host by itself, or the hosts of a simulation.

Implements ports.Transport and ports.Membership for the experiments of IFI-2016.04 without a network. A hub
shared by several transports can hold frames back and lose them, as a network would. Units: seconds of the
clock.
"""

import heapq
import threading
from collections.abc import Callable, Mapping

import numpy as np

from nova_market.core.resource import HostName
from nova_market.ports import Clock, Transport

Receive = Callable[[HostName | None, bytes], None]


class LocalHub:
    """Where the transports of one process meet. Implements ports.Membership: who has joined."""

    def __init__(
        self,
        clock: Clock | None = None,
        delay: float = 0.0,
        loss: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        """delay: seconds until the others get a frame, by `clock`; loss: part of the frames that vanish."""
        if not delay >= 0.0 or not 0.0 <= loss <= 1.0:
            raise ValueError(f'delay {delay!r} is not 0 or more, or loss {loss!r} is not in [0, 1]')
        if delay and clock is None:
            raise ValueError(f'a delay of {delay!r} needs a clock')
        self._clock = clock
        self._delay = delay
        self._loss = loss
        self._rng = rng or np.random.default_rng(0)
        self._receivers: dict[HostName, Receive] = {}
        self._coming: list[tuple[float, int, HostName, HostName, bytes]] = []
        self._sent = 0
        self._lock = threading.Lock()

    def start(self) -> None:
        """Hosts join by their transports."""

    def members(self) -> Mapping[HostName, str]:
        with self._lock:
            return dict.fromkeys(sorted(self._receivers), '')

    def stop(self) -> None:
        """Hosts leave by their transports."""

    def join(self, host: HostName, receive: Receive) -> None:
        """receive(sender, frame) is called for each frame to `host` that is not lost."""
        with self._lock:
            self._receivers[host] = receive

    def leave(self, host: HostName) -> None:
        with self._lock:
            self._receivers.pop(host, None)

    def carry(self, sender: HostName, to: HostName | None, frame: bytes) -> None:
        """Take a frame to one host, or to everybody but its sender."""
        with self._lock:
            everyone = [host for host in sorted(self._receivers) if host != sender]
            for host in everyone if to is None else [to]:
                if self._rng.random() >= self._loss:
                    self._sent += 1
                    item = (self._now() + self._delay, self._sent, host, sender, frame)
                    heapq.heappush(self._coming, item)
        self.deliver()

    def deliver(self) -> None:
        """Hand over what is due; with a delay the owner of the clock calls this when he has moved it."""
        while True:
            with self._lock:
                if not self._coming or self._coming[0][0] > self._now():
                    return
                _, _, host, sender, frame = heapq.heappop(self._coming)
                receive = self._receivers.get(host)
            # without the lock: the receiver may reply
            if receive is not None:
                receive(sender, frame)

    def _now(self) -> float:
        return self._clock.monotonic() if self._clock is not None else 0.0


class LocalTransport:
    """Implements ports.Transport. It can't fail, so a host always receives its own broadcasts."""

    def __init__(self, *, host: HostName, hub: LocalHub | None = None) -> None:
        self._host = host
        self._hub = hub or LocalHub()
        self._receive: Receive | None = None

    @property
    def echoes(self) -> bool:
        return True

    @property
    def trouble(self) -> str:
        return ''

    @property
    def dropped(self) -> Mapping[str, int]:
        return {}

    def start(self, receive: Receive) -> None:
        self._receive = receive
        self._hub.join(self._host, receive)

    def send(self, to: HostName, frame: bytes) -> None:
        self._hub.carry(self._host, to, frame)

    def broadcast(self, frame: bytes) -> None:
        if self._receive is not None:
            self._receive(self._host, frame)
        self._hub.carry(self._host, None, frame)

    def stop(self) -> None:
        self._hub.leave(self._host)


def local_transport(
    *, conf: object, host: HostName, ttl: float, addresses: Callable[[], Mapping[HostName, str]]
) -> Transport:
    """Plug-in `local` of nova_market.exchange: this host alone."""
    del conf, ttl, addresses
    return LocalTransport(host=host)
