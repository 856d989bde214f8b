# SPDX-License-Identifier: Apache-2.0
"""A mail server (aiosmtpd, STARTTLS) and an HTTPS server on 127.0.0.1, which can be killed and come back."""

import email
import http.server
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

PASSWORD = 'not to be logged'


def certified(directory: Path) -> ssl.SSLContext:
    """A server's certificate for `localhost`, of an authority whose own is in ca.pem."""
    key = ('-newkey', 'rsa:2048', '-nodes')

    def openssl(*words: str) -> None:
        subprocess.run(['openssl', *words], cwd=directory, check=True, capture_output=True)

    constraint = ('-addext', 'basicConstraints=critical,CA:TRUE')
    openssl(
        'req', '-x509', *key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=a', *constraint
    )
    openssl('req', *key, '-keyout', 'server.key', '-out', 'csr', '-subj', '/CN=localhost')
    (directory / 'names').write_text('subjectAltName=DNS:localhost\n')
    openssl(
        'x509', '-req', '-in', 'csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial',
        '-extfile', 'names', '-out', 'server.pem',
    )  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / 'server.pem', directory / 'server.key')
    return context


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as one:
        return int(one.getsockname()[1])


class MailServer:
    """mails: what it has taken. refuse: address -> what it answers to it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.mails: list[Message] = []
        self.refuse: dict[str, str] = {}
        self.taken: Callable[[], None] = lambda: None
        self.logins: list[str] = []
        self.port = free_port()
        self._context = context
        self._controller: Controller | None = None

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Any, envelope: Any, to: str, _: Any
    ) -> str:
        if to in self.refuse:
            return self.refuse[to]
        envelope.rcpt_tos.append(to)
        return '250 OK'

    async def handle_DATA(self, _: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append(email.message_from_bytes(envelope.content))
        self.taken()
        return '250 OK'

    def start(self) -> None:
        self._controller = Controller(
            self, hostname='127.0.0.1', port=self.port, tls_context=self._context,
            require_starttls=True, auth_required=True, authenticator=self._login,
        )  # fmt: skip
        self._controller.start()

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def _login(self, server: SMTP, session: Any, envelope: Any, mechanism: str, data: Any) -> Any:
        assert isinstance(data, LoginPassword)
        self.logins.append(data.login.decode())
        good = data.password.decode() == PASSWORD
        return AuthResult(success=good, handled=False)


class HookServer:
    """requests: (headers, body) that it has taken. answer: status, or a function of the handler."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.requests: list[tuple[Mapping[str, str], bytes]] = []
        self.answer: int | Callable[[Any], None] = 204
        self.taken: Callable[[], None] = lambda: None
        self.port = free_port()
        self._context = context
        self._server: http.server.ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f'https://localhost:{self.port}/market?team=a'

    def start(self) -> None:
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers['content-length']))
                outer.requests.append((dict(self.headers.items()), body))
                outer.taken()
                if callable(outer.answer):
                    outer.answer(self)
                    return
                self.send_response(outer.answer)
                self.send_header('location', outer.url)
                self.send_header('content-length', '0')
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """A client that goes away."""

        self._server = Server(('127.0.0.1', self.port), Handler)
        self._server.socket = self._context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
