# SPDX-License-Identifier: Apache-2.0
"""tools/cloud.d/backing.sh: whose the port is that a service is about to listen on."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[3]
LISTEN = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(300)
"""
CLAIM = f"""
source '{ROOT}/nova_market/testbed/daemons.sh'
source '{ROOT}/tools/cloud.d/backing.sh'
say() {{ printf '%s\\n' "$*"; }}
die() {{ printf '%s\\n' "$*" >&2; exit 1; }}
alive() {{ false; }}
members() {{ printf '%s' "$MEMBERS"; }}
declare -A PORT=([rabbitmq]=$1)
OFFSET=10000
claim rabbitmq
"""


@pytest.fixture
def listener() -> Iterator[tuple[int, str]]:
    """Process id and port of a program that listens."""
    command = [sys.executable, '-c', LISTEN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, process.stdout.readline().strip()
        process.kill()


def claim(port: str, members: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ['bash', '-c', CLAIM, 'claim', port],
        env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'MEMBERS': members},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_port_of_another_program_is_left_alone(listener: tuple[int, str]) -> None:
    _, port = listener
    done = claim(port, '1\n')
    assert done.returncode == 1
    assert f'port {port} of 127.0.0.1, for rabbitmq, is taken by another program' in done.stderr
    socket.create_connection(('127.0.0.1', int(port)), 5).close()


def test_what_a_killed_service_has_left_is_ended(listener: tuple[int, str]) -> None:
    """A broker whose script was killed, for example: it has the port, and the cloud is to have one."""
    pid, port = listener
    done = claim(port, f'{pid}\n')
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == (f'rabbitmq has ended, but not what it has started: {pid} is ended too\n')
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', int(port)), 5)


def test_a_free_port_is_claimed() -> None:
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
    assert claim(str(port), '').returncode == 0
