# SPDX-License-Identifier: Apache-2.0
"""The API in uWSGI with the file that the package installs for it, as its unit starts it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from nova_market.testbed.broker import end, free_ports
from nova_market.wiring.api import CONFIG_FILE
from tests.style.test_layering import ROOT
from tests.style.test_units import UWSGI

pytestmark = [pytest.mark.functional, pytest.mark.clock]

SECONDS = 90


@pytest.fixture(name='port')
def port_fixture() -> int:
    (port,) = free_ports(1)
    return port


@pytest.fixture(name='words')
def words_of_uwsgi(tmp_path: Path, port: int) -> list[str | Path]:
    """What starts uWSGI of this environment, at a port of its own, and with one process instead of four."""
    text = (ROOT / UWSGI).read_text(encoding='utf-8')
    changed = text.replace('127.0.0.1:8781', f'127.0.0.1:{port}').replace(
        'processes = 4', 'processes = 1'
    )
    (tmp_path / 'uwsgi.ini').write_text(changed)
    return [Path(sys.executable).with_name('uwsgi'), '--ini', tmp_path / 'uwsgi.ini']


def test_a_configuration_that_cannot_work_ends_it(words: list[str | Path], tmp_path: Path) -> None:
    """With the status after which systemd does not start it again, and with the reason."""
    done = subprocess.run(
        words, env={**os.environ, CONFIG_FILE: str(tmp_path / 'missing.conf')},
        check=False, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 22, done.stderr
    assert 'missing.conf' in done.stderr


def test_it_reports_that_it_listens_serves_and_ends(
    words: list[str | Path], port: int, file: Path, tmp_path: Path
) -> None:
    """Type=notify of the unit waits for READY=1; SIGTERM ends the service, instead of loading it anew."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / 'notify'))
        systemd.settimeout(SECONDS)
        environment = os.environ | {
            CONFIG_FILE: str(file),
            'NOTIFY_SOCKET': str(tmp_path / 'notify'),
        }
        with subprocess.Popen(words, env=environment, start_new_session=True) as process:
            try:
                while b'READY=1' not in systemd.recv(4096):
                    pass
                answer = requests.get(f'http://127.0.0.1:{port}/', timeout=SECONDS)
                process.send_signal(signal.SIGTERM)
                status = process.wait(SECONDS)
            finally:
                end(process)
    assert (answer.status_code, answer.headers['Connection']) == (200, 'close')
    assert status == 0
