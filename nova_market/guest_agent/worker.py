# SPDX-License-Identifier: Apache-2.0
"""nova-market-worker: runs the jobs of one queue inside a guest, one after the other.

Implements SVMSched, section 4.2.3, by doc/source/specs/worker.rst (JW1 to JW9): asks for a job, runs its
script as an unprivileged user under its time limit, and sends heartbeats with its output, and a result.
Nothing of a job is left for the next one: as root it gives each a uid of its own, and ends and removes by it.

This one file needs Python 3.6 and nothing besides, so it can be copied into any guest; worker.sh is the same
for guests without Python. The credential comes from a file or the environment: all users see command lines.
"""

import argparse
import base64
import contextlib
import ctypes
import fcntl
import json
import os
import pwd
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

PROGRAM = 'nova-market-worker'
AGENT = 'python 1'
DIRECTORY = '/var/lib/nova-market-worker'
CREDENTIAL_VARIABLE = 'NOVA_MARKET_CREDENTIAL'

MAX_TAIL = 65536
MAX_ANSWER = 16 * 2**20
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between tries while the API does not answer: doubled each time."""
DENIED_TRIES = 4
"""A credential that is refused so often will not be accepted (an outage is no refusal): the agent ends."""
TICK = 0.1
UPLOAD_SECONDS = 3600.0
UNANSWERED = (OSError, ValueError, HTTPException)
"""No connection, TLS or time; no JSON; no HTTP, or less of it than was promised."""
BUSY = {408, 429, 500, 502, 503, 504}
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
CLONE_NEWNS, CLONE_NEWIPC = 0x20000, 0x8000000  # linux/sched.h

RUN_VARIABLE = 'NOVA_MARKET_RUN'
"""Names the directory of its attempt to each process of a job."""

EXIT_USAGE, EXIT_DENIED, EXIT_LEFT = 2, 3, 4
LEFT = 'something of a job can neither be ended nor removed: no other job runs here'

JOB_USER = 'nova-job'
FIRST_UID, UIDS = 70000, 30000
"""Jobs have these in turn: above those of people, and below those that user namespaces are given."""
OPEN = [os.path.realpath(one) for one in ('/tmp', '/var/tmp', '/dev/shm') if os.path.isdir(one)]
"""Where a job may write besides its own directory: the guest's other file systems are read-only to it."""

LAUNCH = """
import ctypes, json, os, sys
place, uid, gid, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
kept = [place + '/work'] + sys.argv[5].split(':')
with open(place + '/environment', encoding='utf-8') as file:
    environment = json.load(file)
libc = ctypes.CDLL(None)
def mount(at, flags, source=None):
    libc.mount(source and os.fsencode(source), os.fsencode(at), None, flags, None)
if uid and os.getuid() == 0:
    if libc.unshare(0x20000) == 0:  # CLONE_NEWNS
        mount('/', 0x84000)  # MS_REC|MS_SLAVE
        for one in kept:
            mount(one, 0x5000, one)  # MS_REC|MS_BIND
        with open('/proc/self/mounts', 'rb') as file:
            kinds = b'devtmpfs overlay ramfs rootfs tmpfs zfs'.split()
            for source, at, kind in [line.split()[:3] for line in file]:
                at = at.decode('unicode_escape').encode('latin-1')
                ours = source.startswith(b'/dev/') or kind in kinds
                if ours and os.fsdecode(at) not in kept and os.path.exists(at):
                    mount(at, 0x1021 | os.statvfs(at).f_flag & 14)  # MS_REMOUNT|MS_BIND|MS_RDONLY
        mount('/etc/passwd', 0x1000, place + '/passwd')
    os.initgroups(name, gid)
    os.setgid(gid)
    os.setuid(uid)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: a setuid program could begin what is not of this uid
keyctl = {'x86_64': 250, 'aarch64': 219, 'riscv64': 219, 'ppc64le': 271, 's390x': 280}
if sys.maxsize >> 32 and os.uname().machine in keyctl:
    # KEYCTL_JOIN_SESSION_KEYRING: whoever has the one of the agent can leave keys in it
    libc.syscall(keyctl[os.uname().machine], 1, None)
os.chdir(kept[0])
os.umask(0o022)
try:
    os.execve(sys.argv[6], sys.argv[6:], environment)
except OSError as error:
    sys.stderr.write('{}: {}\\n'.format(sys.argv[6], error.strerror))
    os._exit(127 if isinstance(error, FileNotFoundError) else 126)
"""
"""Becomes the job's user and then the script. The environment of a job comes in a file: it must not reach a
process of root, as it may name a library to load."""

