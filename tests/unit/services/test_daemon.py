# SPDX-License-Identifier: Apache-2.0
"""The shell of our services: ticks, wake-ups, and a stop that does not wait for ever."""

import threading
import time
from collections.abc import Iterator

import pytest

from nova_market.services import daemon
from nova_market.services.daemon import Daemon


class Work:
    """Counts its ticks; `blocked` keeps the next one from ending."""

    def __init__(self) -> None:
        self.ticked = threading.Semaphore(0)
        self.ticks: list[float] = []
        self.open = threading.Event()
        self.open.set()
        self.stopped: list[bool] = []

    def tick(self) -> None:
        self.ticks.append(time.monotonic())
        self.ticked.release()
        self.open.wait(20)

    def stop(self, *, ended: bool) -> None:
        self.stopped.append(ended)


@pytest.fixture(name='work')
def _work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    monkeypatch.setattr(daemon, 'EARLY', 0.05)
    monkeypatch.setattr(daemon, 'STOP_TIMEOUT', 0.2)
    made = Work()
    yield made
    made.open.set()


def started(work: Work, interval: float) -> Daemon:
    """In a thread that is not the main one: the signals of the tests' process stay as they are."""
    made = Daemon(work, interval)
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
