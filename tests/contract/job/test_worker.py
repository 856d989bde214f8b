# SPDX-License-Identifier: Apache-2.0
"""Both agents keep the protocol of doc/source/specs/worker.rst: real processes against the real API.

`python` is worker.py, `busybox` is worker.sh with BusyBox's programs alone, `curl` is worker.sh in the
system's sh with curl.
"""

import ast
import os
import signal
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nova_market.core.job.record import AttemptState, JobState, JobWish
from nova_market.core.job.worker_message import MAX_TAIL
from tests.support.market.api import make_market
from tests.support.worker_bed import (
    AGENTS,
    CREDENTIAL,
    PACE,
    SOURCE,
    WORKER,
    WorkerBed,
    processes_with,
)

pytestmark = pytest.mark.clock

ODD = {
    'QUOTES': """it's "quoted" `touch /tmp/x` $(id) $HOME \\ back""",
    'LINES': 'one\ntwo\n\nfour\n',
    'UNICODE': 'Grüße, 世界 🎈',
    'EMPTY': '',
    'BLANKS': '  two  ',
}
STUBBORN = "trap '' TERM\necho ready\nwhile :; do sleep 0.1; done\n"
SAVES = "exec 2>/dev/null\ntrap 'echo saved > state; exit 0' TERM\necho ready\nwhile :; do sleep 0.1; done\n"


@pytest.fixture
def database_server():
    """No server: the stores are tested on the others elsewhere."""


@pytest.fixture
def bed(database):
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o711)  # jobs have no rights below it; the directories of pytest are closed
        found = WorkerBed(make_market(database, worker_pace=PACE, wall=time.time), place)
        found.serve()
        yield found
        found.close()


@pytest.fixture(
    params=[
        pytest.param(one, marks=() if one == 'python' else pytest.mark.nightly) for one in AGENTS
    ]
)
def kind(request):
    return request.param


@pytest.mark.parametrize('kind', list(AGENTS))
def test_a_job_is_run(bed, kind):
    """Its output, exit code and usage arrive; the agent runs the next one, and exits when it is to go."""
    job_id = bed.run('#!/bin/sh\necho "out $0"; echo err >&2; exit 0\n')
    bed.start(kind)
    found = bed.ended(job_id)
    assert (found.state, found.exit_code, found.text) == (AttemptState.FINISHED, 0, '')
    assert bed.output(job_id).endswith(b'script\nerr\n')
    second = bed.run('echo no interpreter is named; exit 3')
    assert bed.ended(second).exit_code == 3
    bed.leave()
    assert bed.jobs.job(job_id).state is JobState.STARTING  # the service's to change
    assert bed.marks(job_id) == []


@pytest.mark.parametrize(
    ('script', 'code', 'text'),
    [
        ('exit 7', 7, ''),
        ('exit 255', 255, ''),
        ('kill -TERM $$', 143, 'ended by signal 15'),
        ('kill -KILL $$', 137, 'ended by signal 9'),
        ('#!/no/such/interpreter\n', 127, ''),
    ],
)
def test_how_it_ended(bed, kind, script, code, text):
    """Exit codes and signals."""
    job_id = bed.run(script)
    bed.start(kind)
    found = bed.ended(job_id)
    assert (found.state, found.exit_code, found.text) == (AttemptState.FAILED, code, text)


def test_the_environment_arrives_as_it_was_given(bed, kind):
    """Quotes, newlines, blanks at the ends and letters of all languages; and what the market adds."""
    names = [*ODD, 'MARKET_QUEUE', 'MARKET_ARRAY_INDEX', 'MARKET_ARRAY_SIZE', 'MARKET_JOB_ID']
    script = ''.join(f'printf "%s|" "${name}"\n' for name in names)
    job_id = bed.run(
        script, environment=ODD, array_id='00000000-0000-4000-8000-00000000000a', array_index=7,
        array_size=9,
    )  # fmt: skip
    bed.start(kind)
    bed.ended(job_id)
    expected = '|'.join([*ODD.values(), 'short', '7', '9', job_id, ''])
    assert bed.output(job_id).decode() == expected


