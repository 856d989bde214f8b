# SPDX-License-Identifier: Apache-2.0
"""A RabbitMQ of one's own: on loopback only, free ports, all state in one directory.

It takes five to fifteen seconds to start, and may be stopped and started again: its users survive that.
"""

import contextlib
import os
import random
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import amqp

from nova_market.errors import ExperimentFailed

START_SECONDS = 90.0
STOP_SECONDS = 30.0

SERVER_PORTS = range(10_000, 32_000)
"""Linux gives clients 32768 and above, unless net.ipv4.ip_local_port_range says otherwise."""

ATTEMPTS = 10_000

ANSWER_SECONDS = 5.0
"""Until an AMQP handshake counts as failed: a broker that has just opened its port may not answer."""

# the script itself: Debian's /usr/sbin wrapper changes user by su
SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server'
QUIET = '+sbwt none +sbwtdcpu none +sbwtdio none'


class Broker:
    """One broker process and its port mapper; both end when stop() and close() were called."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.user = 'market'
        self.password = secrets.token_hex(12)
        self.port, self._dist_port, self._epmd_port = free_ports(3)
        self._epmd: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        (directory / 'plugins').write_text('[].\n')
        configuration = directory / 'rabbitmq.conf'
        configuration.touch(mode=0o600)
        configuration.write_text(
            f'default_user = {self.user}\ndefault_pass = {self.password}\n'
            f'listeners.tcp.1 = 127.0.0.1:{self.port}\nlog.file.level = info\n'
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """For transport_url."""
        return f'rabbit://{self.user}:{self.password}@127.0.0.1:{self.port}/'

    @property
    def runs(self) -> bool:
        """Was it started, and not stopped since?"""
        return self._server is not None

    def start(self) -> None:
        """Start the broker, or start it again; it answers when this returns."""
        if self._epmd is None:
            self._epmd = self._spawn(
                ['epmd', '-port', str(self._epmd_port), '-address', '127.0.0.1'], 'epmd.log'
            )
            self._wait(self._epmd, self._epmd_port, lambda: connect(self._epmd_port))
        server = SERVER if os.path.exists(SERVER) else 'rabbitmq-server'
        self._server = self._spawn([server], 'server.log')
        self._wait(self._server, self.port, lambda: self.connection().close())

    def connection(self) -> amqp.Connection:
        """A plain AMQP connection, as any program with the password can have."""
        connection = amqp.Connection(
            f'127.0.0.1:{self.port}',
            userid=self.user,
            password=self.password,
            connect_timeout=ANSWER_SECONDS,
            read_timeout=ANSWER_SECONDS,
            write_timeout=ANSWER_SECONDS,
        )
        connection.connect()
        return connection

    def stop(self) -> None:
        """Stop the broker; users and durable queues stay in its directory."""
        end(self._server)
        self._server = None

    def close(self) -> None:
        self.stop()
        end(self._epmd)
        self._epmd = None

    def ctl(self, *arguments: str) -> str:
        """What rabbitmqctl prints."""
        done = subprocess.run(
            [str(Path(SERVER).with_name('rabbitmqctl')), '-q', '-n', self._node, *arguments],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    @property
    def _node(self) -> str:
        return f'market{self.port}@localhost'

    def _environment(self) -> dict[str, str]:
        home = self.directory
        # by which tools/test finds what a run that was killed has left
        run = {name: value for name, value in os.environ.items() if name == 'NOVA_MARKET_RUN'}
        return run | {
            'HOME': str(home),
            'PATH': os.pathsep.join([os.environ.get('PATH', ''), '/usr/sbin', '/sbin']),
            'LANG': 'C.UTF-8',
            'ERL_EPMD_PORT': str(self._epmd_port),
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            'RABBITMQ_NODENAME': self._node,
            'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
            'RABBITMQ_NODE_PORT': str(self.port),
            'RABBITMQ_DIST_PORT': str(self._dist_port),
            'RABBITMQ_CONFIG_FILE': str(home / 'rabbitmq.conf'),
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(home / 'plugins'),
            'RABBITMQ_MNESIA_BASE': str(home / 'mnesia'),
            'RABBITMQ_LOG_BASE': str(home / 'log'),
            'RABBITMQ_PID_FILE': str(home / 'pid'),
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': '-kernel inet_dist_use_interface {127,0,0,1} '
            + QUIET,
        }

    def _spawn(self, command: list[str], log: str) -> subprocess.Popen[bytes]:
        with open(self.directory / log, 'ab') as stream:
            return subprocess.Popen(
                command,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.directory,
            )

    def _wait(
        self, process: subprocess.Popen[bytes], port: int, attempt: Callable[[], object]
    ) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise ExperimentFailed(
                    f'{process.args!r} ended ({process.returncode}): {self._logs()}'
                )
            with contextlib.suppress(OSError, amqp.AMQPError):
                attempt()
                return
            time.sleep(0.2)
        self.close()
        raise ExperimentFailed(
            f'port {port} does not answer after {START_SECONDS} s: {self._logs()}'
        )

    def _logs(self) -> str:
        return ''.join(path.read_text()[-1500:] for path in sorted(self.directory.glob('*.log')))


def end(process: subprocess.Popen[bytes] | None) -> None:
    """End a process and what it started: they are a session of their own."""
    if process is None:
        return
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return


def connect(port: int) -> None:
    socket.create_connection(('127.0.0.1', port), 2.0).close()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now.

    They lie below those that the kernel gives to clients: while a server is away, a client that tries its
    port again and again would at last be given the same port and connect to itself.

    :raises ExperimentFailed: nearly all are taken.
    """
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        for port in random.sample(SERVER_PORTS, ATTEMPTS):
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(('127.0.0.1', port))
                found.append(port)
            if len(found) == count:
                return found
    raise ExperimentFailed(
        f'{count} free ports of 127.0.0.1 were looked for between {SERVER_PORTS[0]} and {SERVER_PORTS[-1]}; '
        f'{ATTEMPTS} attempts found {len(found)}'
    )
