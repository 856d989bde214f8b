# SPDX-License-Identifier: Apache-2.0
"""An outage is in the log twice: when it begins and when it ends."""

import logging
import threading

import pytest

from nova_market.outage_log import KINDS, OutageLog

LOG = logging.getLogger('nova_market.test_outage')


@pytest.fixture(name='outage')
def _outage(caplog: pytest.LogCaptureFixture) -> OutageLog:
    caplog.set_level(logging.DEBUG, LOG.name)
    return OutageLog(LOG, lost='no bread today, there is cake', back='there is bread again')


def lines(caplog: pytest.LogCaptureFixture, least: int = logging.INFO) -> list[tuple[str, str]]:
    return [(r.levelname, r.getMessage()) for r in caplog.records if r.levelno >= least]


def test_an_outage_begins_with_a_warning_and_ends_with_a_line(outage, caplog):
    """What failed in between is DEBUG."""
    assert outage.failed(OSError('no flour'))
    assert not outage.failed('no oven')
    assert outage.works('12 loaves')
    assert lines(caplog) == [
        ('WARNING', 'no bread today, there is cake: no flour'),
        ('INFO', 'there is bread again: 12 loaves'),
    ]
    assert ('DEBUG', 'no bread today, there is cake, as before: no oven') in lines(caplog, 0)


def test_what_never_failed_is_not_logged(outage, caplog):
    """Each attempt that succeeds costs no line."""
    assert not outage.works()
    assert outage.failed('no flour')
    assert outage.works()
    assert not outage.works()
    assert lines(caplog)[1:] == [('INFO', 'there is bread again')]


def test_the_next_outage_is_logged_again(outage, caplog):
    """Whatever the last one was."""
    for _ in range(3):
        outage.failed('no flour')
        outage.works()
    assert len(lines(caplog, logging.WARNING)) == 3


def test_the_reason_is_that_of_the_last_failure(outage):
    """For whoever shows what is wrong now."""
    assert (outage.active, outage.reason) == (False, '')
    outage.failed('no flour')
    outage.failed('no oven')
    assert (outage.active, outage.reason) == (True, 'no oven')
    outage.works()
    assert (outage.active, outage.reason) == (False, '')


def test_kinds_are_news_once_each_and_only_so_many(outage, caplog):
    """A kind that comes back in the same outage is no news, and neither is the ninth."""
    assert outage.failed('no flour', kind='flour')
    assert outage.failed('no oven', kind='oven')
    assert not outage.failed('no flour', kind='flour')
    assert sum(outage.failed('no grain', kind=str(n)) for n in range(100)) == KINDS - 2
    assert len(lines(caplog, logging.WARNING)) == KINDS
    outage.works()
    assert outage.failed('no flour', kind='flour')


def test_level_and_traceback_are_of_the_news(outage, caplog):
    """A defect comes with its traceback, once."""
    for _ in range(2):
        try:
            raise ValueError('burnt')
        except ValueError as error:
            outage.failed(error, level=logging.ERROR, exc_info=True)
    (first,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert first.exc_info is not None
    assert first.funcName == 'test_level_and_traceback_are_of_the_news'


def test_many_threads_get_one_warning(outage, caplog):
    """All of them notice an outage at the same time."""
    ready = threading.Barrier(8)
    news = []

    def fail() -> None:
        ready.wait()
        for _ in range(200):
            news.append(outage.failed('no flour'))

    threads = [threading.Thread(target=fail) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (len(news), sum(news)) == (1600, 1)
    assert len(lines(caplog, logging.WARNING)) == 1


def test_what_was_unproven_is_logged_when_it_works_first(caplog):
    """For what an operator waits for at the start."""
    caplog.set_level(logging.INFO, LOG.name)
    outage = OutageLog(LOG, lost='no bread', back='there is bread', unproven=True)
    assert [outage.works() for _ in range(3)] == [True, False, False]
    assert lines(caplog) == [('INFO', 'there is bread')]