KILL = 'import os, sys; os.setuid(int(sys.argv[1])); os.kill(-1, int(sys.argv[2]))'
"""All processes of a uid in one instant: one that begins others all the time cannot outrun it."""


class Wrong(Exception):
    """What was given cannot work: says what to give."""


class Away(Exception):
    """The API does not answer, or not now: tried again."""


class Refused(Exception):
    """The API does not accept this, and will not: status and its own words."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__('{} {}'.format(status, text))
        self.status = status


def log(text: object) -> None:
    sys.stderr.write('{}: {}\n'.format(PROGRAM, text))
    sys.stderr.flush()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The credential goes to nobody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """The API, as one worker sees it."""

    def __init__(self, url: str, credential: str, timeout: float, cacert: Optional[str]) -> None:
        self._url, self._credential, self._timeout = url, credential, timeout
        self._session = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip('=')
        try:
            context = ssl.create_default_context(cafile=cacert)
        except OSError as error:
            raise Wrong('--cacert {}: {}'.format(cacert, error)) from None
        self._opener = urllib.request.build_opener(
            NoRedirect(), urllib.request.HTTPSHandler(context=context)
        )

    def post(self, what: str, body: Dict[str, Any]) -> Dict[str, Any]:
        """The answer. :raises Away: Refused:"""
        text = json.dumps(dict(body, credential=self._credential)).encode()
        headers = {'Content-Type': 'application/json', 'User-Agent': PROGRAM}
        request = urllib.request.Request('{}/{}'.format(self._url, what), text, headers)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                found = json.loads(answer.read(MAX_ANSWER).decode())
        except urllib.error.HTTPError as error:
            with error:
                detail = '{} {}'.format(error.code, _detail(error))
            # a redirect is of a proxy that somebody will repair
            if error.code in BUSY or error.code < 400:
                raise Away(detail) from None
            raise Refused(error.code, detail) from None
        except UNANSWERED as error:
            raise Away(error) from None
        if not isinstance(found, dict) or not isinstance(found.get('order'), str):
            raise Away('the answer has no order: {!r:.80}'.format(found))
        return found

    def next(self, body: Dict[str, Any]) -> Dict[str, Any]:
        """The answer to `next`. From the first one on only this process knows what opens the API.

        :raises Refused:
        """
        found = self.insist('next', dict(body, session=self._session), lambda: False)
        self._credential = self._session
        return found

    def insist(self, what: str, body: Dict[str, Any], ends: Callable[[], bool]) -> Dict[str, Any]:
        """The same, tried again until it is answered. :raises Refused: Away: only when `ends`."""
        pause, trouble, denied = FIRST_PAUSE, '', 0
        while True:
            try:
                found = self.post(what, body)
                if trouble:
                    log('the API answers again')
                return found
            except (Away, Refused) as error:
                denied += isinstance(error, Refused)
                if isinstance(error, Refused) and (error.status != 401 or denied >= DENIED_TRIES):
                    raise
                if str(error) != trouble:
                    log('{}: {}'.format(what, error))
                trouble = str(error)
                if ends():
                    raise Away(trouble) from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def put(self, url: str, path: str) -> None:
        """Store a file at somebody else's URL. :raises Away:"""
        with open(path, 'rb') as file:
            size = str(os.fstat(file.fileno()).st_size)
            request = urllib.request.Request(url, file, {'Content-Length': size}, method='PUT')
            request.add_header('Content-Type', 'application/octet-stream')
            try:
                with self._opener.open(request, timeout=UPLOAD_SECONDS):
                    pass
            except UNANSWERED as error:
                raise Away(error) from None


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        first = json.loads(error.read(MAX_TAIL).decode())['errors'][0]
        return '{} ({})'.format(first['detail'], first['code'])
    except (*UNANSWERED, LookupError, TypeError):
        return str(error.reason)


