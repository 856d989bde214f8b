# SPDX-License-Identifier: Apache-2.0
"""Messages of workers as the API takes them; above all those that it must not believe."""

import base64

import pytest

from nova_market.core.job.attempt import CLOCK_OFF
from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.queue import DesiredWorkerState
from nova_market.core.job.record import AttemptState, JobState
from nova_market.core.job.worker_message import MAX_TAIL
from tests.support.market.api import make_market
from tests.support.worker_bed import CREDENTIAL, PACE, SESSION, WORKER, WorkerBed

pytestmark = pytest.mark.functional

OTHER = '00000000-0000-4000-8000-00000000002b'
NOBODY = '00000000-0000-4000-8000-00000000003b'
FRESH = '00000000-0000-4000-8000-00000000004b'


@pytest.fixture
def bed(database, tmp_path):
    found = WorkerBed(make_market(database, worker_pace=PACE), tmp_path)
    found.let_in()
    yield found
    found.close()


def post(bed, what, worker_id=WORKER, **body):
    """A message of the worker as JSON."""
    whole = {'credential': SESSION, **body}
    return bed.market.call('POST', f'/v1/worker/{worker_id}/{what}', json=whole)


def text(bed, what, body, worker_id=WORKER):
    """The same as text."""
    path = f'/v1/worker/{worker_id}/{what}'
    return bed.market.client.post(path, data=body, content_type='text/plain')


def begun(bed, script='true', **more):
    """A job that runs, by the worker's own messages."""
    job_id = bed.run(script, **more)
    assert post(bed, 'next').json['job']['id'] == job_id
    assert post(bed, 'heartbeat', job_id=job_id, attempt=1).json['order'] == 'go_on'
    return job_id


def result(bed, job_id, worker_id=WORKER, **more):
    whole = {'attempt': 1, 'end': 'exit', 'exit_code': 0, 'wall_seconds': 1.0, **more}
    return post(bed, 'result', worker_id, job_id=job_id, **whole)


def refused(response, status, code):
    assert (response.status_code, response.json['errors'][0]['code']) == (status, code)
    return response.json['errors'][0]['detail']


def test_a_worker_gets_the_notice_that_is_in_force(database, tmp_path):
    """With its job, and with the order to end; a job that was stored before the limit has a longer one."""
    market = make_market(database, worker_pace=PACE, job_limits=JobLimits(max_notice=5))
    bed = WorkerBed(market, tmp_path)
    bed.let_in()
    job_id = bed.run('true', notice=86_400)
    assert post(bed, 'next').json['job']['notice'] == 5
    bed.change_worker(intention=DesiredWorkerState.GONE)
    answer = post(bed, 'heartbeat', job_id=job_id, attempt=1).json
    assert (answer['order'], answer['seconds']) == ('stop', 5)
    bed.close()


@pytest.mark.parametrize('what', ['next', 'heartbeat', 'result'])
@pytest.mark.parametrize(
    ('worker_id', 'credential'),
    [
        (WORKER, 'x' * 43),
        (WORKER, ''),
        (OTHER, SESSION),
        (NOBODY, SESSION),
        (WORKER, CREDENTIAL),
        (FRESH, CREDENTIAL),
    ],
    ids=[
        'wrong',
        'empty',
        "another worker's",
        'of no worker',
        'was exchanged',
        'not exchanged yet',
    ],
)
def test_a_credential_is_of_one_worker(bed, what, worker_id, credential):
    """That of another worker, also of another queue, opens nothing; all refusals have the same words."""
    bed.add_worker(OTHER)
    bed.let_in(OTHER)
    bed.change_worker(OTHER, credential='0' * 64)
    bed.add_worker(FRESH)
    job_id = bed.run('true')
    part = {'job_id': job_id, 'attempt': 1}
    ended = {**part, 'end': 'stopped', 'wall_seconds': 0}
    body = {'next': {}, 'heartbeat': part, 'result': ended}[what]
    response = post(bed, what, worker_id, **{**body, 'credential': credential})
    assert (
        refused(response, 401, 'market.worker.credential') == 'give the credential of this worker'
    )
    assert bed.attempt(job_id).state is AttemptState.STARTING


