# SPDX-License-Identifier: Apache-2.0
"""Whether the API answers at the URL of the workers."""

import socket
import threading
from contextlib import contextmanager

import pytest

from nova_market.adapters.worker_url import HttpWorkerUrl


@contextmanager
def answering(answer):
    """A server that gives one answer."""
    listener = socket.create_server(('127.0.0.1', 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f'http://127.0.0.1:{listener.getsockname()[1]}/market'
    finally:
        thread.join(5)
        listener.close()


@pytest.mark.parametrize(
    ('status', 'there'), [('200 OK', True), ('401 No', True), ('503 Away', False)]
)
def test_every_answer_of_the_api_counts_but_that_it_is_away(status, there):
    """A proxy whose API is down answers too."""
    with answering(f'HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n'.encode()) as url:
        assert HttpWorkerUrl(url).answers() is there


def test_no_answer_is_none():
    """Nobody listens, or something that is no HTTP."""
    with answering(b'nonsense\r\n\r\n') as url:
        assert not HttpWorkerUrl(url).answers()
    assert not HttpWorkerUrl('http://127.0.0.1:1').answers()
