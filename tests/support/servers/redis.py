# SPDX-License-Identifier: Apache-2.0
"""A redis of a test's own, on loopback and a free port; it may be stopped and started again."""

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nova_market.testbed.broker import end, free_ports


class Redis:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (self._port,) = free_ports(1)
        self._server: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f'redis://127.0.0.1:{self._port}?socket_timeout=2'

    def start(self) -> None:
        """Empty, as after a failover without replication; it answers when this returns."""
        self._server = subprocess.Popen(
            [
                *('redis-server', '--bind', '127.0.0.1', '--port', str(self._port)),
                *('--save', '', '--appendonly', 'no', '--dir', str(self._directory)),
            ],
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        pause = threading.Event()
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', self._port), 1.0).close()
                return
            pause.wait(0.05)
        raise RuntimeError(f'redis-server does not answer on port {self._port}')

    def stop(self) -> None:
        end(self._server)
        self._server = None


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    try:
        server.start()
        yield server
    finally:
        server.stop()
