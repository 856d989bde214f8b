# SPDX-License-Identifier: Apache-2.0
"""tools/test.d/sweep.py: of a run that was killed nothing stays, and of one that goes on everything."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nova_market.testbed.host import Host, script
from tests.integration.cloud.left_behind import left_behind
from tests.support.hypervisor.worlds import wait_for
from tests.support.namespaces import run as command

pytestmark = [
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio',
        'losetup', 'mkfs.ext4', 'qemu-storage-daemon', 'ip',
    ),
]  # fmt: skip

ROOT = Path(__file__).resolve().parents[2]

RUN = """
import os, sys
from pathlib import Path

del os.environ['NOVA_MARKET_RUN']
import tests.conftest
from nova_market.testbed.guest import GuestSpec
from nova_market.testbed.host import Host
from nova_market.testbed.slow_disk import SlowDisk
from tests.support.namespaces import fresh_prefix, run

state, bridge = Path(sys.argv[1]), sys.argv[2]
namespace = fresh_prefix() + '-a'
run('ip', 'netns', 'add', namespace)
disk = SlowDisk(state / 'disk', 32, 8 << 20)
disk.__enter__()
host = Host('swept', '0', 512, state, options=('--cable', f'{bridge}=eth0'))
host.__enter__()
host.boot(GuestSpec(name='g', project='p'))
print(namespace, disk.device, flush=True)
sys.stdin.read()
"""
"""A run with a namespace, a slow disk, and a host with a cable and a guest; ends with its standard input."""


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('swept')


@pytest.fixture
def bridge() -> str:
    return f'nm{secrets.token_hex(4)}'


@pytest.fixture
def run(state: Path, bridge: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, '-c', RUN, str(state), bridge],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as made:
        yield made
        made.kill()


def sweep() -> str:
    """What it says."""
    done = subprocess.run(
        [sys.executable, str(ROOT / 'tools/test.d/sweep.py')],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, '')
    return done.stdout


def keeps_file(device: str, state: Path) -> bool:
    """Has the loop device still its file below this directory?

    Another run may have made one of the same number by now. A file whose mount has gone is called /.
    """
    rows = command('losetup', '--list', '--noheadings', '--output', 'NAME,BACK-FILE').splitlines()
    files = dict(row.split(maxsplit=1) for row in rows)
    return device in files and (files[device] == '/' or files[device].startswith(str(state)))


def test_of_a_run_that_was_killed_nothing_stays(
    run: subprocess.Popen[str], state: Path, bridge: str
) -> None:
    """Processes, guests, mounts, the loop device, control groups, the namespace and the bridge."""
    assert run.stdout is not None
    namespace, device = run.stdout.readline().split()
    guest = Host('swept', '0', 512, state)
    group = script('host', 'cgroup', '--state', str(state), 'swept')
    assert namespace not in sweep()
    assert guest.virsh('domstate', 'g') == 'running'
    assert namespace in command('ip', 'netns', 'list')
    assert left_behind(device) and left_behind(bridge) and left_behind(group)
    run.kill()
    run.wait()
    said = sweep()
    programs = ('qemu-system-x86_64', 'qemu-storage-daemon')
    for one in (*programs, f'{state}/disk/mounted', namespace, bridge, group):
        assert one in said
    assert namespace not in command('ip', 'netns', 'list')
    # a mount namespace of the processes that were killed may hold it for a moment
    wait_for(lambda: not keeps_file(device, state), 30.0)
    for word in (str(state), bridge, group):
        assert left_behind(word) == []