class Output:
    """What a job writes: the last bytes, and in a file the first `limit` ones. A thread reads it."""

    def __init__(self, source: int, whole: Optional[str], limit: int) -> None:
        self.total = 0
        self._tail = bytearray()
        self._left = limit
        self._file = open(whole, 'wb') if whole else None  # noqa: SIM115 (closed by its reader)
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, args=(source,), daemon=True)
        self._reader.start()

    def tail(self) -> Dict[str, Any]:
        """As a message has it."""
        with self._lock:
            text = base64.b64encode(bytes(self._tail)).decode()
            return {'output': text, 'output_bytes': self.total}

    def close(self) -> None:
        """Wait for what is still in the pipe; nobody writes to it any more."""
        self._reader.join(5.0)

    def _read(self, source: int) -> None:
        for got in iter(lambda: os.read(source, MAX_TAIL), b''):
            if self._file and self._left > 0:
                try:
                    self._left -= self._file.write(got[: self._left])
                except OSError as error:  # the disk is full: the job goes on
                    log(error)
                    self._left = 0
            with self._lock:
                self.total += len(got)
                self._tail += got
                del self._tail[:-MAX_TAIL]
        os.close(source)
        if self._file:
            self._file.close()


class Processes:
    """Everything that a job has begun: what is of its uid; without one (0), what comes back as an orphan."""

    def __init__(self, uid: int) -> None:
        self._uid = uid
        self.user = self.system = 0.0
        self.rss_kib = 0
        self.ended = {}  # type: Dict[int, int]

    def reap(self) -> None:
        """Statuses of those that have ended, by pid, and what they used."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.ended[pid] = status
            self.user += used.ru_utime
            self.system += used.ru_stime
            self.rss_kib = max(self.rss_kib, used.ru_maxrss)

    def signal(self, number: int) -> None:
        """Send it to all."""
        if self._uid:
            command = [sys.executable, '-I', '-S', '-c', KILL, str(self._uid), str(number)]
            try:
                subprocess.call(command, stderr=subprocess.DEVNULL)
                return
            except OSError as error:  # the job has filled the table of processes
                log(error)
        signal_each(self.found(), number)

    def found(self) -> List[int]:
        """Those that have not ended, with one that has not become the job's user yet."""
        there = list(processes())
        below = [os.getpid()]
        for one in below:
            below += [pid for pid, parent, _ in there if parent == one and pid not in below]
        return below[1:] + [pid for pid, _, uid in there if uid == self._uid > 0]

    def end(self) -> bool:
        """All of them, whatever they begin meanwhile. False: one waits for a disk, and is left."""
        for _ in range(100):
            found = self.found()
            if not found:
                break
            if self._uid:
                self.signal(signal.SIGKILL)
            signal_each(found, signal.SIGKILL)
            time.sleep(0.02)
            self.reap()
        self.reap()
        return not found


