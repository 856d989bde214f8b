# SPDX-License-Identifier: Apache-2.0
"""Nothing of a job is left for the next one on the same worker (JW7), with every set of programs of a guest.

`python` is worker.py. All others are worker.sh: `curl` in the system's sh, with and without unshare;
`busybox` with BusyBox's programs alone; `bare` with none of those that give a job a uid or mounts of its own.
"""

import ctypes
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nova_market.core.job.record import AttemptState
from tests.support.market.api import make_market
from tests.support.worker_bed import PACE, WorkerBed, processes_with

pytestmark = [
    pytest.mark.clock,
    pytest.mark.skipif(os.getuid() != 0, reason='without root nobody else can be'),
]

APART = {'unshare', 'nsenter', 'setpriv'}
KINDS = ['python', 'curl', 'curl without unshare', 'busybox', 'bare']
OF_ITS_OWN = [one for one in KINDS if one != 'bare']
"""Those that give each job a uid that no other job has."""

MAKE_IPC = """
/usr/bin/ipcmk -M 4096 -p 666; /usr/bin/ipcmk -Q -p 666; /usr/bin/ipcmk -S 1 -p 666
/usr/bin/python3 -c 'import ctypes, os
made = ctypes.CDLL("librt.so.1").mq_open(b"/left-{n}", os.O_CREAT | os.O_RDWR, 0o666, None)
print("queue", made >= 0)'
"""
COUNT_IPC = """
for kind in shm msg sem; do
    echo "$kind $(awk -v uid={uid} '$0 ~ " " uid " "' /proc/sysvipc/$kind | wc -l)"
done
/usr/bin/python3 -c 'import ctypes, os
print("queue", ctypes.CDLL("librt.so.1").mq_open(b"/left-{n}", os.O_RDWR) >= 0)'
"""
ADD_KEY, KEYCTL = {'x86_64': 248, 'aarch64': 217}, {'x86_64': 250, 'aarch64': 219}
"""Numbers of system calls."""

KEY = """/usr/bin/python3 -c 'import ctypes
call = ctypes.CDLL(None).syscall
print("found", call({keyctl}, 10, -3, b"user", b"left", 0) > 0)
print("left", call({add}, b"user", b"left", b"secret", 6, -3) > 0)'
"""
"""Looks for a key in the session keyring, and leaves it there."""

BARE_USERS = ['games', 'news', 'uucp', 'irc']
"""Whom jobs of `bare` run as, one for each process of the test run: all that the user runs is ended."""

WITH_UNSHARE = [one for one in KINDS if one in ('python', 'curl', 'busybox')]


@pytest.fixture
def database_server():
    """No server: the stores are tested on the others elsewhere."""


@pytest.fixture
def bed(database):
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o711)
        found = WorkerBed(make_market(database, worker_pace=PACE, wall=time.time), place)
        found.serve()
        yield found
        found.close()


@pytest.fixture(
    params=[
        pytest.param(one, marks=() if one in ('python', 'curl') else pytest.mark.nightly)
        for one in KINDS
    ]
)
def kind(request):
    return request.param


def programs(place: Path, kind: str) -> str:
    """A PATH with these programs alone; '' is that of the machine."""
    if kind in ('python', 'curl'):
        return ''
    place.mkdir()
    if kind == 'curl without unshare':
        for directory in ('/sbin', '/bin', '/usr/sbin', '/usr/bin'):
            for one in Path(directory).iterdir():
                if one.name != 'unshare' and not (place / one.name).exists():
                    (place / one.name).symlink_to(one)
        return str(place)
    subprocess.run(['/bin/busybox', '--install', '-s', str(place)], check=True)
    if kind == 'bare':
        for name in APART:
            (place / name).unlink()
        # sh of BusyBox has all of its programs built in; without ipcrm see the last test
        (place / 'sh').unlink()
        (place / 'sh').symlink_to('/bin/dash')
        (place / 'ipcrm').symlink_to('/usr/bin/ipcrm')
    return str(place)