@pytest.mark.parametrize('what', ['next', 'heartbeat', 'result'])
def test_what_a_guest_can_read_opens_nothing(bed, what):
    """Its user data has a boot secret: once the agent has a session, that is worth nothing (JW1)."""
    bed.add_worker(FRESH)
    first = {'credential': CREDENTIAL, 'session': 'f' * 43}
    assert post(bed, 'next', FRESH, **first).status_code == 200
    assert post(bed, 'next', FRESH, **first).json['order'] == 'wait', (
        'the answer may have been lost'
    )
    job_id = bed.assign(bed.submit('echo of somebody else'), FRESH)
    part = {'job_id': job_id, 'attempt': 1}
    ended = {**part, 'end': 'exit', 'exit_code': 0, 'wall_seconds': 0}
    body = {'next': {'session': 'x' * 43}, 'heartbeat': part, 'result': ended}[what]
    for credential in (CREDENTIAL, 'x' * 43):
        response = post(bed, what, FRESH, credential=credential, **body)
        refused(response, 401, 'market.worker.credential')
    assert bed.attempt(job_id).state is AttemptState.STARTING
    answer = post(bed, 'next', FRESH, credential='f' * 43)
    assert answer.json['job']['id'] == job_id


def test_a_foreign_job(bed):
    """Of another worker, in another attempt, or none: neither runs nor ends by this worker."""
    bed.add_worker(OTHER)
    bed.let_in(OTHER)
    job_id = begun(bed)
    for given in ({'worker_id': OTHER}, {'attempt': 2}, {'job_id': NOBODY}):
        whole = {'job_id': job_id, **given}
        refused(result(bed, **whole), 409, 'market.worker.foreign')
        beat = {'attempt': 1, **{k: v for k, v in whole.items() if k != 'worker_id'}}
        response = post(bed, 'heartbeat', given.get('worker_id', WORKER), **beat)
        refused(response, 409, 'market.worker.foreign')
    assert bed.attempt(job_id).state is AttemptState.RUNNING


def test_a_result_counts_once(bed):
    """The same again is answered the same; another one is refused and changes nothing."""
    job_id = begun(bed)
    first = result(bed, job_id, exit_code=3, user_seconds=0.5)
    bed.market.wall.now += 100.0
    again = result(bed, job_id, exit_code=3, user_seconds=0.5)
    assert (first.status_code, first.json) == (again.status_code, again.json)
    refused(result(bed, job_id, exit_code=0, user_seconds=0.5), 409, 'market.worker.over')
    refused(result(bed, job_id, exit_code=3, user_seconds=0.6), 409, 'market.worker.over')
    stopped = {'attempt': 1, 'end': 'stopped', 'wall_seconds': 1.0}
    refused(post(bed, 'result', job_id=job_id, **stopped), 409, 'market.worker.over')
    refused(post(bed, 'heartbeat', job_id=job_id, attempt=1), 409, 'market.worker.over')
    assert (bed.attempt(job_id).state, bed.attempt(job_id).exit_code) == (AttemptState.FAILED, 3)


@pytest.mark.parametrize(
    'given',
    [
        {'wall_seconds': -1.0},
        {'user_seconds': -0.1},
        {'system_seconds': 1e300},
        {'max_rss_mib': -1.0},
        {'wall_seconds': 1e9},
        {'exit_code': 256},
        {'end': 'finished'},
        {'end': 'signal'},
        {'signal': 9},
        {'attempt': 0},
        {'output': 'no base64!'},
        {'output': base64.b64encode(b'x' * (MAX_TAIL + 1)).decode()},
        {'output': base64.b64encode(b'x' * 100).decode(), 'output_bytes': 5},
        {'output_bytes': -1},
        {'text': 'x' * 201},
        {'price': 0},
    ],
    ids=str,
)
def test_values_that_no_worker_measures(bed, given):
    """Are refused by name, and nothing is stored."""
    job_id = begun(bed)
    response = result(bed, job_id, **given)
    assert response.status_code == 400
    assert response.json['errors'][0]['code'].startswith('market.')
    assert bed.attempt(job_id).state is AttemptState.RUNNING


def test_a_body_that_is_too_long(bed):
    """Is refused by its length."""
    response = text(bed, 'result', b'x' * 200_000)
    refused(response, 413, 'market.request.too_large')


def test_usage_that_cannot_be(bed):
    """More than the cores of the worker have in the time: cut, and the job is marked."""
    job_id = begun(bed)
    bed.market.wall.now += 10.0
    assert result(bed, job_id, wall_seconds=9e4, user_seconds=9e4).status_code == 200
    found = bed.attempt(job_id)
    assert found.state is AttemptState.FINISHED
    assert found.usage['wall_seconds'] == 10.0
    assert found.usage['cpu_seconds'] == pytest.approx(26.0)
    assert len(bed.marks(job_id)) == 2


