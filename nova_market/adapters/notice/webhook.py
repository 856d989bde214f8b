# SPDX-License-Identifier: Apache-2.0
"""Webhooks by HTTPS. Implements ports.WebhookSender and rule N7 of doc/source/specs/notices.rst.

The address is checked between resolving the name and connecting to it, and no other one is connected to: a
name that has another address a moment later leads nowhere else. Redirects are not followed, no more than
MAX_READ bytes are read, and the whole request ends after `timeout` seconds, however slowly it is answered.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from nova_market.core.notice.address import Network, may_connect
from nova_market.errors import NoticeFailed, NoticeRefused

HTTPS = 443
MAX_READ = 4096
GONE = 410
"""The receiver wants nothing more, ever (RFC 9110, section 15.5.11)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """networks: besides the public ones; cafile: '' for the system's; timeout: seconds in all"""

    networks: Sequence[Network] = ()
    cafile: str = ''
    timeout: float = 10.0


Resolve = Callable[..., Sequence[tuple[Any, ...]]]
"""As socket.getaddrinfo."""


class HttpsWebhook:
    """For several threads."""

    def __init__(self, settings: WebhookSettings, resolve: Resolve = socket.getaddrinfo) -> None:
        self._settings = settings
        self._resolve = resolve

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Post a document; a 2xx is an end.

        :raises NoticeFailed: not now. :raises NoticeRefused: never.
        """
        parts = urlsplit(url)
        host, port = parts.hostname or '', parts.port or HTTPS
        path = (parts.path or '/') + (f'?{parts.query}' if parts.query else '')
        end = monotonic() + self._settings.timeout
        try:
            with closing(self._socket(host, port, end)) as connected:
                # each read would wait anew: a server that sends a byte a second would hold us for hours
                timer = threading.Timer(max(end - monotonic(), 0.0), _cut, (connected,))
                timer.daemon = True
                timer.start()
                try:
                    status = _status(connected, parts.netloc, path, headers, body)
                finally:
                    timer.cancel()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoticeFailed(f'{type(error).__name__}: {error!s:.200}') from None
        if status == GONE:
            raise NoticeRefused('the webhook answers 410: nothing more is to be sent')
        if not 200 <= status < 300:
            raise NoticeFailed(f'the webhook answers {status}')

    def _socket(self, host: str, port: int, end: float) -> ssl.SSLSocket:
        """Connected to an address that webhooks may have; TLS has not begun.

        :raises NoticeFailed: the host has none. :raises OSError: none of them answers.
        """
        found = self._resolved(host, port, end)
        allowed = [one for one in found if may_connect(str(one[4][0]), self._settings.networks)]
        if not allowed:
            raise NoticeFailed(
                f'{host:.100} has no address that webhooks may have; see [notices]webhook_networks'
            )
        context = ssl.create_default_context(cafile=self._settings.cafile or None)
        error: OSError = TimeoutError('no address answers in time')
        for family, kind, protocol, _, address in allowed:
            plain = socket.socket(family, kind, protocol)
            try:
                plain.settimeout(max(end - monotonic(), 0.001))
                plain.connect(address)
            except OSError as failed:
                plain.close()
                error = failed
            else:
                return context.wrap_socket(
                    plain, server_hostname=host, do_handshake_on_connect=False
                )
        raise error

    def _resolved(self, host: str, port: int, end: float) -> Sequence[tuple[Any, ...]]:
        """The addresses of a name. A resolver has no deadline of its own: it is left alone when time is over.

        :raises OSError: there is none, or not in time.
        """
        found: list[Sequence[tuple[Any, ...]]] = []
        failed: list[OSError | UnicodeError] = []

        def look_up() -> None:
            try:
                found.append(self._resolve(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                failed.append(error)

        thread = threading.Thread(target=look_up, daemon=True)
        thread.start()
        thread.join(max(end - monotonic(), 0.0))
        if failed:
            raise failed[0]
        if not found:
            raise TimeoutError('its name is not resolved in time')
        return found[0]


def _status(
    connected: ssl.SSLSocket, netloc: str, path: str, headers: Mapping[str, str], body: bytes
) -> int:
    connected.do_handshake()
    connection = http.client.HTTPSConnection(netloc)
    connection.sock = connected
    full = {'content-type': 'application/json', 'user-agent': 'nova-market', **headers}
    connection.request('POST', path, body, full)
    answer = connection.getresponse()
    answer.read(MAX_READ)
    return answer.status


def _cut(connected: ssl.SSLSocket) -> None:
    """End whatever goes on there; the connection itself, as TLS waits for its other end."""
    with suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
