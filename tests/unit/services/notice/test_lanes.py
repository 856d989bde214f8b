# SPDX-License-Identifier: Apache-2.0
"""Hosts that answer slowly hold up each other, and nobody else."""

import threading

import pytest

from nova_market.services.notice import lanes as lanes_module
from nova_market.services.notice.lanes import Lanes

WORKERS = 6
EACH = WORKERS // 3
"""Of them, for mail, for quick lanes, and for all others."""


@pytest.fixture
def lanes():
    made = Lanes(WORKERS, apart=['mail'])
    yield made
    made.close()


def sent():
    """Work that sends something, in no time."""
    return True


class Hanging:
    """Work that goes on until `end` is set; `done` has whether that came to pass, for each piece."""

    def __init__(self):
        self.begun, self.end, self.done = threading.Event(), threading.Event(), []

    def __call__(self):
        self.begun.set()
        self.done.append(self.end.wait(30))


@pytest.fixture
def hang():
    made = Hanging()
    yield made
    made.end.set()


def test_slow_hosts_do_not_delay_quick_ones(lanes, hang):
    """However many hang: all others are served before any of them has answered."""
    served = []

    def serve(name):
        served.append(name)
        if len(served) == 20:
            hang.end.set()
        return True

    names = [f'quick{n}' for n in range(10)]
    quick = [(name, lambda name=name: serve(name)) for name in names]
    assert lanes.run(quick, 30.0) == []
    slow = [(f'slow{n}', hang) for n in range(50)]
    assert lanes.run([*slow, *quick], 60.0) == []
    assert hang.done == [True] * 50


def test_a_run_ends_when_its_time_is_over(lanes, hang):
    """What was not begun is handed back; those that hang have a third of the workers."""
    slow = [(f'slow{n}', hang) for n in range(50)]
    left = lanes.run(slow, 0.05)
    assert 50 - EACH <= len(left) <= 50


def test_a_host_that_is_busy_still_is_left_alone(lanes, hang):
    """Also in later runs, while others are served."""
    done = []
    while not hang.begun.is_set():
        lanes.run([('a', hang)], 0.01)
    again = [('a', lambda: done.append('a')), ('b', lambda: done.append('b'))]
    while 'b' not in done:
        assert again[0][1] in lanes.run(again, 0.01)
    assert 'a' not in done


def test_a_lane_is_served_in_order(lanes):
    """One after the other, as long as it is not known to be quick."""
    done = []
    lanes.run([('a', lambda n=n: done.append(n)) for n in range(20)], 30.0)
    assert done == list(range(20))


def test_a_quick_lane_has_several_workers(lanes):
    """A third of all."""
    together = threading.Barrier(EACH)
    lanes.run([('a', sent)], 30.0)
    assert lanes.run([('a', lambda: together.wait(10))] * 2, 30.0) == []
    assert not together.broken


def test_a_lane_apart_has_its_workers_however_slow_it_is(lanes, hang, monkeypatch):
    """Mail goes on while hosts hang, those that were quick before as well."""
    monkeypatch.setattr(lanes_module, 'QUICK', 0.0)
    lanes.run([('mail', sent)] * 2, 30.0)
    monkeypatch.undo()
    names = [f'quick{n}' for n in range(10)]
    lanes.run([(name, sent) for name in names], 30.0)
    together = threading.Barrier(EACH, hang.end.set)
    hosts = [(name, hang) for name in [*names, *(f'slow{n}' for n in range(10))]]
    assert lanes.run([*hosts, *[('mail', lambda: together.wait(10))] * EACH], 60.0) == []
    assert not together.broken and hang.done == [True] * 20


def test_a_lane_that_was_slow_once_is_no_quick_one(lanes, monkeypatch):
    """Until it is quick again."""
    now = [0.0]
    monkeypatch.setattr(lanes_module, 'monotonic', lambda: now[0])

    def slowly():
        now[0] += lanes_module.QUICK + 0.1
        return True

    lanes.run([('a', slowly)], 30.0)
    assert 'a' not in lanes.quick
    lanes.run([('a', sent)], 30.0)
    assert 'a' in lanes.quick


def test_work_that_sends_nothing_makes_no_lane_quick(lanes):
    """What waits for the next try of an earlier message is done in no time, however slow its host is."""
    lanes.run([('a', lambda: False)], 30.0)
    assert lanes.quick == frozenset()
    lanes.run([('a', sent)], 30.0)
    lanes.run([('a', lambda: False)], 30.0)
    assert lanes.quick == {'a'}


def test_those_that_were_quick_last_are_remembered(lanes, monkeypatch):
    """Else whoever has many names of hosts keeps all others from being known as quick."""
    monkeypatch.setattr(lanes_module, 'KNOWN', 2)
    for name in 'abac':
        lanes.run([(name, sent)], 30.0)
    assert lanes.quick == {'a', 'c'}


def test_an_error_is_raised_by_the_run_that_finds_it(lanes):
    """Also of what went on from an earlier run."""

    def fails():
        raise OSError('away')

    with pytest.raises(OSError, match='away'):
        lanes.run([('a', fails), ('b', sent)], 30.0)
    begun, begin = threading.Event(), threading.Event()

    def fails_later():
        begun.set()
        begin.wait(10)
        raise OSError('later')

    while not begun.is_set():
        lanes.run([('c', fails_later)], 0.01)
    begin.set()
    with pytest.raises(OSError, match='later'):
        lanes.run([], 30.0)
