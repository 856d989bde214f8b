# SPDX-License-Identifier: Apache-2.0
"""A service of jobs that dies at any step: the next one finds what was made, and doubles nothing (F5)."""

import pytest

from nova_market.core.job.record import PreemptAction
from tests.functional.market.test_killed import Killed, Life, Mortal, _empty
from tests.support.job_bed import STEP, JobBed, host, id_of

pytestmark = [pytest.mark.functional, pytest.mark.timeout(900)]

WRITES = frozenset(
    {'decide', 'put', 'drop', 'create', 'delete', 'shelve', 'unshelve', 'forget', 'remove', 'post'}
)


class Story:
    """A best-effort job is preempted, ends later, and the queue is deleted. The service dies at `until`."""

    def __init__(self, base, until, **more):
        self.life, self.more = Life(until), more
        self.bed = JobBed(base, hosts=[host('a', cores=2.0, mib=2048.0)])
        self.bed.add_queue('night', 'red', share=1.0, idle_seconds=0)
        self.service = self.bed.another(around=lambda one: Mortal(one, self.life))

    def until(self, done):
        for _ in range(120):
            if done():
                return
            self.bed.guests.tick()
            try:
                self.service.turn()
            except Killed:
                self.service = self.bed.another()
            self.bed.check()
            self.bed.clock.advance(STEP)
        raise AssertionError((self.where, self.bed.states()))

    def tell(self):
        bed = self.bed
        low = bed.submit('low', 'night', sleep=30.0, best_effort=True, flavor='large', **self.more)
        self.until(lambda: bed.guests.running())
        high = bed.submit('high', 'night', sleep=5.0)
        self.until(bed.all_ended)
        assert set(bed.states().values()) == {'finished'}, (self.where, bed.states())
        # each script came to its end once, and what was preempted was begun again once at most
        assert bed.guests.ends(high) == ['exit'], (self.where, bed.guests.ends(high))
        ends = bed.guests.ends(low)
        assert ends.count('exit') == 1 and len(ends) <= 2, (self.where, ends)
        assert bed.job(low).lost == bed.job(high).lost == 0, self.where
        bed.stores.queues.delete(id_of('night'))
        self.until(lambda: bed.stores.queues.queue('night') is None)
        assert (bed.owners.made, bed.owners.trusts) == ({}, {}), self.where
        assert not list(bed.ledger.discrepancies()), self.where
        return self

    @property
    def where(self):
        steps = self.life.steps
        dead = steps[self.life.until - 1] if len(steps) >= self.life.until > 0 else ''
        return self.life.until, dead


def writes(steps):
    """Numbers of the steps before a write and behind it."""
    return [n for n, step in enumerate(steps, 1) if step.split()[1] in WRITES]


@pytest.mark.parametrize('action', [PreemptAction.REQUEUE, PreemptAction.SHELVE])
def test_killed_at_every_step(fast, action):
    """Before and behind each call that changes something in the database or in the cloud."""
    writing = writes(Story(fast, 0, preempt_action=action).tell().life.steps)
    assert len(writing) >= 40, len(writing)
    for until in writing:
        _empty(fast)
        Story(fast, until, preempt_action=action).tell()