def signal_each(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def processes() -> Iterator[Tuple[int, int, int]]:
    """Pid, parent and uid of all that have not ended."""
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open('/proc/{}/status'.format(name), 'rb') as file:
                    of = dict(line.split(b':', 1) for line in file)
                if of[b'State'].split()[0] not in b'ZX':
                    yield int(name), int(of[b'PPid']), int(of[b'Uid'].split()[0])
            except (OSError, ValueError, KeyError):
                continue


def files_of(uid: int, places: Iterable[str]) -> Iterator[str]:
    """What is of this uid in directories of others; not what is in its own ones."""
    for top in places:
        for place, directories, names in os.walk(top):
            for name in directories + names:
                path = os.path.join(place, name)
                try:
                    mine = os.lstat(path).st_uid == uid
                except OSError:
                    continue
                if mine and name in directories:
                    directories.remove(name)
                if mine:
                    yield path


def remove(path: str) -> None:
    """A file, or a directory with all that is in it; whoever wants to know looks whether it is there."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass
    except (OSError, RecursionError) as error:
        log('{}: {}'.format(path, error))


def cleansed(uid: int) -> bool:
    """End all processes of this uid, and remove its files; whether nothing is left of it."""
    if not uid or os.getuid():
        return True
    for _ in range(3):
        ended, found = Processes(uid).end(), list(files_of(uid, [*OPEN, '/dev/mqueue']))
        if ended and not found:
            return True
        for path in found:
            remove(path)
    return False


def end_strays(place: str) -> bool:
    """What an agent before this one has left in this directory; whether nothing is left."""
    mark, clean = '{}={}/'.format(RUN_VARIABLE, place).encode(), True
    for pid, _, _ in processes():
        try:
            with open('/proc/{}/environ'.format(pid), 'rb') as file:
                if mark in file.read():
                    os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
    for name in os.listdir(place):
        run = os.path.join(place, name)
        if os.path.isdir(os.path.join(run, 'work')):
            clean = cleansed(os.stat(os.path.join(run, 'work')).st_uid) and clean
        shutil.rmtree(run, ignore_errors=True)
    return clean


class Pulse(threading.Thread):
    """Sends heartbeats until it is stopped; the latest order is in `order`, its seconds in `seconds`."""

    def __init__(self, api: Api, told: Callable[[], Dict[str, Any]], interval: float) -> None:
        super().__init__(daemon=True)
        self.order, self.seconds = 'go_on', 0.0
        self._api, self._told, self._interval = api, told, interval
        self._stop_now = threading.Event()

    def run(self) -> None:
        trouble = ''
        while not self._stop_now.wait(self._interval):
            try:
                answer = self._api.post('heartbeat', self._told())
            except Refused as error:
                if error.status in (404, 409):
                    log('heartbeat: {}'.format(error))
                    self.order = 'abandon'
                    return
                answer, trouble = {}, self._once(str(error), trouble)
            except Away as error:
                answer, trouble = {}, self._once(str(error), trouble)
            if answer.get('order') == 'go_on':
                self._interval = max(float(answer.get('seconds') or 1), 0.1)
            elif answer:
                self.seconds = float(answer.get('seconds') or 0)
                self.order = answer['order']
            trouble = '' if answer else trouble

    def stop(self) -> None:
        self._stop_now.set()
        self.join()

    def _once(self, text: str, before: str) -> str:
        if text != before:
            log('heartbeat: {}; the job goes on'.format(text))
        return text


class Run:
    """One attempt of one job: from its directory to its result."""

    def __init__(self, job: Dict[str, Any], place: str, user: pwd.struct_passwd) -> None:
        self._job, self._user = job, user
        self._place = os.path.join(place, '{}.{}'.format(job['id'], job['attempt']))
        self._work = os.path.join(self._place, 'work')
        self._uid = 0 if os.getuid() else user.pw_uid
        self._processes = Processes(self._uid)
        self._output = None  # type: Optional[Output]
        self._began = 0.0
        self._main = self._checkpoint = 0
        self._kept = []  # type: List[subprocess.Popen[bytes]]
        self.end, self.ends_at = '', float('inf')

    def begin(self) -> None:
        """:raises OSError: it cannot be started."""
        remove(self._place)
        for path, mode in ((self._place, 0o711), (self._work, 0o700)):
            os.mkdir(path)
            os.chmod(path, mode)
        environment = {'HOME': self._work, 'TMPDIR': self._work, 'USER': self._user.pw_name}
        environment.update(
            {'PATH': os.environ.get('PATH') or os.defpath, RUN_VARIABLE: self._place}
        )
        self._write('environment', json.dumps(dict(environment, **self._job['environment'])), 0o600)
        self._write('script', self._job['script'], 0o500, mine=False)
        self._write('checkpoint', self._job['checkpoint'], 0o500, mine=False)
        with open('/etc/passwd', encoding='utf-8', errors='surrogateescape') as file:
            me = [str(one) for one in (*self._user[:5], self._work, '/bin/sh')]
            self._write('passwd', '{}{}\n'.format(file.read(), ':'.join(me)), 0o644)
        if os.getuid() == 0:
            os.chown(self._work, self._user.pw_uid, self._user.pw_gid)
        source, self._sink = os.pipe()
        whole = os.path.join(self._place, 'output') if self._job['output_url'] else None
        self._output = Output(source, whole, self._job['output_limit'])
        if self._uid:  # the objects of the job before go with their namespace
            ctypes.CDLL(None).unshare(CLONE_NEWIPC)
        self._began = time.monotonic()
        self._main = self._launched('script')

    def told(self) -> Dict[str, Any]:
        """What a heartbeat has."""
        ran = {'ran': time.monotonic() - self._began} if self._began else {}
        return dict(self.name(), **ran, **(self._output.tail() if self._output else {}))

    def name(self) -> Dict[str, Any]:
        return {'job_id': self._job['id'], 'attempt': self._job['attempt']}

    def wait(self, pulse: Pulse) -> None:
        """Until its script has ended, by itself or by an order, and nothing of it is left."""
        limit, halfway = self._began + self._job['time_limit'], float('inf')
        while True:
            self._processes.reap()
            now, ended = time.monotonic(), self._main in self._processes.ended
            if not self.end and (ended or pulse.order == 'abandon'):
                break
            if not self.end and (pulse.order in ('stop', 'cancel') or now >= limit):
                self.end = {'stop': 'stopped', 'cancel': 'cancelled'}.get(pulse.order, 'time_limit')
                notice = pulse.seconds if pulse.order != 'go_on' else self._job['notice']
                self.ends_at, halfway = now + notice, now + notice / 2
                self._processes.signal(signal.SIGTERM)
            if self.end == 'stopped' and not self._checkpoint and self._job['checkpoint']:
                if ended or now >= halfway:
                    self._checkpoint = self._launched('checkpoint')
            saved = not self._checkpoint or self._checkpoint in self._processes.ended
            if now >= self.ends_at or (self.end and ended and saved) or pulse.order == 'abandon':
                break
            time.sleep(TICK)
        self._ran = time.monotonic() - self._began
        self._processes.end()
        os.close(self._sink)
        assert self._output
        self._output.close()

    def result(self, api: Api) -> Dict[str, Any]:
        """After `wait`; the whole output is stored first."""
        assert self._output
        status = self._processes.ended.get(self._main, 0)
        found = dict(
            self.told(), end=self.end, wall_seconds=self._ran, max_rss_mib=self._processes.rss_kib / 1024,
            user_seconds=self._processes.user, system_seconds=self._processes.system,
        )  # fmt: skip
        del found['ran']
        if not self.end and os.WIFSIGNALED(status):
            found.update(end='signal', signal=os.WTERMSIG(status))
        elif not self.end:
            found.update(end='exit', exit_code=os.WEXITSTATUS(status))
        saved = self._processes.ended.get(self._checkpoint)
        if saved is not None:
            found['checkpoint'] = os.WEXITSTATUS(saved) or 128 * os.WIFSIGNALED(saved)
        if self._job['output_url']:
            try:
                api.put(self._job['output_url'], os.path.join(self._place, 'output'))
                found['uploaded'] = True
            except Away as error:
                log('the output is not stored: {}'.format(error))
                found['uploaded'] = False
        return found

    def clean(self) -> bool:
        """Whether nothing of it is left."""
        ended = self._processes.end()
        for begun in self._kept:
            begun.returncode = 0  # it was waited for by `Processes`
        clean = cleansed(self._uid)
        remove(self._place)
        return ended and clean and not os.path.exists(self._place)

    def _launched(self, name: str) -> int:
        """Start a script of the job as its user, in a session of its own; its pid."""
        path = os.path.join(self._place, name)
        with open(path, 'rb') as file:
            command = [path] if file.read(2) == b'#!' else ['/bin/sh', path]
        user = [str(self._user.pw_uid), str(self._user.pw_gid), self._user.pw_name]
        given = [self._place, *user, ':'.join(OPEN), *command]
        begun = subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', LAUNCH, *given],
            stdin=subprocess.DEVNULL, stdout=self._sink, stderr=subprocess.STDOUT,
            cwd='/', env={}, start_new_session=True,
        )  # fmt: skip
        # whoever forgets it has subprocess wait for it, and its status is gone
        self._kept.append(begun)
        return begun.pid

    def _write(self, name: str, text: str, mode: int, mine: bool = True) -> None:
        path = os.path.join(self._place, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), 'wb') as file:
            file.write(text.encode('utf-8', 'surrogateescape'))
        if not mine and os.getuid() == 0:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)


class Agent:
    """Runs job after job until it is told to exit."""

    def __init__(self, api: Api, place: str, user: Optional[pwd.struct_passwd]) -> None:
        self._api, self._place, self._user = api, place, user
        self._clean = True
        self._turn = os.getpid() * 97  # not where an agent before this one has been

    def run(self) -> int:
        """The exit status."""
        while True:
            body = {'agent': AGENT, 'clock': time.time()}
            try:
                answer = self._api.next(body)
                if answer['order'] == 'exit':
                    return 0
                if answer['order'] == 'run':
                    self._job(answer['job'], float(answer.get('seconds') or 10))
                    if self._clean:
                        continue
                    log(LEFT)
                    return EXIT_LEFT
            except Refused as error:
                log(error)
                return EXIT_DENIED
            time.sleep(max(float(answer.get('seconds') or 1), 0.1))

    def _job(self, job: Dict[str, Any], interval: float) -> None:
        """One attempt. :raises Refused: the credential is not accepted any more."""
        self._turn += 1
        uid = FIRST_UID + self._turn % UIDS
        own = pwd.struct_passwd((JOB_USER, 'x', uid, uid, '', '/', '/bin/sh'))
        run = Run(job, self._place, self._user or own)
        try:
            # nothing is started before the API has noted that it is
            order = self._api.insist('heartbeat', run.name(), lambda: False)['order']
            if order == 'go_on':
                result = self._ran(run, interval)
            else:
                ends = {'stop': 'stopped', 'cancel': 'cancelled'}
                result = dict(run.name(), end=ends.get(order, 'stopped'), wall_seconds=0.0)
            if result:
                self._api.insist('result', result, lambda: False)
        except Refused as error:
            log('job {}: {}'.format(job['id'], error))
            if error.status == 401:
                raise
        finally:
            self._clean = run.clean()

    def _ran(self, run: Run, interval: float) -> Dict[str, Any]:
        """The result of a run; empty where nobody wants it."""
        pulse = Pulse(self._api, run.told, interval)
        try:
            run.begin()
            pulse.start()
            run.wait(pulse)
            return {} if pulse.order == 'abandon' else run.result(self._api)
        except OSError as error:
            log(error)
            return dict(run.name(), end='not_started', text=str(error)[:200], wall_seconds=0.0)
        finally:
            if pulse.is_alive():
                pulse.stop()


class Version(argparse.Action):
    """Prints the version of the package; a file that was copied into a guest has none."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        known = 'version unknown: a copy outside of its package'
        if __package__:
            from importlib import metadata

            with contextlib.suppress(metadata.PackageNotFoundError):
                known = metadata.version('nova-market')
        sys.stdout.write('nova-market {}\n'.format(known))
        parser.exit()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description='Runs the jobs of a queue inside a worker, one after the other.',
        epilog='The credential is read from --credential-file or {}. Exit status: 0 the market has no '
        'more work, 2 wrong usage, 3 the credential is not accepted, 4 something of a job is '
        'left.'.format(CREDENTIAL_VARIABLE),
    )
    add = made.add_argument
    add('--version', action=Version, nargs=0, help='print the version and end')
    add('--url', required=True, help='of the market API, such as https://cloud.example/market')
    add('--worker', metavar='ID', required=True, help='which worker this is')
    add('--credential-file', metavar='FILE', help='only its owner should be able to read it')
    add('--user', help='whom jobs run as, and nothing else; default: each job has a uid of its own')
    add('--allow-root', action='store_true', help='--user may be root: nothing keeps jobs apart')
    add('--directory', default=DIRECTORY, help='of running jobs; default: %(default)s')
    add('--timeout', type=float, default=30.0, help='seconds for a request, default 30')
    add(
        '--cacert',
        metavar='FILE',
        help='certificates of the API, where the system has not got them',
    )
    return made


