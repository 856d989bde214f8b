# SPDX-License-Identifier: Apache-2.0
"""Both agents of workers as real processes, against the real API over HTTP on 127.0.0.1.

What the service of jobs does (an attempt is stored, a worker is to stop) is written here by hand. Jobs run as
users of their own when the tests run as root.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

from nova_market.core.app.credential import digest
from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.queue import DesiredWorkerState, StoredQueue, StoredWorker, WorkerState
from nova_market.core.job.record import (
    OPEN_ATTEMPT,
    AttemptState,
    JobContent,
    JobState,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import JobQuotas, JobStep, NewJobs
from tests.support.market.api import ALICE, Market

PACE = WorkerPace(poll=0.2, heartbeat=0.3, missed=5)
CREDENTIAL = 'c' * 43
SESSION = 's' * 43
QUEUE = '00000000-0000-4000-8000-00000000001a'
WORKER = '00000000-0000-4000-8000-00000000001b'
SOURCE = Path(__file__).resolve().parents[2] / 'nova_market' / 'guest_agent'
AGENTS = {
    'python': [sys.executable, '-I', '-S', str(SOURCE / 'worker.py')],
    'busybox': ['busybox', 'sh', str(SOURCE / 'worker.sh')],
    'curl': ['sh', str(SOURCE / 'worker.sh')],
}
"""worker.py; worker.sh with the programs of BusyBox alone; worker.sh in the system's sh with curl."""


class Quiet(WSGIRequestHandler):
    """Requests are not printed."""

    def log_request(self, *_: Any) -> None:
        pass


