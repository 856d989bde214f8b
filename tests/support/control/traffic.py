# SPDX-License-Identifier: Apache-2.0
"""Senders and receivers in network namespaces, each a process of its own.

Threads of the test's process would share its interpreter lock with whatever else runs there: a
sender that waits for it leaves the device idle, and the test would measure that.
"""

import contextlib
import ctypes
import multiprocessing
import socket
import time
from collections.abc import Iterator, Sequence
from multiprocessing.synchronize import Event
from typing import Any, TypeAlias

from pyroute2 import netns

FRAME = 1472 + 28 + 14
"""Bytes on the wire of one datagram that fills a packet of 1,500."""

SO_RCVBUFFORCE = 33
"""The socket module has no name for it."""

READY = 20.0
_SPAWN = multiprocessing.get_context('spawn')

Counts: TypeAlias = 'ctypes.Array[ctypes.c_longlong]'


def counters(number: int) -> Counts:
    """Bytes received, one number per sender, shared with the processes."""
    return _SPAWN.RawArray(ctypes.c_longlong, number)


@contextlib.contextmanager
def running(*parts: tuple[Any, ...]) -> Iterator[None]:
    """Run (function, arguments...) in processes, one ready before the next starts; end them after.

    Each function takes two more arguments: an event to set when it is ready, one to stop at.
    """
    stop = _SPAWN.Event()
    started = []
    try:
        for function, *arguments in parts:
            ready = _SPAWN.Event()
            process = _SPAWN.Process(target=function, args=(*arguments, ready, stop), daemon=True)
            process.start()
            started.append(process)
            assert ready.wait(READY), f'{function.__name__}{tuple(arguments)} did not get ready'
        yield
    finally:
        stop.set()
        for process in started:
            process.join(READY)
            if process.is_alive():
                process.kill()


def send(
    namespace: str, source: str, nic: str, sink: tuple[str, int], rate: float,
    ready: Event, stop: Event,
) -> None:  # fmt: skip
    """UDP at `rate` bit/s, or as much of it as the socket takes."""
    netns.setns(namespace, flags=0, fork=False)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        # two NICs in one subnet: the address alone does not choose the way out
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, nic.encode())
        sender.bind((source, 0))
        payload = bytes(1472)
        ready.set()
        began, sent = time.monotonic(), 0
        while not stop.is_set():
            due = (time.monotonic() - began) * rate / 8 / FRAME
            while sent < due and not stop.is_set():
                with contextlib.suppress(OSError):  # ENOBUFS: its own queue is full
                    sender.sendto(payload, sink)
                sent += 1
            stop.wait(0.004)


def count(
    namespace: str, sink: tuple[str, int], sources: Sequence[str], counted: Counts,
    ready: Event, stop: Event,
) -> None:  # fmt: skip
    """Bytes of UDP frames that arrive from each of the sources."""
    netns.setns(namespace, flags=0, fork=False)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 21)
        receiver.bind(sink)
        receiver.settimeout(0.2)
        ready.set()
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                _, (source, _) = receiver.recvfrom(2048)
                counted[sources.index(source)] += FRAME


def stream(namespace: str, sink: tuple[str, int], ready: Event, stop: Event) -> None:
    """One TCP connection as fast as it goes, with segmentation offload."""
    netns.setns(namespace, flags=0, fork=False)
    with socket.create_connection(sink, timeout=5) as sender:
        sender.settimeout(0.2)
        payload = bytes(65536)
        ready.set()
        while not stop.is_set():
            # stalled, or the sink has stopped first
            with contextlib.suppress(OSError):
                sender.send(payload)


def drain(
    namespace: str, sink: tuple[str, int], number: int, counted: Counts,
    ready: Event, stop: Event,
) -> None:  # fmt: skip
    """Take one TCP connection and count its payload."""
    netns.setns(namespace, flags=0, fork=False)
    with socket.create_server(sink) as server:
        server.settimeout(READY)
        ready.set()
        connection, _ = server.accept()
        with connection:
            connection.settimeout(0.2)
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    counted[number] += len(connection.recv(1 << 18))
