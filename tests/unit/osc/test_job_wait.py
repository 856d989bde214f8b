# SPDX-License-Identifier: Apache-2.0
"""Waiting for the end of jobs, with a live line; following an output."""

import io
from types import SimpleNamespace

import pytest
from keystoneauth1.exceptions import ConnectFailure, ServiceUnavailable, Unauthorized
from openstack.exceptions import HttpException, NotFoundException, SDKException

from nova_market.osc.v1.job_output import follow, last
from nova_market.osc.v1.job_wait import AWAY, LiveLine, exit_status, line_of, wait_for
from nova_market.sdk.v1.job import Job

SHARE = {'code': 'share', 'text': 'share: would be 0.41 of 0.33; a long job', 'numbers': {}}


def job(state: str, **more) -> Job:
    return Job.existing(**{'name': 'frames', 'state': state, **more})


def element(index: int, state: str, **more) -> Job:
    return job(state, array_id='a', array_index=index, **more)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def replies(*them):
    """read() that answers with these in turn; an error is raised."""
    rest = iter(them)

    def read():
        one = next(rest)
        if isinstance(one, Exception):
            raise one
        return one

    return read


def test_a_line_has_state_reason_and_expected_start():
    """What one wants to know of a job that waits."""
    waiting = job('waiting', reason=SHARE, expected_start='2026-11-22T14:20:00Z')
    assert line_of([waiting]) == (
        'frames: waiting; share: would be 0.41 of 0.33; a long job; '
        'expected to start at 2026-11-22T14:20:00Z'
    )
    running = job('running', attempt=2, started_at='2026-11-22T14:19:00Z')
    assert line_of([running]) == 'frames: running since 2026-11-22T14:19:00Z (attempt 2)'
    ended = job('failed', reason={'code': 'exit', 'text': 'exit code 3', 'numbers': {}})
    assert line_of([ended]) == 'frames: failed; exit code 3'
    assert line_of([element(3, 'starting')]) == 'frames/3: starting'


def test_a_line_of_an_array_counts_its_jobs():
    """In the order in which a job passes through its states; the first start that is expected."""
    jobs = [
        element(0, 'finished'),
        element(1, 'running'),
        element(2, 'waiting', reason=SHARE, expected_start='2026-11-22T15:00:00Z'),
        element(3, 'waiting', reason=SHARE, expected_start='2026-11-22T14:00:00Z'),
    ]
    assert line_of(jobs) == (
        'frames: 2 waiting, 1 running, 1 finished; share: would be 0.41 of 0.33; a long job; '
        'expected to start at 2026-11-22T14:00:00Z'
    )


def test_a_terminal_has_one_line_that_is_written_over(monkeypatch):
    """Cut where the terminal ends, and left standing at the end."""
    monkeypatch.setenv('COLUMNS', '12')
    stream = Terminal()
    line = LiveLine(stream)
    for text in ('waiting for room', 'waiting for room', 'running'):
        line.show(text)
    line.end()
    assert stream.getvalue() == '\rwaiting for\x1b[K\rrunning\x1b[K\n'


def test_elsewhere_a_line_is_written_when_something_has_changed():
    """A log has no cursor; what a terminal would take as a command is taken out."""
    stream = io.StringIO()
    line = LiveLine(stream)
    for text in ('waiting', 'waiting', 'bad\x1b[31m\nline'):
        line.show(text)
    line.end()
    assert stream.getvalue() == 'waiting\nbad [31m line\n'


def test_it_waits_for_all_and_through_outages():
    """The jobs run on while the service is away."""
    shown, pauses = [], []
    away = (
        HttpException('unavailable', http_status=503), SDKException('no route'),
        ConnectFailure('connection refused'), ServiceUnavailable('Keystone starts'),
    )  # fmt: skip
    jobs = wait_for(
        replies([job('waiting')], *away, [job('running')], [job('finished')]),
        shown.append,
        7.0,
        pauses.append,
    )
    assert [one.state for one in jobs] == ['finished']
    assert shown == ['frames: waiting', *[AWAY] * 4, 'frames: running', 'frames: finished']
    assert pauses == [7.0] * 6
    both = (
        [element(0, 'finished'), element(1, 'running')],
        [element(0, 'finished'), element(1, 'failed')],
    )
    assert len(wait_for(replies(*both), shown.append, 7.0, pauses.append)) == 2
    assert len(pauses) == 7


@pytest.mark.parametrize(
    'refusal', [NotFoundException('gone', http_status=404), Unauthorized('no such user')]
)
def test_a_job_that_is_gone_is_not_waited_for(refusal):
    """A refusal ends the waiting, and the following of an output."""
    with pytest.raises(type(refusal)):
        wait_for(replies(refusal), print, 1.0, pytest.fail)
    with pytest.raises(type(refusal)):
        follow(replies(refusal), print, 1.0, pytest.fail)


@pytest.mark.parametrize(
    ('jobs', 'status'),
    [
        ([job('finished', exit_code=0)], 0),
        ([job('failed', exit_code=3)], 3),
        ([job('failed', exit_code=137)], 137),
        ([job('cancelled')], 1),
        ([job('failed')], 1),
        ([job('failed', exit_code=-9)], 1),
        ([job('failed', exit_code=256)], 1),
        ([job('cancelled', exit_code=0)], 1),
        ([job('finished', exit_code=0), job('failed', exit_code=2), job('cancelled')], 2),
        ([], 0),
    ],
)
def test_the_exit_status_is_that_of_the_jobs(jobs, status):
    """The largest one; never 0 when a job has not finished, and always one that a shell can have."""
    assert exit_status(jobs) == status


def output(stream: bytes, attempt: int = 1, keep: int = 10):
    """What the service shows of an output."""
    kept = stream[-keep:]
    return SimpleNamespace(
        attempt=attempt,
        bytes=len(kept),
        total_bytes=len(stream),
        text=kept.decode(errors='replace'),
    )


def followed(*them):
    written: list[str] = []
    follow(replies(*them), written.append, 1.0, lambda _: None)
    return written


def test_following_writes_what_is_added():
    """Once, and what was written before the end too."""
    assert followed(
        (False, output(b'')),
        (False, output(b'one\n')),
        (False, output(b'one\n')),
        SDKException('away'),
        (False, output(b'one\ntwo\n')),
        (True, output(b'one\ntwo\nthree\n')),
    ) == ['one\n', 'two\n', 'three\n']


def test_following_tells_what_it_has_missed(capsys):
    """More was written between two looks than is kept."""
    found = followed((False, output(b'0123')), (True, output(b'0123456789abcdefghij')))
    assert found == ['0123', 'abcdefghij']
    assert capsys.readouterr().err == '6 bytes are not kept any more\n'


def test_following_begins_again_with_a_new_attempt(capsys):
    """The job was requeued: what it writes is another output."""
    assert followed((False, output(b'one\n')), (True, output(b'one\n', attempt=2))) == [
        'one\n', 'one\n',
    ]  # fmt: skip
    assert capsys.readouterr().err == 'attempt 2\n'


@pytest.mark.parametrize(
    ('stream', 'count', 'expected'),
    [
        ('aé€x'.encode(), 1, 'x'),
        ('aé€x'.encode(), 4, '€x'),
        ('aé€x'.encode(), 6, 'é€x'),
        (b'ab\xff\xfecd', 4, '\ufffd\ufffdcd'),
        (b'abcd', 9, 'abcd'),
    ],
)
def test_the_last_bytes_of_an_output(stream, count, expected):
    """In characters; a byte that is none counts too."""
    assert last(stream.decode(errors='replace'), count) == expected
