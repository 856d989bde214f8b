# SPDX-License-Identifier: Apache-2.0
"""A round that runs is seen from outside, with its phase, and `status` shows one that takes too long."""

import json

import pytest
from prometheus_client import generate_latest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.errors import HostUnavailable
from nova_market.services.fairness.metrics import FairnessCollector
from nova_market.services.fairness.progress import PHASES, Progress, RoundUnderWay
from nova_market.services.fairness.rounds import FairnessRounds
from nova_market.services.fairness.status import (
    is_late,
    patience,
    render,
    status_document,
    still_under_way,
    under_way_document,
)
from tests.support.host_builders import guest
from tests.unit.services.fairness.test_agent import BUSY, World


class Seen:
    """What a round looks like while it samples, and what is shown of it."""

    def __init__(self, world):
        self.host, self.agent = world.hosts['a'], world.agents['a']
        self.clock = world.clock
        self.shown, self.said, self.now = [], [], []
        self.rounds = FairnessRounds(self.agent, lambda _: None, lambda: None, self.shown.append)
        sample, self.host.sample = self.host.sample, self.slow
        self.sample = sample
        self.fails = False

    def slow(self):
        self.clock.advance(42.0)
        self.said.append(self.rounds.late())
        self.now.append(self.agent.progress.under_way())
        if self.fails:
            raise HostUnavailable('the host in memory has hung for 42 s')
        return self.sample()


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    made.hosts['a'].add(guest('d1', 'd'), BUSY)
    return made


def test_phases_and_their_durations():
    clock = ManualClock()
    progress = Progress(clock)
    assert progress.under_way() is None
    for seconds, phase in enumerate(PHASES, 1):
        progress.enter(phase)
        clock.advance(float(seconds))
    found = progress.under_way()
    assert (found.phase, found.seconds) == ('apply', pytest.approx(15.0))
    assert found.began == pytest.approx(clock.wall() - 15.0)
    expected = {phase: pytest.approx(float(n)) for n, phase in enumerate(PHASES, 1)}
    assert progress.leave() == expected
    assert progress.leave() == {}


def test_a_round_under_way_is_shown(world):
    """By its phase; after it, nothing is under way."""
    seen = Seen(world)
    seen.rounds.tick()
    assert seen.said == ['a round, in the phase sample']
    assert [one and one.phase for one in seen.shown] == ['sample', None]
    assert seen.now[0].seconds == pytest.approx(42.0)
    assert world.agents['a'].progress.under_way() is None
    assert 'what the last round did' in seen.rounds.late()


def test_a_round_that_failed_late_is_shown_no_more(world):
    """The rounds after it may fail at once: none of them takes too long."""
    seen = Seen(world)
    seen.fails = True
    for _ in range(2):
        seen.rounds.tick()
    assert [one is None for one in seen.shown] == [False, True, False, True]
    seen.host.sample = seen.sample
    seen.rounds.tick()
    assert len(seen.shown) == 4


def test_a_round_that_failed_is_not_under_way(world):
    world.hosts['a'].available = False
    with pytest.raises(HostUnavailable):
        world.agents['a'].round()
    assert world.agents['a'].progress.under_way() is None


def test_three_intervals_without_a_round_are_late(world):
    """And five seconds are not, however short the interval is."""
    record = world.rounds(1)[0]
    document = status_document(record, 'a', 10.0, 42)
    assert [is_late(document, record.wall + age) for age in (29.0, 31.0)] == [False, True]
    assert (patience(10.0), patience(0.5)) == (30.0, 5.0)


def test_status_names_the_phase_of_a_round_that_hangs(world):
    record = world.rounds(1)[0]
    document = json.loads(json.dumps(status_document(record, 'a', 10.0, 42)))
    now = record.wall + 48.0
    under_way = under_way_document(RoundUnderWay(began=now - 40.0, seconds=40.0, phase='apply'))
    found = still_under_way(document, under_way)
    text = render(document, now, alive=True, under_way=found)
    assert 'WARNING: the last round was 48 s ago' in text
    assert 'a round runs for 40 s already, in the phase apply' in text
    later = document | {'time': now - 1.0}
    assert still_under_way(later, under_way) is None
    assert still_under_way(document, {}) is None


def test_the_round_that_runs_is_a_metric():
    lasted = RoundUnderWay(began=0.0, seconds=7.5, phase='sample')
    for under_way, value in ((lambda: lasted, 7.5), (lambda: None, 0.0)):
        text = generate_latest(FairnessCollector('a', under_way=under_way).registry()).decode()
        assert f'nova_fairness_round_under_way_seconds{{host="a"}} {value}' in text