def test_a_job_runs_as_somebody_who_may_nothing(bed, kind):
    """As a user of its own, in a directory of its own that goes with it; it finds the credential nowhere."""
    script = f"""id -un; pwd; [ "$PWD" = "$HOME" ] && [ "$PWD" = "$TMPDIR" ] && touch "$TMPDIR/file"
    cat {bed.path}/credential 2>&- && echo it can read the credential
    ls "$HOME/../control" "{bed.path}/jobs/wire" 2>&- && echo it can look into the agent
    for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
        grep -ls {CREDENTIAL[:42]}[c] /proc/[0-9]*/cmdline /proc/[0-9]*/environ && echo it is in a list
        sleep 0.1
    done
    echo end"""
    job_id = bed.run(script)
    bed.start(kind)
    assert bed.ended(job_id).exit_code == 0
    lines = bed.output(job_id).decode().splitlines()
    assert lines[0] == 'nova-job' and lines[-1] == 'end'
    assert not [line for line in lines if line.startswith('it ')]
    bed.until(lambda: not Path(lines[1]).exists())


@pytest.mark.parametrize('script', [STUBBORN, 'sleep 100'], ids=['ignores SIGTERM', 'ends'])
def test_a_time_limit(bed, kind, script):
    """SIGTERM when it is over, SIGKILL after the notice; the job has failed."""
    job_id = bed.run(script, time_limit=2, notice=1)
    bed.start(kind)
    found = bed.ended(job_id)
    assert (found.state, found.text) == (AttemptState.FAILED, 'time limit: it ran for 2 s')
    assert 1 <= found.usage['wall_seconds'] <= 12
    assert bed.marks(job_id) == []


def test_preemption_with_a_checkpoint(bed, kind):
    """SIGTERM, then the checkpoint script in the same directory, within the notice."""
    job_id = bed.run(SAVES, checkpoint='cat state; echo "checkpoint of $MARKET_JOB_ID"', notice=20)
    bed.start(kind)
    bed.written(job_id, b'ready')
    bed.order(job_id, AttemptState.PREEMPTING)
    found = bed.ended(job_id)
    assert (found.state, found.exit_code) == (AttemptState.PREEMPTED, None)
    assert bed.output(job_id).decode() == f'ready\nsaved\ncheckpoint of {job_id}\n'
    assert found.usage['wall_seconds'] < 15  # it does not wait for the end of the notice


def test_a_notice_ends(bed, kind):
    """A job that ignores it and a checkpoint script that hangs are ended with it; the job is marked."""
    job_id = bed.run(STUBBORN, checkpoint='echo begun; sleep 100', notice=3)
    bed.start(kind)
    bed.written(job_id, b'ready')
    bed.order(job_id, AttemptState.PREEMPTING)
    found = bed.ended(job_id)
    assert found.state is AttemptState.PREEMPTED
    assert b'begun' in bed.output(job_id)
    bed.until(lambda: bed.marks(job_id))  # they are stored behind the result
    assert 'the checkpoint script ended with exit code' in bed.marks(job_id)[0]
    assert found.saved_at == 0


def test_a_job_is_cancelled(bed, kind):
    """By its owner: no checkpoint is written."""
    job_id = bed.run('echo ready; exec sleep 100', checkpoint='echo not run')
    bed.start(kind)
    bed.written(job_id, b'ready')
    bed.jobs.want(job_id, JobWish.CANCEL, 'u')
    assert bed.ended(job_id).state is AttemptState.CANCELLED
    assert bed.output(job_id) == b'ready\n'


def test_a_job_that_is_cancelled_before_it_starts(bed, kind):
    """It is not started."""
    bed.lose('heartbeat', 1)
    job_id = bed.run('echo started')
    bed.start(kind)
    bed.until(lambda: bed.attempt(job_id).state is AttemptState.RUNNING)
    bed.jobs.want(job_id, JobWish.CANCEL, 'u')
    assert bed.ended(job_id).state is AttemptState.CANCELLED
    assert bed.output(job_id) == b''


