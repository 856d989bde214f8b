# SPDX-License-Identifier: Apache-2.0
"""The user data of a worker: run as cloud-init and CirrOS run it, it starts an agent that does its work."""

import base64
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from nova_market.core.job.queue import DesiredWorkerState
from nova_market.core.job.worker_boot import MAX_USER_DATA, WorkerBoot, worker_user_data
from nova_market.errors import BadAmount
from tests.support.market.api import make_market
from tests.support.worker_bed import CREDENTIAL, PACE, SOURCE, WORKER, WorkerBed, processes_with

AGENTS = [(SOURCE / name).read_text() for name in ('worker.py', 'worker.sh')]


@pytest.fixture
def database_server():
    """No server: the stores are tested on the others elsewhere."""


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        path.chmod(0o711)
        yield path


def boot(**more):
    given = {'url': 'http://127.0.0.1:1', 'worker_id': WORKER, 'credential': CREDENTIAL, **more}
    return WorkerBoot(**given)


@pytest.mark.clock
@pytest.mark.parametrize('python', [True, False], ids=['python', 'no python'])
def test_user_data_starts_an_agent(database, place, python):
    """worker.py with Python 3.6, worker.sh without; its directory has a blank and a quote in its name."""
    bed = WorkerBed(make_market(database, worker_pace=PACE, wall=time.time), place)
    bed.serve()
    programs = place / 'bin'
    programs.mkdir()
    shadowed = programs / 'python3'
    shadowed.write_text('#!/bin/sh\nexit 127\n')
    shadowed.chmod(0o755)
    directory = place / 'not there yet' / "it's here"
    given = boot(url=f'http://127.0.0.1:{bed.port}', directory=str(directory))
    script = place / 'user-data'
    script.write_text(worker_user_data(given, *AGENTS))
    path = os.environ['PATH'] if python else f'{programs}:{os.environ["PATH"]}'
    try:
        subprocess.run(['busybox', 'sh', str(script)], check=True, env={'PATH': path}, timeout=60)
        job_id = bed.run('id -un; exit 5')
        assert bed.ended(job_id).exit_code == 5
        assert bed.output(job_id) == b'nova-job\n'
        running = list(processes_with('worker.py' if python else 'worker.sh'))
        lines = [Path(f'/proc/{one}/cmdline').read_bytes() for one in running]
        assert any(str(directory).encode() in line for line in lines)
        assert not any(CREDENTIAL.encode() in line for line in lines)
        assert (directory / 'credential').stat().st_mode & 0o777 == 0o600
    finally:
        bed.change_worker(intention=DesiredWorkerState.GONE, job_id='')
        bed.until(lambda: not list(processes_with(f'{directory}/worker')))
        bed.close()


def test_user_data_fits_into_nova():
    """With both agents and room for certificates; what does not fit is refused before Nova refuses it."""
    script = worker_user_data(boot(certificates='x' * 4000), *AGENTS)
    assert len(base64.b64encode(script.encode())) <= 65_535
    assert script.startswith('#!/bin/sh\n')
    with pytest.raises(BadAmount, match=f'Nova takes {MAX_USER_DATA}'):
        worker_user_data(boot(certificates='x' * 30_000), *AGENTS)


@pytest.mark.parametrize(
    'credential', ['', 'short', f'{CREDENTIAL}x', f'{CREDENTIAL[:-1]}$', f'{CREDENTIAL}\n']
)
def test_a_credential_of_another_form_is_refused(credential):
    """What stands in a script cannot end it."""
    with pytest.raises(BadAmount, match='43 characters'):
        worker_user_data(boot(credential=credential), *AGENTS)


def test_a_file_that_would_end_its_own_text_is_refused():
    """The line that ends a file in the script may not be in the file."""
    with pytest.raises(BadAmount, match=r'ca\.pem has a line'):
        worker_user_data(boot(certificates='END_OF_NOVA_MARKET_FILE\nreboot\n'), *AGENTS)
