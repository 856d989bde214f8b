# SPDX-License-Identifier: Apache-2.0
"""The shell of our services: ticks, wake-ups, and a stop that does not wait for ever."""

import logging
import threading
import time
from collections.abc import Iterator

import pytest

from nova_market.services import daemon
from nova_market.services.daemon import Daemon

pytestmark = pytest.mark.clock


class Work:
    """Counts its ticks; `blocked` keeps the next one from ending."""

    def __init__(self) -> None:
        self.ticked = threading.Semaphore(0)
        self.ticks: list[float] = []
        self.open = threading.Event()
        self.open.set()
        self.stopped: list[bool] = []
        self.asked: list[float] = []
        self.cleaning = threading.Event()
        self.cleaning.set()

    def tick(self) -> None:
        self.ticks.append(time.monotonic())
        self.ticked.release()
        self.open.wait(20)

    def late(self) -> str:
        self.asked.append(time.monotonic())
        return 'counting'

    def stop(self, *, ended: bool) -> None:
        self.stopped.append(ended)
        self.cleaning.wait(20)


@pytest.fixture(name='work')
def _work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    monkeypatch.setattr(daemon, 'EARLY', 0.05)
    monkeypatch.setattr(daemon, 'TICK_TIMEOUT', 0.2)
    monkeypatch.setattr(daemon, 'CLEANUP_TIMEOUT', 0.2)
    monkeypatch.setattr(daemon, 'LOOK', 0.05)
    made = Work()
    yield made
    made.open.set()
    made.cleaning.set()


def started(work: Work, interval: float, patience: float = 20.0) -> Daemon:
    """In a thread that is not the main one: the signals of the tests' process stay as they are."""
    made = Daemon(work, interval, patience=patience)
    thread = threading.Thread(target=made.start)
    thread.start()
    thread.join()
    return made


def test_it_ticks_at_each_interval(work):
    """And ends its work once, after the last tick."""
    service = started(work, 0.1)
    for _ in range(4):
        assert work.ticked.acquire(timeout=10)
    service.stop()
    service.wait()
    assert work.ticks[3] - work.ticks[0] >= 0.3
    count = len(work.ticks)
    time.sleep(0.2)
    assert (len(work.ticks), work.stopped) == (count, [True])


def test_a_wake_up_brings_the_next_tick_and_many_bring_one(work):
    """200 guests that appear together cost one round."""
    service = started(work, 60.0)
    assert work.ticked.acquire(timeout=10)
    for _ in range(200):
        service.wake('a guest has started')
    assert work.ticked.acquire(timeout=10)
    assert not work.ticked.acquire(timeout=0.3)
    service.stop()
    assert work.stopped == [True]


def test_work_that_does_not_end_is_logged(work, caplog):
    """The stop waits for its time limit only, and the work knows that a tick goes on."""
    work.open.clear()
    service = started(work, 60.0)
    assert work.ticked.acquire(timeout=10)
    service.stop()
    assert work.stopped == [False]
    assert 'has not ended within' in caplog.text


def test_cleaning_up_that_does_not_end_is_left(work, caplog):
    """A stop has an end, whatever the work waits for."""
    service = started(work, 60.0)
    assert work.ticked.acquire(timeout=10)
    work.cleaning.clear()
    began = time.monotonic()
    service.stop()
    assert time.monotonic() - began < 5.0
    assert work.stopped == [True]
    assert 'cleaning up has not ended within' in caplog.text


def test_a_tick_that_hangs_is_logged_once_and_shown_at_each_look(work, caplog):
    """With what it does; and so is its end."""
    caplog.set_level(logging.INFO)
    work.open.clear()
    service = started(work, 0.05, patience=0.1)
    watch = threading.Thread(target=service.wait)
    watch.start()
    deadline = time.monotonic() + 10
    while len(work.asked) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(work.asked) >= 3
    assert caplog.text.count('the work under way takes too long') == 1
    assert 'counting, for 0 s' in caplog.text
    work.open.set()
    while 'has ended' not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.02)
    assert caplog.text.count('the work that took too long has ended') == 1
    service.stop()
    watch.join(10)
    assert not watch.is_alive()


def test_a_tick_in_time_is_not_reported(work):
    """Though it lasts for several looks."""
    work.open.clear()
    service = started(work, 0.05, patience=10.0)
    threading.Timer(0.4, work.open.set).start()
    watch = threading.Thread(target=service.wait)
    watch.start()
    for _ in range(4):
        assert work.ticked.acquire(timeout=10)
    service.stop()
    watch.join(10)
    assert work.asked == []