@dataclass
class WorkerBed:
    """The API with one queue and one worker, and the agent that is started for it."""

    market: Market
    path: Path
    port: int = 0
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """The last part of each request's path, once it is answered."""

    _lost: dict[str, int] = field(default_factory=dict)
    _server: Any = None
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.queues.create(StoredQueue(id=QUEUE, name='short', project_id=ALICE), 10)
        self.add_worker(WORKER)

    @property
    def queues(self) -> Any:
        return self.market.stores.queues

    @property
    def jobs(self) -> Any:
        return self.market.stores.jobs

    @property
    def attempts(self) -> Any:
        return self.market.stores.attempts

    def add_worker(self, worker_id: str, **more: Any) -> None:
        worker = StoredWorker(
            id=worker_id, queue_id=QUEUE, flavor='small', cores=2.0, memory_mib=1024.0,
            credential=digest(CREDENTIAL), state=WorkerState.IDLE, **more,
        )  # fmt: skip
        self.attempts.put([worker])

    def let_in(self, worker_id: str = WORKER) -> None:
        """What the first `next` of its agent does: its session is SESSION from then on."""
        assert self.attempts.exchange(worker_id, digest(CREDENTIAL), digest(SESSION))

    def change_worker(self, worker_id: str = WORKER, **changed: Any) -> None:
        self.attempts.put([replace(self.attempts.worker(worker_id), **changed)])

    def submit(self, script: str, **more: Any) -> StoredJob:
        """A job that waits."""
        job_id = str(uuid.uuid4())
        names = ('environment', 'checkpoint', 'output_url')
        content = {name: more.pop(name) for name in names if name in more}
        job = StoredJob(
            id=job_id, queue_id=QUEUE, project_id=ALICE, user_id='u', flavor='small', cores=1.0,
            memory_mib=512.0, submitted_at=self.market.wall(),
            **{'time_limit': 60, 'notice': 3, 'name': 'test', **more},
        )  # fmt: skip
        new = NewJobs(
            jobs=(job,), contents=(JobContent(id=job.content_id, script=script, **content),)
        )
        self.jobs.submit(new, JobQuotas(most_waiting=1000))
        return job

    def assign(self, job: StoredJob, worker_id: str = WORKER) -> str:
        """What the service stores before it starts an attempt; the id of the job."""
        now = self.market.wall()
        before = self.jobs.job(job.id)
        number = before.attempt + 1
        worker = self.attempts.worker(worker_id)
        changed = replace(
            worker, job_id=job.id, attempt=number, rank=0, state=WorkerState.BUSY, seen_at=0.0
        )
        attempt = StoredAttempt(job_id=job.id, number=number, worker_id=worker_id, created_at=now)
        step = JobStep(
            job_id=job.id, before=before.state, attempts=(attempt,), workers=(changed,),
            changed={'state': JobState.STARTING, 'attempt': number},
        )  # fmt: skip
        assert self.jobs.decide([step])
        return job.id

    def run(self, script: str, **more: Any) -> str:
        return self.assign(self.submit(script, **more))

    def order(self, job_id: str, state: AttemptState) -> None:
        """What the service stores when it preempts a job, or gives its worker up."""
        attempt = replace(self.attempt(job_id), state=state, ended_at=0.0)
        job = self.jobs.job(job_id)
        assert self.jobs.decide([JobStep(job_id=job_id, before=job.state, attempts=(attempt,))])

    def give_up(self, job_id: str) -> None:
        """What the service stores when a worker is lost: the job waits for its next attempt."""
        attempt = replace(
            self.attempt(job_id), state=AttemptState.LOST, ended_at=self.market.wall()
        )
        job = self.jobs.job(job_id)
        changed = {'state': JobState.WAITING, 'lost': job.lost + 1}
        step = JobStep(job_id=job_id, before=job.state, changed=changed, attempts=(attempt,))
        assert self.jobs.decide([step])

    def attempt(self, job_id: str) -> StoredAttempt:
        """The newest one."""
        found: StoredAttempt = self.attempts.attempts([job_id])[job_id][-1]
        return found

    def output(self, job_id: str) -> bytes:
        found = self.attempts.output(job_id, self.attempt(job_id).number)
        return found.tail if found else b''

    def marks(self, job_id: str) -> list[str]:
        """What was not believed of its report, or went wrong beside it."""
        events = self.attempts.events(job_id)
        return [one.reason for one in events if one.action == 'marked']

    def shared(self, name: str) -> Path:
        """A file that jobs may write to."""
        path = self.path / name
        path.touch()
        path.chmod(0o666)
        return path

    def lose(self, what: str, times: int) -> None:
        """The next so many answers to these requests do not arrive; what was asked is done."""
        self._lost[what] = times

    def _application(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        what = environ['PATH_INFO'].rpartition('/')[2]
        answer = list(self.market.application(environ, start_response))
        self.requests.append(what)
        if self._lost.get(what):
            self._lost[what] -= 1
            start_response('502 Bad Gateway', [], (None, None, None))
            return [b'']
        return answer

    def serve(self) -> None:
        """Listen; again on the same port after `away`."""
        server = make_server(
            '127.0.0.1', self.port, self._application, threaded=True, request_handler=Quiet
        )
        self._server, self.port = server, server.server_port
        self._thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        self._thread.start()

    def away(self) -> None:
        """Nobody listens any more."""
        if self._thread:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._thread = None

    def start(
        self, kind: str, user: str = '', path: str = '', no_curl: bool = False
    ) -> subprocess.Popen[str]:
        """The agent; what it writes goes to the file `log`. path: where its programs are."""
        credential = self.path / 'credential'
        credential.write_text(f'{CREDENTIAL}\n')
        credential.chmod(0o600)
        given = [f'http://127.0.0.1:{self.port}', WORKER, str(credential), user]
        directory = str(self.path / 'jobs')
        environment = {'PATH': path or os.environ['PATH'], 'NOVA_MARKET_TIMEOUT': '5'}
        if kind == 'python':
            words = ['--url', '--worker', '--credential-file', '--user', '--timeout', '--directory']
            values = [*given, '5', directory]
            given = [word for pair in zip(words, values, strict=True) for word in pair]
        else:
            given.append(directory)
        if no_curl or kind == 'busybox':
            environment['NOVA_MARKET_NO_CURL'] = '1'
        with (self.path / 'log').open('a') as log:
            begun = subprocess.Popen(
                [*AGENTS[kind], *given], env=environment, stderr=log, stdout=log, text=True,
                cwd='/', start_new_session=True,
            )  # fmt: skip
        self.processes.append(begun)
        return begun

    def log(self) -> str:
        return (self.path / 'log').read_text()

    def until(self, done: Callable[[], object], seconds: float = 60.0) -> None:
        ends = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < ends, self.log()
            time.sleep(0.03)

    def ended(self, job_id: str) -> StoredAttempt:
        """Waited for."""
        self.until(lambda: self.attempt(job_id).state not in OPEN_ATTEMPT)
        return self.attempt(job_id)

    def written(self, job_id: str, text: bytes) -> None:
        """Wait until the job has written this, which a heartbeat brings."""
        self.until(lambda: text in self.output(job_id))

    def leave(self) -> None:
        """The worker is to go: the agent exits."""
        self.change_worker(intention=DesiredWorkerState.GONE, job_id='')
        for one in self.processes:
            assert one.wait(20) == 0, self.log()

    def close(self) -> None:
        """End what runs, its job with it."""
        for one in self.processes:
            if one.poll() is None:
                one.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.wait(15)
                one.kill()
                one.wait()
        self.away()


def processes_with(text: str) -> Iterator[int]:
    """Processes that run now and have this in their command line."""
    for one in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            state = (one / 'stat').read_text().rpartition(')')[2].split()[0]
            if state not in 'ZX' and text in (one / 'cmdline').read_bytes().decode(
                errors='replace'
            ):
                yield int(one.name)
