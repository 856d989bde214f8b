# SPDX-License-Identifier: Apache-2.0
"""tools/cloud where there is no cloud: what is refused, in one line, before anything is done."""

import contextlib
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[3]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason='tools/cloud needs root from there on')


def cloud(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """tools/cloud with a state directory of the test's own."""
    return subprocess.run(
        [ROOT / 'tools/cloud', *arguments],
        env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'NOVA_MARKET_CLOUD': str(state)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refusal(state: Path, *arguments: str) -> str:
    """The only line of a command that fails."""
    done = cloud(state, *arguments)
    assert (done.returncode, done.stdout) == (1, ''), done
    (line,) = done.stderr.splitlines()
    assert line.startswith('tools/cloud: ')
    return line.removeprefix('tools/cloud: ')


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        ('run', 'run: a command is missing, for example: tools/cloud run openstack '),
        ('as', 'as: a project (dora emil) and a command are missing'),
        ('as dora', 'as: a command is missing, for example: tools/cloud as dora openstack '),
        ('as fritz openstack', "as: 'fritz' is none of the projects dora emil"),
        ('on', 'on: a host (h1 h2) and a command are missing'),
        ('on h1', 'on: a command is missing, for example: tools/cloud on h1 virsh '),
        ('on h3 true', "on: 'h3' is none of the hosts h1 h2"),
        ('order', 'order: a server and a command are missing, for example: tools/cloud order d1 '),
        ('order d1', 'order: a command is missing, for example: tools/cloud order d1 '),
        ('status --all', "status: unknown option '--all'"),
    ],
)
def test_a_missing_word_is_named(tmp_path: Path, arguments: str, expected: str) -> None:
    """Also by who is not root, and where there is no cloud."""
    assert expected in refusal(tmp_path / 'cloud', *arguments.split())
    assert not (tmp_path / 'cloud').exists()


@pytest.mark.parametrize('cpus', ['9999', '0,9999', '0-9999', '1-0', 'one', '0,', ''])
def test_a_host_has_cpus_of_this_machine(tmp_path: Path, cpus: str) -> None:
    """Refused before packages are installed, which takes minutes."""
    line = refusal(tmp_path / 'cloud', 'up', '--h2', cpus)
    online = Path('/sys/devices/system/cpu/online').read_text().strip()
    assert line.startswith(f'up: --h2 must be CPUs of this machine, of which {online} are online')
    assert line.endswith(f"not '{cpus}'")
    assert not (tmp_path / 'cloud').exists()


@pytest.mark.parametrize('cpus', ['0', '0,0', '0-0', '000'])
def test_cpus_that_are_online_are_no_mistake(tmp_path: Path, cpus: str) -> None:
    """Then the next mistake is named: the name of the directory, or that this is not root."""
    line = refusal(tmp_path / ('a' * 60), 'up', '--h1', cpus)
    assert 'CPUs of this machine' not in line


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory whose path is short enough for unix sockets below it."""
    with tempfile.TemporaryDirectory(prefix='nm-cloud-') as directory:
        yield Path(directory)


@pytest.fixture
def stopped(place: Path) -> Path:
    """A state directory as the beginning of an `up` leaves it."""
    state = place / 'cloud'
    (state / 'run').mkdir(parents=True)
    (state / '.nova-market-cloud').touch()
    (state / 'run/lock').touch()
    return state


@pytest.fixture
def at_work(stopped: Path) -> Iterator[Path]:
    """The same, while somebody has the lock that an `up` takes."""
    with (stopped / 'run/lock').open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield stopped


COMMANDS = [
    'run openstack server list',
    'as dora openstack',
    'shell',
    'on h1 virsh',
    'order d1 load',
]


@as_root
@pytest.mark.parametrize('command', COMMANDS)
def test_a_command_for_a_cloud_that_is_down(stopped: Path, command: str) -> None:
    """Not the error of a client that is not installed, or finds nothing; what to type is named."""
    line = refusal(stopped, *command.split())
    assert line == f'the cloud in {stopped} is down; start it with tools/cloud up'


@as_root
@pytest.mark.parametrize('command', COMMANDS)
def test_a_command_while_the_cloud_comes_up(at_work: Path, command: str) -> None:
    line = refusal(at_work, *command.split())
    assert line.startswith(f'a tools/cloud up or down is at work in {at_work}: wait')


@as_root
@pytest.mark.parametrize('command', COMMANDS)
def test_a_command_where_there_is_no_cloud(place: Path, command: str) -> None:
    line = refusal(place / 'none', *command.split())
    assert line == f'there is no cloud in {place}/none; make one with tools/cloud up'


@as_root
def test_the_status_of_a_cloud_that_is_down(stopped: Path) -> None:
    """One line, and no host that is not there."""
    done = cloud(stopped, 'status')
    assert (done.returncode, done.stdout) == (3, '')
    assert done.stderr == f'the cloud in {stopped} is down; start it with tools/cloud up\n'


@as_root
def test_the_status_of_a_cloud_that_comes_up(at_work: Path) -> None:
    done = cloud(at_work, 'status')
    assert (done.returncode, done.stdout) == (3, '')
    assert (
        done.stderr
        == f'a tools/cloud up or down is at work in {at_work}; logs are in {at_work}/log\n'
    )


@as_root
def test_one_up_at_a_time(at_work: Path) -> None:
    assert refusal(at_work, 'up') == f'another tools/cloud up or down is at work in {at_work}'


@as_root
@pytest.mark.parametrize(('label', 'option'), [('memcached', ''), ('market-leases', ' --market')])
def test_the_status_names_how_to_start_what_is_down(stopped: Path, label: str, option: str) -> None:
    """A daemon that has ended, beside Nova's API, which runs in the cloud's control group."""
    (stopped / 'run/pid').mkdir()
    with in_group(stopped) as process:
        (stopped / 'run/pid/nova-api').write_text(f'{process}\n')
        (stopped / f'run/pid/{label}').write_text('2000000000\n')
        done = cloud(stopped, 'status')
    assert done.returncode == 3
    assert [line.split()[:2] for line in sorted(done.stdout.splitlines())] == sorted(
        [[label, 'down'], ['nova-api', 'up']]
    )
    assert done.stderr == (
        f'not all of the cloud runs: tools/cloud up{option} starts what is down\n'
    )


@contextlib.contextmanager
def in_group(state: Path) -> Iterator[int]:
    """The id of a process in the control group by which a cloud knows its own."""
    script = f"""
    set -euo pipefail
    ROOT='{ROOT}' STATE='{state}'
    source "$ROOT/tools/cloud.d/settings.sh"
    source "$ROOT/nova_market/testbed/daemons.sh"
    """
    begin = f'{script} make_cgroups; launch sleeper sleep 300; pid_of sleeper'
    words = {'check': True, 'timeout': 30, 'text': True, 'stdout': subprocess.PIPE}
    (state / 'log').mkdir()
    pid = int(subprocess.run(['bash', '-c', begin], **words).stdout)
    (state / 'run/pid/sleeper').unlink()
    try:
        yield pid
    finally:
        end = f'{script} die() {{ exit 1; }}; end_members'
        subprocess.run(['bash', '-c', end], **words)