def configured(given: argparse.Namespace) -> Agent:
    """:raises Wrong: says what to give."""
    if not given.url.startswith(('https://', 'http://')):
        raise Wrong('--url {}: give http:// or https://'.format(given.url))
    try:
        if given.credential_file:
            with open(given.credential_file, encoding='ascii') as file:
                credential = file.read(1000).strip()
        else:
            credential = os.environ.pop(CREDENTIAL_VARIABLE, '').strip()
        user = pwd.getpwnam(given.user) if given.user else None
        if os.getuid():
            user = pwd.getpwuid(os.getuid())
        os.makedirs(given.directory, exist_ok=True)
        os.chmod(given.directory, 0o711)  # jobs go through it to their own
        place = os.path.realpath(given.directory)
    except (OSError, ValueError) as error:
        raise Wrong(error) from None
    except KeyError:
        raise Wrong(
            '--user {}: there is no such user: give another one'.format(given.user)
        ) from None
    if not credential:
        raise Wrong('no credential: give --credential-file or ' + CREDENTIAL_VARIABLE)
    if user and user.pw_uid == 0 and not given.allow_root:
        raise Wrong('jobs would run as root: give another --user, or --allow-root')
    url = '{}/v1/worker/{}'.format(given.url.rstrip('/'), given.worker)
    return Agent(Api(url, credential, given.timeout, given.cacert), place, user)


def alone(place: str) -> Optional[IO[str]]:
    """A lock on the directory of jobs, held as long as the file is open; None: another agent has it."""
    file = open(os.path.join(place, 'lock'), 'w')  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    return file


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Entry point; the exit status."""
    given = parser().parse_args(argv)
    try:
        agent = configured(given)
        lock = alone(given.directory)
        if lock is None:
            raise Wrong('--directory {}: another agent runs there'.format(given.directory))
        if not end_strays(os.path.realpath(given.directory)):
            log(LEFT)
            return EXIT_LEFT
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if os.getuid() == 0 and libc.unshare(CLONE_NEWNS | CLONE_NEWIPC):
            log(
                'there are no namespaces: IPC and directories that all may write to are not kept from jobs'
            )
    except Wrong as error:
        log(error)
        return EXIT_USAGE
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        return agent.run()
    except KeyboardInterrupt:
        return 0


if __name__ == '__main__':
    sys.exit(main())
