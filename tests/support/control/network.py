# SPDX-License-Identifier: Apache-2.0
"""A host, its guests and the world outside, each a network namespace, joined by a bridge and an uplink.

    guest 1 --+
    guest 2 --+-- bridge -- up0 ======= out0 (the world)
    guest 3 --+      host               world

Traffic is UDP or TCP by Python sockets of processes that have entered a namespace. What arrives in
the world is counted per sender. Everything ends with the bed, also on failure.
"""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from nova_market.core.host.sample import Guest
from tests.support.control.traffic import Counts, count, counters, drain, running, send, stream
from tests.support.host_builders import guest
from tests.support.namespaces import fresh_prefix, run

NET = '10.77.0'
WORLD = f'{NET}.1'
HOST = f'{NET}.2'
PORT = 5000
WARM_UP = 0.7
WINDOWS = 5


class NetworkBed:
    def __init__(self, guests: int = 3) -> None:
        self.prefix = fresh_prefix()
        self.host = f'{self.prefix}-host'
        self.world = f'{self.prefix}-world'
        self._names = [self.host, self.world]
        try:
            self._build(guests)
        except BaseException:
            self.close()
            raise

    def _build(self, guests: int) -> None:
        for name in self._names:
            run('ip', 'netns', 'add', name)
        self.ip(self.host, 'link', 'add', 'br0', 'type', 'bridge')
        self.add_uplink()
        for number in range(1, guests + 1):
            self.add_guest(number)
        self.ip(self.host, 'address', 'add', f'{HOST}/24', 'dev', 'br0')
        self.ip(self.host, 'link', 'set', 'br0', 'up')

    def add_uplink(self) -> None:
        self.ip(
            self.host, 'link', 'add', 'up0', 'txqueuelen', '100', 'type', 'veth',
            'peer', 'name', 'out0', 'netns', self.world,
        )  # fmt: skip
        self.ip(self.host, 'link', 'set', 'up0', 'up', 'master', 'br0')
        self.ip(self.world, 'address', 'add', f'{WORLD}/24', 'dev', 'out0')
        self.ip(self.world, 'link', 'set', 'out0', 'up')

    def remove_uplink(self) -> None:
        self.ip(self.host, 'link', 'delete', 'up0')

    def add_guest(self, number: int, nics: int = 1) -> Guest:
        """A guest of one or two NICs, as the service would see it."""
        name = f'{self.prefix}-g{number}'
        self._names.append(name)
        run('ip', 'netns', 'add', name)
        taps = []
        for nic in range(nics):
            tap = f'tap{number}n{nic}'
            mac = f'fa:16:3e:00:{nic:02x}:{number:02x}'
            taps.append((tap, mac))
            self.ip(
                self.host, 'link', 'add', tap, 'type', 'veth',
                'peer', 'name', f'eth{nic}', 'address', mac, 'netns', name,
            )  # fmt: skip
            self.ip(self.host, 'link', 'set', tap, 'up', 'master', 'br0')
            self.ip(name, 'address', 'add', f'{self.address(number, nic)}/24', 'dev', f'eth{nic}')
            self.ip(name, 'link', 'set', f'eth{nic}', 'up')
        return guest(f'guest-{number}', 'dora', interfaces=tuple(taps))

    def seen(self, count: int = 3) -> list[Guest]:
        """Guests 1..count of one NIC."""
        return [
            guest(f'guest-{n}', 'dora', interfaces=((f'tap{n}n0', f'fa:16:3e:00:00:{n:02x}'),))
            for n in range(1, count + 1)
        ]

    @staticmethod
    def address(number: int, nic: int = 0) -> str:
        return f'{NET}.{10 + 100 * nic + number}'

    def tc(self, *words: str) -> str:
        return run('tc', '-n', self.host, *words)

    def ip(self, where: str, *words: str) -> str:
        return run('ip', '-n', where, *words)

    def close(self) -> None:
        for name in self._names:
            subprocess.run(['ip', 'netns', 'delete', name], capture_output=True, check=False)

    def received(
        self,
        sources: Sequence[str],
        seconds: float,
        rate: float,
        *,
        midway: Callable[[], None] | None = None,
        good: Callable[[Mapping[str, float]], bool] = lambda _found: True,
    ) -> Mapping[str, float]:
        """Mbit/s of UDP frames that arrive from each source while all of them send at `rate` bit/s.

        midway: called when sending has begun; what arrived before it returns is not counted.
        good: the first of up to WINDOWS measurements, each of `seconds`, of which this is true is returned,
        otherwise the last. A sender that a busy machine stops for a tenth of a second has nothing queued
        then, and the others get its part: that spoils a measurement, and never makes a wrong division right.
        """
        sink = (WORLD, PORT)
        counted = counters(len(sources))
        senders = [
            (send, self._namespace_of(source), source, self._nic_of(source), sink, rate)
            for source in sources
        ]
        with running((count, self.world, sink, list(sources), counted), *senders):
            time.sleep(WARM_UP)
            if midway is not None:
                midway()
            for _ in range(WINDOWS):
                found = dict(zip(sources, rates(counted, seconds), strict=True))
                if good(found):
                    break
            return found

    def streamed(self, numbers: Sequence[int], seconds: float) -> Mapping[int, float]:
        """Mbit/s of payload that guests send by one TCP connection each, with segmentation offload."""
        counted = counters(len(numbers))
        parts: list[tuple[object, ...]] = []
        for position, number in enumerate(numbers):
            sink = (WORLD, PORT + number)
            parts.append((drain, self.world, sink, position, counted))
            parts.append((stream, f'{self.prefix}-g{number}', sink))
        with running(*parts):
            time.sleep(2 * WARM_UP)
            return dict(zip(numbers, rates(counted, seconds), strict=True))

    def _namespace_of(self, address: str) -> str:
        if address == HOST:
            return self.host
        return f'{self.prefix}-g{(int(address.rpartition(".")[2]) - 10) % 100}'

    @staticmethod
    def _nic_of(address: str) -> str:
        return 'br0' if address == HOST else f'eth{(int(address.rpartition(".")[2]) - 10) // 100}'


def rates(counted: Counts, seconds: float) -> list[float]:
    """Mbit/s that each counter grows by."""
    before, began = list(counted), time.monotonic()
    time.sleep(seconds)
    after, passed = list(counted), time.monotonic() - began
    return [8e-6 * (b - a) / passed for a, b in zip(before, after, strict=True)]
