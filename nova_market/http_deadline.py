# SPDX-License-Identifier: Apache-2.0
"""HTTP for requests.Session whose reads all end at one deadline, whatever trickles in.

A time limit of requests begins anew with each byte: a status line, headers or a body that come byte by byte
would hold the reader for ever. Here the limit of each read is what is left until the deadline, and never more
than the limit of requests.

Units: seconds of the monotonic clock.
"""

import io
import socket
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPResponse
from typing import Any

from requests.adapters import HTTPAdapter


class DeadlineAdapter(HTTPAdapter):
    """To be mounted for http:// and https://. For one thread."""

    def __init__(self) -> None:
        self.deadline = 0.0
        super().__init__()

    def begin(self, seconds: float) -> None:
        """Everything that is read from now on, for one request or several, ends after so long."""
        self.deadline = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self._bind(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        known = proxy in self.proxy_manager
        manager = super().proxy_manager_for(proxy, **options)
        if not known:
            self._bind(manager)
        return manager

    def _bind(self, manager: Any) -> None:
        """All connections that this manager of urllib3 will make read by our deadline."""
        made_by = manager.pool_classes_by_scheme
        manager.pool_classes_by_scheme = {
            scheme: partial(self._pool, pool) for scheme, pool in made_by.items()
        }

    def _pool(self, made_by: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        pool = made_by(*arguments, **options)
        pool.ConnectionCls = partial(self._connection, pool.ConnectionCls)
        return pool

    def _connection(self, made_by: Callable[..., Any], **options: Any) -> Any:
        connection = made_by(**options)
        connection.response_class = partial(_Response, self)
        return connection


class _Response(HTTPResponse):
    def __init__(
        self, adapter: DeadlineAdapter, sock: socket.socket, *arguments: Any, **options: Any
    ) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_Reader(adapter, sock, self.fp.detach()))


class _Reader(io.RawIOBase):
    """What a socket receives, until the deadline."""

    def __init__(self, adapter: DeadlineAdapter, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._adapter = adapter
        self._socket = sock
        self._limit = sock.gettimeout()
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._adapter.left
        if left <= 0:
            raise TimeoutError('the deadline of the request is over')
        self._socket.settimeout(left if self._limit is None else min(left, self._limit))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
