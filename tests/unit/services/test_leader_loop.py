# SPDX-License-Identifier: Apache-2.0
"""A leader loop: turns while it leads, a pause after one that fails, an outage logged once."""

import logging

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.leadership import SoleLeader
from nova_market.errors import CloudUnavailable, NovaMarketError
from nova_market.outage_log import OutageLog
from nova_market.services.leader_loop import LeaderLoop

LOG = logging.getLogger('nova_market.test_leader_loop')


class Loop(LeaderLoop):
    """Notes when its turns are; `error` is raised by each of them."""

    away = (CloudUnavailable,)
    noun = 'clerk'

    def __init__(self, leader: SoleLeader, clock: ManualClock, interval: float = 10.0) -> None:
        super().__init__(
            name='clerk.1',
            leadership=leader,
            clock=clock,
            outage=OutageLog(LOG, lost='no work is done', back='work is done again'),
            interval=interval,
            pause=25.0,
        )
        self.turns: list[float] = []
        self.changes = 0
        self.error: Exception | None = None

    def turn(self) -> None:
        self.turns.append(self._clock.monotonic())
        if self.error is not None:
            raise self.error
        self._outage.works()

    def _lead_changed(self) -> None:
        self.changes += 1


@pytest.fixture(name='clock')
def _clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(name='leader')
def _leader() -> SoleLeader:
    return SoleLeader()


def ticks(loop: Loop, clock: ManualClock, count: int) -> list[float]:
    """The turns, from now on, of so many ticks five seconds apart."""
    loop.turns, began = [], clock.monotonic()
    for _ in range(count):
        loop.tick()
        clock.advance(5.0)
    return [one - began for one in loop.turns]


def test_a_turn_in_each_interval(leader, clock):
    """However often it ticks."""
    assert ticks(Loop(leader, clock), clock, 6) == [0.0, 10.0, 20.0]
    assert ticks(Loop(leader, clock, interval=0.0), clock, 3) == [0.0, 5.0, 10.0]


def test_who_does_not_lead_does_nothing(leader, clock):
    """And begins at once when the lead comes, whenever its last turn was."""
    loop = Loop(leader, clock, interval=60.0)
    leader.leads = False
    assert ticks(loop, clock, 3) == []
    assert not loop.leads
    leader.leads = True
    assert ticks(loop, clock, 1) == [0.0]
    leader.leads = False
    ticks(loop, clock, 1)
    leader.leads = True
    assert ticks(loop, clock, 1) == [0.0]
    assert loop.leads and loop.changes == 3


@pytest.mark.parametrize('error', [CloudUnavailable('gone'), ValueError('a defect')])
def test_what_fails_is_tried_again_after_a_pause(leader, clock, error):
    """Nothing is raised, whatever it is."""
    loop = Loop(leader, clock, interval=0.0)
    loop.error = error
    assert ticks(loop, clock, 11) == [0.0, 25.0, 50.0]


def test_an_outage_is_logged_once_and_a_defect_each_time(leader, clock, caplog):
    """What is away comes back by itself; a defect has to be reported by somebody."""
    loop = Loop(leader, clock)
    loop.error = CloudUnavailable('gone')
    ticks(loop, clock, 11)
    assert loop.outage == 'gone'
    assert [r.getMessage() for r in caplog.records] == ['no work is done: gone']
    loop.error = None
    ticks(loop, clock, 5)
    assert loop.outage == ''
    caplog.clear()
    loop.error = ValueError('a defect')
    ticks(loop, clock, 11)
    assert [r.exc_info is not None for r in caplog.records] == [True, True]


def test_the_lead_is_asked_for_before_the_time_is_looked_at(leader, clock):
    """Without patience there is one attempt; with patience the lead may come late."""
    Loop(leader, clock).await_lead(0.0, clock.advance)
    leader.leads = False
    with pytest.raises(NovaMarketError, match='another clerk leads, or nobody can'):
        Loop(leader, clock).await_lead(0.0, clock.advance)

    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        leader.leads = clock.monotonic() >= began + 3.0

    began, late = clock.monotonic(), Loop(leader, clock)
    late.await_lead(30.0, sleep)
    assert late.turns == [began + 3.0]