def test_the_api_is_away_while_a_job_runs(bed, kind):
    """The job goes on and ends, the result arrives later, and nothing runs twice."""
    starts = bed.shared('starts')
    job_id = bed.run(f'echo one >> {starts}; echo ready; sleep 2; echo two >> {starts}')
    bed.start(kind)
    bed.written(job_id, b'ready')
    bed.away()
    bed.until(lambda: starts.read_text() == 'one\ntwo\n')
    time.sleep(1)
    bed.serve()
    assert bed.ended(job_id).exit_code == 0
    assert starts.read_text() == 'one\ntwo\n'
    assert bed.ended(bed.run('exit 0')).exit_code == 0


@pytest.mark.parametrize('lost', ['next', 'heartbeat', 'result'])
def test_an_answer_that_is_lost(bed, kind, lost):
    """The API has acted on the message: it is sent again, the job runs once, its result counts once."""
    starts = bed.shared('starts')
    bed.lose(lost, 2)
    job_id = bed.run(f'echo one >> {starts}; sleep 0.7')
    bed.start(kind)
    bed.until(lambda: bed.requests.count(lost) > 2)
    assert bed.ended(job_id).exit_code == 0
    assert bed.ended(bed.run('exit 4')).exit_code == 4
    assert starts.read_text() == 'one\n'


def test_long_outputs_are_bounded(bed, kind):
    """The last 64 KiB are kept, and how much it was; nothing of it fills the disk of the worker."""
    script = 'head -c 3000000 /dev/zero | tr "\\0" x; echo; seq 1 2000; echo END'
    job_id = bed.run(script)
    bed.start(kind)
    bed.ended(job_id)
    found = bed.attempts.output(job_id, 1)
    assert len(found.tail) == MAX_TAIL
    assert found.tail.endswith(b'END\n') and found.tail.startswith(b'xxx')
    assert 3_000_000 < found.total < 3_020_000


@pytest.mark.parametrize(
    'script',
    [
        'sleep 1357.{n} &\nexit 0',
        'setsid sleep 1357.{n} &\nexit 0',
        "(trap '' HUP TERM; setsid sh -c 'sleep 1357.{n} & sleep 1357.{n}' &)\nexit 0",
    ],
    ids=['in the background', 'in a session', 'a daemon'],
)
def test_nothing_is_left_of_a_job(bed, kind, script):
    """What it began and did not wait for ends with it."""
    number = time.monotonic_ns() % 10**9
    job_id = bed.run(script.format(n=number))
    bed.start(kind)
    assert bed.ended(job_id).exit_code == 0
    bed.until(lambda: not list(processes_with(f'1357.{number}')))


def test_a_run_that_was_given_up_is_ended(bed, kind):
    """Its job has been started again elsewhere: no result is sent, and nothing of it is left."""
    number = time.monotonic_ns() % 10**9
    job_id = bed.run(f'echo ready; sleep 1357.{number}')
    bed.start(kind)
    bed.written(job_id, b'ready')
    bed.order(job_id, AttemptState.LOST)
    bed.until(lambda: not list(processes_with(f'1357.{number}')))
    assert bed.ended(bed.run('exit 0')).exit_code == 0
    assert bed.attempts.attempts([job_id])[job_id][0].state is AttemptState.LOST
    assert 'result' not in bed.requests[: bed.requests.index('next', 2)]


def test_an_agent_that_is_started_anew_is_not_let_in(bed, kind):
    """Its boot secret was exchanged: it ends what is left of the job, and the worker is lost (JW1)."""
    number = time.monotonic_ns() % 10**9
    job_id = bed.run(f'echo ready; sleep 1357.{number}')
    first = bed.start(kind)
    bed.written(job_id, b'ready')
    first.kill()
    first.wait()
    bed.processes.remove(first)
    assert bed.start(kind).wait(30) == 3
    assert '401' in bed.log()
    assert not list(processes_with(f'1357.{number}'))
    assert bed.attempt(job_id).state is AttemptState.RUNNING


def test_an_answer_with_the_session_that_got_lost(bed, kind):
    """The agent sends the same again: its boot secret is good for the session that it has drawn."""
    bed.lose('next', 2)
    job_id = bed.run('exit 0')
    bed.start(kind)
    assert bed.ended(job_id).exit_code == 0