def start(bed: WorkerBed, kind: str) -> subprocess.Popen[str]:
    path = programs(bed.path / 'programs', kind)
    agent = {'curl without unshare': 'curl', 'bare': 'curl'}.get(kind, kind)
    user = BARE_USERS[worker_number() % len(BARE_USERS)] if kind == 'bare' else ''
    return bed.start(agent, user, path=path, no_curl=kind in ('busybox', 'bare'))


def worker_number() -> int:
    """Of this process among those of the test run."""
    return int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))


def number() -> int:
    return time.monotonic_ns() % 10**9


def keyctl(*arguments: object) -> int:
    """As keyctl(2)."""
    return int(ctypes.CDLL(None).syscall(KEYCTL[platform.machine()], *arguments))


def lines(bed: WorkerBed, script: str, **more: object) -> list[str]:
    """What a job writes, that has succeeded."""
    job_id = bed.run(script, **more)
    found = bed.ended(job_id)
    assert found.exit_code == 0, (bed.output(job_id), bed.log())
    return bed.output(job_id).decode().splitlines()


@pytest.fixture
def stray() -> Iterator[str]:
    """Part of a command line, by which a process is found; whatever has it is ended."""
    text = f'1357.{number()}'
    yield text
    for one in processes_with(text):
        os.kill(one, 9)


def test_files_are_gone(bed, kind):
    """Of /tmp, /var/tmp and /dev/shm, however deep and whatever their mode; a job cannot write elsewhere."""
    start(bed, kind)
    n = number()
    places = [f'{one}/left-{n}' for one in ('/tmp', '/var/tmp', '/dev/shm')]
    script = f"""umask 077; for one in {' '.join(places)}; do
        mkdir -p $one/a/b && echo secret > $one/a/b/c || exit 1
        echo secret > $one.file && ln -s / $one.link || exit 1
        chmod 1777 $one; chmod 0 $one/a
    done
    echo secret > /run/lock/left-{n}
    id -u; exit 0"""
    first = lines(bed, script)
    places.append(f'/run/lock/left-{n}')
    left = [f'{place}{end}' for place in places for end in ('', '.file', '.link')]
    second = lines(bed, f'id -u; ls -d {" ".join(left)} 2>/dev/null; exit 0')
    assert len(second) == 1
    assert not [one for one in left if os.path.lexists(one)]
    assert (first[-1] != second[0]) == (kind in OF_ITS_OWN)


def test_ipc_is_gone(bed, kind):
    """Shared memory, queues and semaphores of System V, and a queue of POSIX."""
    start(bed, kind)
    n = number()
    made = lines(bed, 'id -u' + MAKE_IPC.replace('{n}', str(n)))
    assert made[-1] == 'queue True' and len(made) == 5, made
    found = lines(bed, COUNT_IPC.replace('{n}', str(n)).replace('{uid}', made[0]))
    assert found == ['shm 0', 'msg 0', 'sem 0', 'queue False']


@pytest.mark.skipif(platform.machine() not in KEYCTL, reason='numbers of system calls differ')
def test_keys_are_gone(bed):
    """A service has a session keyring, which all that it begins inherits."""
    if keyctl(1, None) < 0:  # KEYCTL_JOIN_SESSION_KEYRING
        pytest.skip('the kernel gives out no keyrings here')
    start(bed, 'python')
    machine = platform.machine()
    script = KEY.format(keyctl=KEYCTL[machine], add=ADD_KEY[machine])
    for _ in range(2):
        assert lines(bed, script) == ['found False', 'left True']


ESCAPES = {
    'a daemon without its environment': """
        (setsid env -i sh -c 'sh -c "exec sleep {stray}" & exit' &) </dev/null >/dev/null 2>&1
        sleep 0.3""",
    'it ignores SIGTERM': """
        (trap '' TERM HUP INT; setsid env -i sh -c 'while :; do sleep {stray}; done' &) >/dev/null 2>&1
        sleep 0.3""",
    'it begins itself anew': """
        echo '[ $2 -lt 2000 ] || exec sleep $1
        setsid sh "$0" "$1" $(($2 + 1)) & exit' > again
        for one in 1 2 3; do env -i PATH=$PATH setsid sh ./again {stray} 0 >/dev/null 2>&1 & done
        sleep 0.3""",
}


