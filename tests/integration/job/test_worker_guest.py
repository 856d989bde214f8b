# SPDX-License-Identifier: Apache-2.0
"""Both agents in a real guest, from the user data of its config drive: nothing is left of a job (JW1, JW7).

The test guest has BusyBox's programs, its root is an initramfs, and its agent is worker.sh. With Debian's
Python beside them it is worker.py. It reaches the API, which runs here, through QEMU's own network.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nova_market.core.job.worker_boot import WorkerBoot, worker_user_data
from nova_market.testbed.host import script
from tests.support.market.api import make_market
from tests.support.worker_bed import CREDENTIAL, PACE, SOURCE, WORKER, WorkerBed

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration('qemu-system-x86_64', 'busybox', 'cpio', 'genisoimage', 'ipcmk', 'ldd'),
]

HOST = '10.0.2.2'
"""This machine, as a guest in QEMU's own network sees it."""

BOOT = 300.0
"""Seconds until a job has ended, with a guest under emulation that boots."""

NOT_NEEDED = (
    'test',
    'idlelib',
    'lib2to3',
    'ensurepip',
    'config-*',
    'tkinter',
    'unittest',
    '__pycache__',
)

FIRST = """
mkdir -p /tmp/left/deep && echo secret > /tmp/left/deep/file && echo secret > /tmp/left.file || exit 1
(echo secret > /everybody) 2>/dev/null || echo refused
ipcmk -M 4096 -p 666 && ipcmk -Q -p 666 && ipcmk -S 1 -p 666 || exit 1
setsid env -i sh -c 'trap "" TERM; while :; do sleep 1357; done' >/dev/null 2>&1 &
id -un; id -u
"""
SECOND = """
ls -d /tmp/left* 2>/dev/null
cat /everybody; cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | wc -l
ps | grep -c '[s]leep 1357'
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'worker\\.[a-z]*' | head -n 1
id -un; id -u
"""


@pytest.fixture
def database_server():
    """No server: the stores are tested on the others elsewhere."""


@pytest.fixture
def bed(database) -> Iterator[WorkerBed]:
    with tempfile.TemporaryDirectory() as directory:
        found = WorkerBed(make_market(database, worker_pace=PACE, wall=time.time), Path(directory))
        found.serve()
        yield found
        found.close()


def libraries(program: str | Path) -> list[str]:
    """Paths of the shared ones that it needs."""
    listed = subprocess.run(['ldd', program], check=True, capture_output=True, text=True).stdout
    return re.findall(r'(/\S+) \(0x', listed)


def add_program(root: Path, program: str) -> None:
    for one in [program, *libraries(program)]:
        place = root / one.lstrip('/')
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(one, place)


def add_python(root: Path) -> None:
    """That of the system, with what its modules need."""
    program = os.path.realpath('/usr/bin/python3')
    library = f'/usr/lib/{Path(program).name}'
    add_program(root, program)
    (root / 'usr/bin/python3').symlink_to(program)
    shutil.copytree(
        library,
        root / library.lstrip('/'),
        ignore=shutil.ignore_patterns(*NOT_NEEDED),
        symlinks=True,
    )
    for one in Path(library).glob('lib-dynload/*.so'):
        for needed in libraries(one):
            add_program(root, needed)


def image(place: Path, python: bool) -> tuple[Path, Path]:
    """Kernel and initial root of the test guest, with programs of this machine added to it."""
    script('image', '--state', str(place))
    root = place / 'root'
    root.mkdir()
    add_program(root, shutil.which('ipcmk') or '')
    if python:
        add_python(root)
    (root / 'everybody').touch()
    (root / 'everybody').chmod(0o666)
    made = place / 'initrd'
    shutil.copy(place / 'guest' / 'initrd.gz', made)
    with made.open('ab') as file:
        file.write(bytes(-file.tell() % 512))
        file.flush()
        names = subprocess.run(['find', '.'], cwd=root, check=True, capture_output=True).stdout
        subprocess.run(
            ['cpio', '-oH', 'newc', '--quiet'], cwd=root, input=names, stdout=file, check=True
        )
    return place / 'guest' / 'vmlinuz', made


def config_drive(place: Path, user_data: str) -> Path:
    tree, made = place / 'drive', place / 'config.iso'
    (tree / 'openstack' / 'latest').mkdir(parents=True)
    (tree / 'openstack' / 'latest' / 'user_data').write_text(user_data)
    subprocess.run(['genisoimage', '-quiet', '-rJ', '-V', 'config-2', '-o', made, tree], check=True)
    return made


def booted(place: Path, kernel: Path, initrd: Path, drive: Path) -> subprocess.Popen[bytes]:
    """A guest with a network of its own; its console goes to the file `console`."""
    return subprocess.Popen(
        [
            'qemu-system-x86_64', '-nodefaults', '-display', 'none', '-no-reboot', '-machine', 'pc,accel=tcg',
            '-m', '512', '-kernel', kernel, '-initrd', initrd, '-append', 'console=ttyS0 quiet panic=1',
            '-serial', f'file:{place / "console"}', '-nic', 'user,model=virtio-net-pci',
            '-device', 'virtio-scsi-pci', '-drive', f'if=none,id=drive,media=cdrom,readonly=on,file={drive}',
            '-device', 'scsi-cd,drive=drive',
        ]
    )  # fmt: skip


def output(bed: WorkerBed, place: Path, text: str) -> list[str]:
    job_id = bed.run(text, time_limit=600)
    try:
        bed.until(lambda: bed.attempt(job_id).ended_at, BOOT)
    except AssertionError:
        console = (place / 'console').read_text(errors='replace')
        pytest.fail(f'the job has not ended: {console[-2000:]}')
    assert bed.attempt(job_id).exit_code == 0, bed.output(job_id)
    return bed.output(job_id).decode().splitlines()


@pytest.mark.parametrize('python', [False, True], ids=['worker.sh', 'worker.py'])
def test_nothing_of_a_job_is_left_in_a_guest(bed: WorkerBed, python: bool):
    """Files, objects of System V IPC and processes; the next job is somebody else."""
    (bed.path / 'log').touch()
    given = WorkerBoot(url=f'http://{HOST}:{bed.port}', worker_id=WORKER, credential=CREDENTIAL)
    agents = [(SOURCE / name).read_text() for name in ('worker.py', 'worker.sh')]
    drive = config_drive(bed.path, worker_user_data(given, *agents))
    guest = booted(bed.path, *image(bed.path, python), drive)
    try:
        first = output(bed, bed.path, FIRST)
        second = output(bed, bed.path, SECOND)
    finally:
        guest.kill()
        guest.wait()
    assert first[0] == 'refused'
    assert second[:-1] == ['3', '0', 'worker.py' if python else 'worker.sh', 'nova-job']
    assert first[-2] == 'nova-job' and int(first[-1]) != int(second[-1]) >= 70000
