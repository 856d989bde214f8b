# SPDX-License-Identifier: Apache-2.0
"""A MariaDB or PostgreSQL of one's own: a unix socket in its directory, no network, no system service.

Both refuse to run as root, so root starts them as the user their package made. They may be killed and
started again: what was committed is there. They do not wait for the disk, so that is not promised when the
machine loses its power.
"""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from nova_market.errors import ExperimentFailed

START_SECONDS = 60.0
STOP_SECONDS = 30.0
POSTGRESQL_PROGRAMS = '/usr/lib/postgresql/*/bin'


class DatabaseServer(ABC):
    """One server process and its directory, which is short: a socket's path has at most 107 bytes."""

    user: str
    """Who runs it when we are root."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix='market-db-'))
        self._server: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            account = pwd.getpwnam(self.user)
            os.chown(self.directory, account.pw_uid, account.pw_gid)

    def __enter__(self) -> Self:
        try:
            self.create()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    @abstractmethod
    def url(self) -> str:
        """Of a database `market`, for [database]connection."""

    @abstractmethod
    def create(self) -> None:
        """Make an empty data directory."""

    @abstractmethod
    def _command(self) -> list[str]:
        """The server, in the foreground."""

    @property
    @abstractmethod
    def _socket(self) -> Path: ...

    def start(self) -> None:
        """Start the server, or start it again; it takes connections when this returns."""
        give_up = time.monotonic() + START_SECONDS
        while True:
            self._socket.unlink(missing_ok=True)
            with open(self.directory / 'log', 'ab') as log:
                self._server = subprocess.Popen(
                    self._as_user(self._command()), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    cwd=self.directory,
                )  # fmt: skip
            if self._answers(self._server, give_up):
                return
            if time.monotonic() > give_up:
                self.kill()
                raise ExperimentFailed(f'{self._command()[0]} did not start: {self.log()}')
            time.sleep(0.5)

    def kill(self) -> None:
        """End it at once, in the midst of what it does."""
        if self._server is not None:
            self._server.send_signal(signal.SIGKILL)
            self._server.wait(STOP_SECONDS)
            self._server = None

    def close(self) -> None:
        """End it and remove its directory."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGINT if self.user == 'postgres' else signal.SIGTERM)
            try:
                self._server.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        self._server = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self) -> str:
        """The end of what it wrote."""
        path = self.directory / 'log'
        return path.read_text(errors='replace')[-2000:] if path.exists() else ''

    def _answers(self, server: 'subprocess.Popen[bytes]', give_up: float) -> bool:
        while server.poll() is None and time.monotonic() < give_up:
            if self._takes_connections():
                return True
            time.sleep(0.1)
        return False

    def _takes_connections(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(os.fspath(self._socket)) == 0

    def _as_user(self, command: Sequence[str]) -> list[str]:
        if os.geteuid():
            return list(command)
        ids = ['--reuid', self.user, '--regid', self.user, '--clear-groups']
        return ['setpriv', *ids, '--', *command]

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            self._as_user(command), capture_output=True, text=True, cwd=self.directory
        )
        if done.returncode:
            raise ExperimentFailed(f'{command[0]} failed: {(done.stderr or done.stdout)[-2000:]}')


class MariaDb(DatabaseServer):
    """MariaDB with its own defaults, but for the disk; no file of the machine's configuration is read."""

    user = 'mysql'

    @property
    def _socket(self) -> Path:
        return self.directory / 'socket'

    @property
    def url(self) -> str:
        return f'mysql+pymysql://root@localhost/market?unix_socket={self._socket}&charset=utf8mb4'

    def create(self) -> None:
        self._run(
            'mariadb-install-db', '--no-defaults', f'--datadir={self.directory}/data',
            '--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve',
        )  # fmt: skip
        # read at each start, so that the database is there when connections are taken
        (self.directory / 'first.sql').write_text('CREATE DATABASE IF NOT EXISTS market;\n')

    def _command(self) -> list[str]:
        server = shutil.which('mariadbd', path=os.defpath + ':/usr/sbin:/usr/local/sbin')
        return [
            server or 'mariadbd', '--no-defaults', f'--datadir={self.directory}/data',
            f'--socket={self._socket}', f'--pid-file={self.directory}/pid', '--skip-networking',
            '--max-connections=400', f'--init-file={self.directory}/first.sql',
            '--debug-no-sync', '--innodb-flush-method=nosync', '--innodb-flush-log-at-trx-commit=2',
        ]  # fmt: skip


class PostgreSql(DatabaseServer):
    """PostgreSQL with its own defaults, but for the disk and more connections."""

    user = 'postgres'

    @property
    def _socket(self) -> Path:
        return self.directory / '.s.PGSQL.5432'

    @property
    def url(self) -> str:
        return f'postgresql+psycopg2://postgres@/postgres?host={self.directory}'

    def create(self) -> None:
        self._run(
            self._program('initdb'), '--auth=trust', '--username=postgres', '--encoding=UTF8',
            '--locale=C', f'--pgdata={self.directory}/data',
        )  # fmt: skip

    def _command(self) -> list[str]:
        return [
            self._program('postgres'), '-D', f'{self.directory}/data', '-k', f'{self.directory}',
            '-c', 'listen_addresses=', '-c', 'max_connections=400', '-c', 'fsync=off',
        ]  # fmt: skip

    def _takes_connections(self) -> bool:
        """It has its socket before, after a kill for seconds."""
        asked = [self._program('pg_isready'), '--quiet', f'--host={self.directory}']
        return super()._takes_connections() and subprocess.run(asked).returncode == 0

    @staticmethod
    def _program(name: str) -> str:
        """Debian keeps them out of PATH, one directory for each version."""
        found = sorted(glob.glob(f'{POSTGRESQL_PROGRAMS}/{name}'), key=lambda p: (len(p), p))
        return found[-1] if found else name