@pytest.mark.parametrize('script', ESCAPES.values(), ids=ESCAPES)
def test_processes_are_gone(bed, kind, script, stray):
    """Out of its session, out of its environment, deaf to SIGTERM, or faster than who looks for it."""
    start(bed, kind)
    lines(bed, f'{script.format(stray=stray)}\nexit 0')
    bed.until(lambda: not list(processes_with(stray)))
    lines(bed, 'true')
    time.sleep(0.5)
    assert not list(processes_with(stray))


def test_sigterm_reaches_all_of_it_once(bed, kind, stray):
    """A daemon of it can save its work in the notice, too."""
    start(bed, kind)
    report = bed.shared('report')
    script = f"""cat > daemon <<'X'
trap 'echo one >> {report}' TERM; echo ready > {report}; while :; do sleep 0.1; done
X
    setsid env -i PATH=$PATH sh ./daemon {stray} & sleep 100"""
    job_id = bed.run(script, time_limit=2, notice=2)
    bed.until(lambda: report.read_text() == 'ready\n')
    found = bed.ended(job_id)
    assert found.state is AttemptState.FAILED
    assert report.read_text() == 'ready\none\n'


@pytest.mark.parametrize('kind', [one for one in KINDS if one in WITH_UNSHARE])
def test_a_job_has_a_name_a_home_and_no_rights(bed, kind):
    """Programs that insist on a name find one. Nothing that all may write to takes what would stay there."""
    start(bed, kind)
    script = """/usr/bin/python3 -c 'import os, pwd; me = pwd.getpwuid(os.getuid())
print(me.pw_name, me.pw_dir == os.getcwd() == os.environ["HOME"], end=" ")
print({os.getgid(), *os.getgroups()} == {os.getuid()})'
    grep NoNewPrivs /proc/self/status; echo > /dev/null"""
    with tempfile.NamedTemporaryFile(dir='/run') as everybody:
        os.chmod(everybody.name, 0o666)
        found = lines(bed, f'{script}; echo secret > {everybody.name} || echo refused')
        assert everybody.read() == b''
    assert found[:2] == ['nova-job True True', 'NoNewPrivs:\t1']
    assert found[-1] == 'refused'


def test_what_an_agent_has_left_is_gone(bed, kind, stray):
    """One that was killed: its job is ended and its files are removed when the next agent starts."""
    first = start(bed, kind)
    left = f'/tmp/left-{number()}'
    job_id = bed.run(f'touch {left}; setsid env -i sleep {stray} & echo ready; sleep 100')
    bed.written(job_id, b'ready')
    first.kill()
    first.wait()
    bed.processes.remove(first)
    assert list(processes_with(stray)) and os.path.exists(left)
    second = bed.start('python' if kind == 'python' else 'curl')
    assert second.wait(30) == 3  # it has no session
    assert not list(processes_with(stray)) and not os.path.exists(left)


def test_an_agent_ends_where_something_is_left(bed, kind):
    """Here a file that even root cannot remove: no job runs where something of another one is."""
    begun = start(bed, kind)
    left = Path(f'/tmp/left-{number()}')
    job_id = bed.run(
        f'echo secret > {left}; echo ready; while [ ! -e {bed.path}/go ]; do sleep 0.1; done'
    )
    bed.written(job_id, b'ready')
    subprocess.run(['chattr', '+i', str(left)], check=True)
    try:
        (bed.path / 'go').touch()
        assert bed.ended(job_id).exit_code == 0
        assert begun.wait(60) == 4
        assert 'no other job runs here' in bed.log()
    finally:
        subprocess.run(['chattr', '-i', str(left)], check=True)
        left.unlink()
    bed.processes.remove(begun)
