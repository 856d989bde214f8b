# SPDX-License-Identifier: Apache-2.0
"""A host, its guests and the world outside, each a network namespace, joined by a bridge and an uplink.

    guest 1 --+
    guest 2 --+-- bridge -- up0 ======= out0 (the world)
    guest 3 --+      host               world

Traffic is UDP or TCP by Python sockets; each sender is a thread that has entered its namespace. What
arrives in the world is counted per sender. Everything ends with the bed, also on failure.
"""

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from pyroute2 import netns

from nova_market.core.host import Guest
from tests.builders import guest

NET = '10.77.0'
WORLD = f'{NET}.1'
HOST = f'{NET}.2'
PORT = 5000
FRAME = 1472 + 28 + 14
WARM_UP = 0.7


class NetworkBed:
    def __init__(self, guests: int = 3) -> None:
        self.prefix = f'nm{os.getpid()}'
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
    ) -> Mapping[str, float]:
        """Mbit/s of UDP frames that arrive from each source while all of them send at `rate` bit/s.

        midway: called when sending has begun; what arrived before it returns is not counted.
        """
        stop = threading.Event()
        counted: dict[str, int] = {}
        ready = threading.Event()
        threads = [threading.Thread(target=self._count, args=(counted, ready, stop))]
        threads += [threading.Thread(target=self._send, args=(s, rate, stop)) for s in sources]
        for thread in threads:
            thread.start()
            assert ready.wait(5)
        try:
            time.sleep(WARM_UP)
            if midway is not None:
                midway()
            before, began = dict(counted), time.monotonic()
            time.sleep(seconds)
            after, passed = dict(counted), time.monotonic() - began
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        return {s: 8e-6 * (after.get(s, 0) - before.get(s, 0)) / passed for s in sources}

    def streamed(self, numbers: Sequence[int], seconds: float) -> Mapping[int, float]:
        """Mbit/s of payload that guests send by one TCP connection each, with segmentation offload."""
        stop = threading.Event()
        counted = dict.fromkeys(numbers, 0)
        threads: list[threading.Thread] = []
        for number in numbers:
            listening = threading.Event()
            arguments = (number, counted, listening, stop)
            threads.append(threading.Thread(target=self._sink, args=arguments))
            threads.append(threading.Thread(target=self._stream, args=(number, stop)))
            threads[-2].start()
            assert listening.wait(5)
            threads[-1].start()
        try:
            time.sleep(2 * WARM_UP)
            before, began = dict(counted), time.monotonic()
            time.sleep(seconds)
            after, passed = dict(counted), time.monotonic() - began
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        return {n: 8e-6 * (after[n] - before[n]) / passed for n in numbers}

    def _stream(self, number: int, stop: threading.Event) -> None:
        netns.setns(f'{self.prefix}-g{number}', flags=0, fork=False)
        with socket.create_connection((WORLD, PORT + number), timeout=5) as sender:
            sender.settimeout(0.2)
            payload = bytes(65536)
            while not stop.is_set():
                # stalled, or the sink has stopped first
                with contextlib.suppress(OSError):
                    sender.send(payload)

    def _sink(
        self,
        number: int,
        counted: dict[int, int],
        listening: threading.Event,
        stop: threading.Event,
    ) -> None:
        netns.setns(self.world, flags=0, fork=False)
        with socket.create_server((WORLD, PORT + number)) as server:
            server.settimeout(5)
            listening.set()
            connection, _ = server.accept()
            with connection:
                connection.settimeout(0.2)
                while not stop.is_set():
                    with contextlib.suppress(TimeoutError):
                        counted[number] += len(connection.recv(1 << 18))

    def _namespace_of(self, address: str) -> str:
        if address == HOST:
            return self.host
        return f'{self.prefix}-g{(int(address.rpartition(".")[2]) - 10) % 100}'

    def _send(self, address: str, rate: float, stop: threading.Event) -> None:
        netns.setns(self._namespace_of(address), flags=0, fork=False)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            # two NICs in one subnet: the address alone does not choose the way out
            nic = (
                'br0' if address == HOST else f'eth{(int(address.rpartition(".")[2]) - 10) // 100}'
            )
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, nic.encode())
            sender.bind((address, 0))
            payload = bytes(1472)
            began, sent = time.monotonic(), 0
            while not stop.is_set():
                due = (time.monotonic() - began) * rate / 8 / FRAME
                while sent < due and not stop.is_set():
                    with contextlib.suppress(OSError):  # ENOBUFS: its own queue is full
                        sender.sendto(payload, (WORLD, PORT))
                    sent += 1
                stop.wait(0.004)

    def _count(
        self, counted: dict[str, int], ready: threading.Event, stop: threading.Event
    ) -> None:
        netns.setns(self.world, flags=0, fork=False)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            receiver.bind((WORLD, PORT))
            receiver.settimeout(0.2)
            ready.set()
            while not stop.is_set():
                try:
                    _, (source, _) = receiver.recvfrom(2048)
                except TimeoutError:
                    continue
                counted[source] = counted.get(source, 0) + FRAME


def run(*words: str) -> str:
    """:raises AssertionError: with what the program said."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{" ".join(words)}: {done.stderr}'
    return done.stdout
