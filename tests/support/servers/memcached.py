# SPDX-License-Identifier: Apache-2.0
"""A memcached of a test's own, on loopback and a free port."""

import contextlib
import getpass
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from nova_market.testbed.broker import end, free_ports


@pytest.fixture
def memcached() -> Iterator[str]:
    """Its URL for tooz."""
    (port,) = free_ports(1)
    server = subprocess.Popen(
        ['memcached', '-l', '127.0.0.1', '-p', str(port), '-U', '0', '-u', getpass.getuser()],
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        pause = threading.Event()
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', port), 1.0).close()
                break
            pause.wait(0.05)
        yield f'memcached://127.0.0.1:{port}'
    finally:
        end(server)
