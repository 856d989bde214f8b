# SPDX-License-Identifier: Apache-2.0
"""Whether the API answers at the URL that workers call, asked as a worker would ask. Seconds.

Implements ports.WorkerUrl for rule JW8 of doc/source/specs/worker.rst.
"""

import http.client
import ssl
from urllib.parse import urlsplit

TIMEOUT = 3.0
"""Of connecting and of the answer: a worker that waits longer has not reached anybody either."""

AWAY = 500
"""Least status of an answer that is none: the API, or a proxy before it, cannot serve workers."""


class HttpWorkerUrl:
    """Implements ports.WorkerUrl."""

    def __init__(self, url: str, certificates: str = '', timeout: float = TIMEOUT) -> None:
        """certificates: of the API, PEM; '': those of this machine."""
        self._url = urlsplit(url)
        self._certificates = certificates
        self._timeout = timeout

    def answers(self) -> bool:
        """Raises nothing."""
        try:
            return self._status() < AWAY
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def _status(self) -> int:
        made = self._connection()
        try:
            made.request('GET', f'{self._url.path.rstrip("/")}/')
            return made.getresponse().status
        finally:
            made.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or '', self._url.port
        if self._url.scheme != 'https':
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = ssl.create_default_context(cadata=self._certificates or None)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