@pytest.mark.parametrize('hours', [-8, 8])
def test_a_clock_that_is_off_by_hours(bed, hours):
    """Changes no time that counts; the job is marked."""
    job_id = bed.run('true')
    now = bed.market.wall()
    post(bed, 'next', clock=now + hours * 3600)
    post(bed, 'heartbeat', job_id=job_id, attempt=1)
    bed.market.wall.now += 5.0
    result(bed, job_id)
    found = bed.attempt(job_id)
    assert (found.started_at, found.ended_at) == (now, now + 5.0)
    assert bed.marks(job_id) == [f'the clock of the worker is off by {hours * 3600} s']
    assert CLOCK_OFF < 3600


def test_nothing_is_given_twice(bed):
    """`next` gives the same job until it has begun; then the agent that asks has lost it."""
    job_id = bed.run('true')
    assert post(bed, 'next').json == post(bed, 'next').json
    post(bed, 'heartbeat', job_id=job_id, attempt=1)
    assert post(bed, 'next').json['order'] == 'wait'
    assert bed.attempt(job_id).state is AttemptState.LOST


def test_a_worker_that_was_given_up_is_there_again(bed):
    """Before its job is started again: the job runs in the same attempt, and its result counts."""
    job_id = begun(bed)
    bed.give_up(job_id)
    assert post(bed, 'heartbeat', job_id=job_id, attempt=1, ran=5.0).json['order'] == 'go_on'
    assert bed.jobs.job(job_id).state is JobState.RUNNING
    bed.give_up(job_id)
    assert result(bed, job_id).status_code == 200
    assert (bed.jobs.job(job_id).state, bed.attempt(job_id).state) == (
        JobState.RUNNING,
        AttemptState.FINISHED,
    )


def test_a_worker_that_was_given_up_is_there_too_late(bed):
    """The job has been started again: only the new attempt counts."""
    bed.add_worker(OTHER)
    bed.let_in(OTHER)
    job_id = begun(bed)
    bed.give_up(job_id)
    bed.assign(bed.jobs.job(job_id), OTHER)
    refused(result(bed, job_id), 409, 'market.worker.over')
    refused(post(bed, 'heartbeat', job_id=job_id, attempt=1), 409, 'market.worker.over')
    assert bed.attempt(job_id).state is AttemptState.STARTING
    assert post(bed, 'next', OTHER).json['job']['attempt'] == 2


def test_text_is_the_same_document(bed):
    """For a shell: lines, lengths, then the texts as they are; the environment is quoted."""
    job_id = bed.run('#!/bin/sh\necho "ä"\n', environment={'A': "it's\n$HOME"}, checkpoint='save')
    found = text(bed, 'next', f'credential={SESSION}\nclock=1.5\n')
    assert found.mimetype == 'text/plain'
    head, _, rest = found.data.partition(b'\n\n')
    lines = dict(line.split('=', 1) for line in head.decode().splitlines())
    assert (lines['order'], lines['id'], lines['attempt']) == ('run', job_id, '1')
    assert (lines['time_limit'], lines['script'], lines['checkpoint']) == ('60', '20', '4')
    assert rest.startswith('#!/bin/sh\necho "ä"\nsave'.encode())
    assert b"export A='it'\"'\"'s\n$HOME'\n" in rest
    assert len(rest) == sum(int(lines[name]) for name in ('script', 'checkpoint', 'environment'))
    body = f'credential={SESSION}\njob_id={job_id}\nattempt=1\nran=1.25\noutput_bytes=4\n\n'
    assert (
        text(bed, 'heartbeat', body.encode() + b'\0\xff\n\n').data
        == b'order=go_on\nseconds=0.3\n\n'
    )
    assert bed.output(job_id) == b'\0\xff\n\n'


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b'credential',
        b'credential=a\ncredential=b\n',
        b'credential=\xff\n',
        b'credential=a\0\n',
        b'output=eHg=\ncredential=a\n',
        b'a=1\n' * 100,
        b'attempt=one\n',
    ],
)
def test_text_that_is_no_message(bed, body):
    """400, in the form of all errors."""
    response = text(bed, 'heartbeat', body)
    assert response.status_code == 400
    assert response.json['errors'][0]['code'] in {
        'market.request.malformed',
        'market.request.invalid',
    }


def test_other_resources_take_json_only(bed):
    """Text is a form of the messages of workers."""
    response = bed.market.call(
        'POST', '/v1/transfers', 'member@' + 'a' * 32, data='x=1', content_type='text/plain'
    )
    refused(response, 415, 'market.request.media_type')
