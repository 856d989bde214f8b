# SPDX-License-Identifier: Apache-2.0
"""The Redfish emulator of sushy-tools: a process of the test's own, with TLS and passwords, on loopback.

Its fake systems take up to 11 s for an order; here they take 1 s.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import bcrypt

from nova_market.testbed.broker import end, free_ports

USER, PASSWORD = 'market', 'sesame-open'
SYSTEMS = {
    'compute-1': '27946b59-9e44-4fa7-8e91-f3527a1ef094',
    'compute-2': '37946b59-9e44-4fa7-8e91-f3527a1ef094',
}
QUICK = """
import random
random.randint = lambda low, high: low
from sushy_tools.emulator import main
main.main()
"""


class RedfishEmulator:
    """certificates: the authority of its certificate"""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificates = directory / 'ca.pem'
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f'https://127.0.0.1:{self.port}'

    def start(self) -> None:
        """It answers when this returns."""
        self._certify()
        digest = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        (self.directory / 'users').write_text(f'{USER}:{digest}\n')
        systems = [
            {'uuid': uuid, 'name': name, 'power_state': 'On', 'nics': []}
            for name, uuid in SYSTEMS.items()
        ]
        settings = {
            'SUSHY_EMULATOR_FAKE_SYSTEMS': systems,
            'SUSHY_EMULATOR_AUTH_FILE': str(self.directory / 'users'),
            'SUSHY_EMULATOR_STATE_DIR': str(self.directory),
            'SUSHY_EMULATOR_SSL_CERT': str(self.directory / 'server.pem'),
            'SUSHY_EMULATOR_SSL_KEY': str(self.directory / 'server.key'),
        }
        config = self.directory / 'emulator.conf'
        config.write_text(''.join(f'{name} = {value!r}\n' for name, value in settings.items()))
        with (self.directory / 'log').open('wb') as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, '-c', QUICK, '--fake', '--config', str(config)),
                    *('--interface', '127.0.0.1', '--port', str(self.port)),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.directory,
                env={
                    'TMPDIR': str(self.directory),
                    'PATH': '/usr/bin:/bin',
                    'NOVA_MARKET_RUN': os.environ['NOVA_MARKET_RUN'],
                },
            )
        pause = threading.Event()
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(('127.0.0.1', self.port), 1.0).close()
                return
            pause.wait(0.05)
        raise RuntimeError(f'the emulator does not answer: {(self.directory / "log").read_text()}')

    def stop(self) -> None:
        end(self._process)
        self._process = None

    def hosts_file(self, **changed: str) -> Path:
        """The file of [power]redfish_hosts for both systems, readable by us only."""
        entries = {
            name: {
                'address': self.address, 'username': USER, 'password': PASSWORD,
                'auth': 'basic',
                'system': f'/redfish/v1/Systems/{uuid}', 'certificates': str(self.certificates),
            } | changed
            for name, uuid in SYSTEMS.items()
        }  # fmt: skip
        path = self.directory / 'hosts.json'
        path.touch(mode=0o600)
        path.write_text(
            json.dumps({k: {n: v for n, v in e.items() if v} for k, e in entries.items()})
        )
        return path

    def _certify(self) -> None:
        key = ('-newkey', 'rsa:2048', '-nodes')
        authority = (
            '-x509',
            '-out',
            'ca.pem',
            '-keyout',
            'ca.key',
            '-days',
            '2',
            '-subj',
            '/CN=ca',
        )
        self._openssl('req', *key, *authority, '-addext', 'basicConstraints=critical,CA:TRUE')
        self._openssl('req', *key, '-out', 'csr', '-keyout', 'server.key', '-subj', '/CN=server')
        (self.directory / 'ext').write_text('subjectAltName=IP:127.0.0.1\n')
        self._openssl(
            *('x509', '-req', '-in', 'csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'),
            *('-out', 'server.pem', '-days', '2', '-extfile', 'ext'),
        )

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(['openssl', *arguments], cwd=self.directory, check=True, capture_output=True)
