# SPDX-License-Identifier: Apache-2.0
"""The snapshot of a scheduler process: fresh or nothing, said once, started after the fork."""

import dataclasses
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.errors import BadSnapshot, CloudUnavailable
from nova_market.scheduler import snapshot_cache as feeding
from nova_market.scheduler.snapshot_cache import Feed
from tests.support.scheduler_builders import quiet

ROOT = Path(__file__).resolve().parents[3]
NAME = 'nova_market.scheduler.snapshot_cache'


class Source:
    """Answers in turn: a snapshot and its age, or an error."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.known = []
        self.asked = threading.Event()

    def read(self, known):
        self.known.append(known)
        answer = self.answers.pop(0)
        self.asked.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


def feed_of(source, clock=None, **more):
    more = {'background': False} | more
    return Feed(
        lambda: source,
        refresh=lambda: 1000.0,
        max_age=lambda: 100.0,
        monotonic=(clock or ManualClock()).monotonic,
        **more,
    )


def levels(caplog):
    return [record.levelname for record in caplog.records if record.name == NAME]


def test_nothing_before_the_first_answer(caplog):
    """Plug-ins abstain, and the log says so once."""
    caplog.set_level(logging.INFO, NAME)
    feed = feed_of(Source())
    assert [feed.current() for _ in range(3)] == [None] * 3
    assert levels(caplog) == ['INFO']


def test_a_snapshot_counts_until_it_is_too_old(caplog):
    """Its age is that of the round, not of the reading; growing old is logged once, so is coming back."""
    caplog.set_level(logging.INFO, NAME)
    clock, first, second = ManualClock(), quiet(), quiet(period=8)
    feed = feed_of(Source((first, 40.0), (second, 0.0)), clock)
    feed.look()
    assert feed.current() is first
    clock.advance(60.0)
    assert feed.current() is first
    clock.advance(0.1)
    assert [feed.current() for _ in range(3)] == [None] * 3
    feed.look()
    assert [feed.current() for _ in range(3)] == [second] * 3
    assert levels(caplog) == ['INFO', 'WARNING', 'INFO']


def test_a_round_that_stands_still_grows_old():
    """A service that goes on answering with the round of an engine that died is not believed for ever."""
    clock, only = ManualClock(), quiet()
    source = Source((only, 0.0), (None, 60.0), (None, 120.0))
    feed = feed_of(source, clock)
    for expected in (only, only, None):
        feed.look()
        assert feed.current() is expected
        clock.advance(60.0)
    assert source.known == [None, only, only]


@pytest.mark.parametrize('whole', [False, True], ids=['its age only', 'all of it'])
def test_a_round_grows_no_younger(whole):
    """A service whose clock was set back says 0 s each time: the round is as old as it was."""
    clock, only = ManualClock(), quiet()
    again = dataclasses.replace(only) if whole else None
    feed = feed_of(Source((only, 0.0), *[(again, 0.0)] * 3), clock)
    used = []
    for _ in range(4):
        feed.look()
        used.append(feed.current() is not None)
        clock.advance(40.0)
    assert used == [True, True, True, False]


def test_what_lies_is_asked_less_and_less_often():
    """Twice the pause after each answer that is no snapshot, up to max_age; not after an outage."""
    lies, down = BadSnapshot('lies'), CloudUnavailable('down')
    source = Source(lies, lies, lies, lies, (quiet(), 0.0), lies, down)
    feed = Feed(lambda: source, refresh=lambda: 20.0, max_age=lambda: 100.0, background=False)
    pauses = []
    while source.answers:
        feed.look()
        pauses.append(feed.pause())
    assert pauses == [40.0, 80.0, 100.0, 100.0, 20.0, 40.0, 20.0]


@pytest.mark.clock
def test_options_that_cannot_be_read_end_no_thread(monkeypatch, caplog):
    """It is logged once, and the market is looked at meanwhile."""
    monkeypatch.setattr(feeding, 'PAUSE', 0.001)
    errors, again = [ValueError('refresh is no number')] * 3, threading.Event()

    def refresh():
        if errors:
            raise errors.pop()
        again.set()
        return 1000.0

    source = Source(*[(quiet(), 0.0)] * 4)
    feed = Feed(lambda: source, refresh=refresh, max_age=lambda: 100.0)
    feed.current()
    assert again.wait(10)
    assert len(source.known) == 4
    assert levels(caplog).count('ERROR') == 1


@pytest.mark.parametrize(
    'error', [CloudUnavailable('down'), BadSnapshot('lies'), RuntimeError('a fault of ours')]
)
def test_trouble_changes_nothing_and_is_logged_once(error, caplog):
    """Down, lying or broken: the snapshot stays until it is too old, and plug-ins never see an error."""
    only = quiet()
    feed = feed_of(Source((only, 0.0), error, error, (None, 1.0)))
    for _ in range(4):
        feed.look()
        assert feed.current() is only
    logged = [one for one in levels(caplog) if one in {'WARNING', 'ERROR'}]
    assert logged == ['ERROR' if isinstance(error, RuntimeError) else 'WARNING']


@pytest.mark.clock
def test_the_thread_starts_when_somebody_asks_and_only_once():
    """Nothing runs before the first question; many threads that ask at once start one."""
    source = Source((quiet(), 0.0))
    feed = feed_of(source, background=True)
    before = threading.active_count()
    askers = [threading.Thread(target=feed.current) for _ in range(20)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert source.asked.wait(10)
    assert threading.active_count() == before + 1
    assert len(source.known) == 1


WORKERS = """
import os, threading
from tests.unit.scheduler.test_snapshot_cache import Source, feed_of
from tests.support.scheduler_builders import quiet

source = Source((quiet(), 0.0), (quiet(), 0.0))
feed = feed_of(source, background=True)
feed.current()
assert source.asked.wait(10)
source.asked.clear()
child = os.fork()
if not child:
    before = threading.active_count()
    feed.current()
    # the event is a copy: it is set by a thread of this process or not at all
    os._exit(0 if source.asked.wait(10) and threading.active_count() == before + 1 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.clock
def test_a_forked_worker_has_a_thread_of_its_own():
    """A feed that was used in the parent is refreshed in the child too, which inherits no thread."""
    subprocess.run([sys.executable, '-c', WORKERS], check=True, timeout=60, cwd=ROOT)