def test_the_boot_secret_is_worth_nothing_to_a_job(bed, kind):
    """It can read its server's user data, and asks with what is there: for its own work, and as its agent."""
    url = f'http://127.0.0.1:{bed.port}/v1/worker/{WORKER}'
    script = f"""ask() {{
        curl -s -o answer -w '%{{http_code}}\n' -H 'Content-Type: application/json' -d "$2" {url}/$1
    }}
    ask next '{{"credential": "{CREDENTIAL}"}}'
    ask next '{{"credential": "{CREDENTIAL}", "session": "{'x' * 43}"}}'
    part='"credential": "{CREDENTIAL}", "job_id": "'$MARKET_JOB_ID'", "attempt": 1'
    ask heartbeat "{{$part}}"
    ask result "{{$part, "'"end": "exit", "exit_code": 0, "wall_seconds": 0}}'
    exit 7"""
    job_id = bed.run(script)
    bed.start(kind)
    assert bed.ended(job_id).exit_code == 7
    assert bed.output(job_id).decode().split() == ['401'] * 4


def test_an_agent_that_is_ended_ends_its_job(bed, kind):
    """SIGTERM, as when the guest is shut down: no result, so the job is run again."""
    number = time.monotonic_ns() % 10**9
    job_id = bed.run(f'echo ready; sleep 1357.{number}')
    begun = bed.start(kind)
    bed.written(job_id, b'ready')
    begun.send_signal(signal.SIGTERM)
    assert begun.wait(15) == 0
    assert not list(processes_with(f'1357.{number}'))
    assert bed.attempt(job_id).state is AttemptState.RUNNING


def test_two_agents_in_one_directory(bed, kind):
    """The second one refuses, so a job is not run twice."""
    bed.start(kind)
    bed.until(lambda: 'next' in bed.requests)
    second = bed.start(kind)
    assert second.wait(15) == 2
    bed.processes.remove(second)
    assert 'another agent runs there' in bed.log()


def test_a_credential_that_is_not_accepted(bed, kind):
    """The agent ends with status 3."""
    bed.change_worker(credential='0' * 64)
    assert bed.start(kind).wait(30) == 3
    assert '401' in bed.log()


def test_root_runs_no_jobs(bed, kind):
    """Unless it is asked for."""
    begun = bed.start(kind, user='root')
    assert begun.wait(15) == 2
    assert 'jobs would run as root' in bed.log()


class ObjectStore(BaseHTTPRequestHandler):
    """Keeps what is PUT."""

    def do_PUT(self):
        self.server.kept[self.path] = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(201 if self.path != '/refused' else 403)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        """Requests are not printed."""


@pytest.fixture
def object_store():
    with ThreadingHTTPServer(('127.0.0.1', 0), ObjectStore) as server:
        server.kept = {}
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize('path', ['/stored?signature="x\\y"', '/refused'])
def test_the_whole_output_is_stored(bed, kind, object_store, path):
    """At the URL that the job has given; a job is marked where that fails, or nothing here can send it."""
    url = f'http://127.0.0.1:{object_store.server_port}{path}'
    job_id = bed.run('head -c 200000 /dev/zero; echo END', output_url=url)
    bed.start(kind)
    assert bed.ended(job_id).exit_code == 0
    if kind == 'busybox' or path == '/refused':
        bed.until(lambda: bed.marks(job_id) == ['the whole output could not be stored'])
    else:
        (kept,) = object_store.kept.values()
        assert kept == b'\0' * 200000 + b'END\n'
        assert bed.marks(job_id) == []


def test_worker_py_is_one_file_for_old_pythons():
    """The syntax is that of Python 3.6, and it needs no file beside it."""
    text = (SOURCE / 'worker.py').read_text()
    tree = ast.parse(text, feature_version=(3, 6))
    names = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
    assert not {name for name in names if name in ('__future__', 'dataclasses', 'nova_market')}


@pytest.mark.skipif(os.getuid() != 0, reason='without root nobody else can be')
def test_the_tests_run_jobs_as_others():
    """So that the tests above show what they state."""
    assert os.getuid() == 0
