# SPDX-License-Identifier: Apache-2.0
"""A door in front of the market API: open, closed, slow, or with somebody else behind it who lies."""

import contextlib
import socket
import threading
from collections.abc import Iterator

OPEN, DOWN, SLOW = 'open', 'down', 'slow'
CHUNK = 65536
ACCEPTING_SECONDS = 0.2
LATE_SECONDS = 120.0
"""A connection that nobody answers is dropped then."""


class FaultProxy:
    """Listens on `port` and passes connections on to `behind`, both on 127.0.0.1.

    be(OPEN); be(DOWN): connections are refused; be(SLOW): accepted and never answered; be(bytes): this is the
    JSON that is answered, whatever is asked. Connections of before are cut.
    """

    def __init__(self, port: int, behind: int) -> None:
        self._port = port
        self._behind = behind
        self._mode: str | bytes = DOWN
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self.asked = 0

    def be(self, mode: str | bytes) -> None:
        self._close()
        self._mode = mode
        self.asked = 0
        if mode != DOWN:
            self._listener = socket.create_server(('127.0.0.1', self._port), reuse_port=False)
            self._listener.settimeout(ACCEPTING_SECONDS)
            self._thread = threading.Thread(target=self._accept, args=(self._listener,))
            self._thread.start()

    def _close(self) -> None:
        if self._listener is None or self._thread is None:
            return
        listener, self._listener = self._listener, None
        self._thread.join()
        listener.close()
        with self._lock:
            for one in self._sockets:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while self._listener is listener:
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            self.asked += 1
            threading.Thread(target=self._serve, args=(client, self._mode), daemon=True).start()

    def _serve(self, client: socket.socket, mode: str | bytes) -> None:
        with self._kept(client), contextlib.suppress(OSError):
            client.settimeout(LATE_SECONDS)
            if mode == SLOW:
                while client.recv(CHUNK):
                    pass
            elif isinstance(mode, bytes):
                client.recv(CHUNK)
                head = f'HTTP/1.1 200 OK\r\nContent-Length: {len(mode)}\r\nConnection: close\r\n'
                client.sendall(f'{head}Content-Type: application/json\r\n\r\n'.encode() + mode)
            else:
                self._pass_on(client)

    def _pass_on(self, client: socket.socket) -> None:
        with self._kept(socket.create_connection(('127.0.0.1', self._behind))) as service:
            back = threading.Thread(target=_copy, args=(service, client), daemon=True)
            back.start()
            _copy(client, service)
            back.join()

    @contextlib.contextmanager
    def _kept(self, one: socket.socket) -> Iterator[socket.socket]:
        with self._lock:
            self._sockets.add(one)
        try:
            yield one
        finally:
            with self._lock:
                self._sockets.discard(one)
            one.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Until one of them ends; then the other is told so."""
    with contextlib.suppress(OSError):
        while part := source.recv(CHUNK):
            target.sendall(part)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
