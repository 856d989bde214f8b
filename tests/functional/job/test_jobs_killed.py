# SPDX-License-Identifier: Apache-2.0
"""A service of jobs that is killed at random moments: nothing is started, lost or charged twice (F5)."""

from random import Random

import pytest

from nova_market.core.job.record import AttemptState, JobState
from nova_market.core.ledger.posting import ESCROW, account
from tests.functional.market.test_killed import Killed, Life, Mortal
from tests.support.job_bed import STEP, JobBed, host, id_of

pytestmark = pytest.mark.functional

CREDITS = 100_000
PRICE = 3600
"""Micro-credits per core and hour: one per core-second."""

LONGEST = 160
"""Calls, before and behind each, that a service makes until it is killed: a pass has about 60."""

LOW, HIGH = ('low-0', 'low-1'), ('high-0', 'high-1', 'fails')


class Restarted:
    """Services one after the other. Each dies before or behind one of its calls to database and cloud."""

    def __init__(self, base, seed):
        self.bed = JobBed(base, hosts=[host('a', cores=4.0, mib=8192.0)])
        self.bed.add_queue('night', 'red', share=1.0, price_core_hour=PRICE, idle_seconds=0)
        for project in ('blue', 'green'):
            self.bed.grant(project, CREDITS)
        self._random, self.deaths = Random(seed), []
        self._next()

    def until(self, done):
        for _ in range(150):
            if done():
                return
            self.bed.guests.tick()
            try:
                self._service.turn()
            except Killed:
                self.deaths.append(self._life.steps[-1])
                self._next()
            self.bed.check()
            self.bed.clock.advance(STEP)
        raise AssertionError((self.deaths, self.bed.states()))

    def _next(self):
        self._life = life = Life(self._random.randint(1, LONGEST))
        self._service = self.bed.another(around=lambda one: Mortal(one, life))


def owed(bed, job):
    """Core-seconds of a job by its attempts, since each had its script: displaced ones count too."""
    parts = bed.stores.attempts.attempts([job.id])[job.id]
    assert not any(one.state is AttemptState.LOST for one in parts)
    return sum(job.cores * (one.ended_at - one.given_at) for one in parts if one.given_at)


@pytest.mark.parametrize('seed', [1, 2])
def test_killed_at_random_moments(fast, seed):
    """Two best-effort jobs are preempted for others, one of which fails; then the queue is deleted."""
    story = Restarted(fast, seed)
    bed = story.bed
    more = {'flavor': 'large', 'cost_limit': 1200}
    for name in LOW:
        bed.submit(name, 'night', sleep=60.0, best_effort=True, project='green', **more)
    story.until(lambda: len(bed.guests.running()) == 2)
    for name in HIGH:
        code = 3 if name == 'fails' else 0
        bed.submit(name, 'night', sleep=20.0, code=code, project='blue', **more)
    story.until(bed.all_ended)
    jobs = {name: bed.job(id_of(name)) for name in (*LOW, *HIGH)}
    for name, job in jobs.items():
        ends = bed.guests.ends(job.id)
        assert ends.count('exit') == 1 and set(ends) <= {'exit', 'stopped'}, (name, ends)
        assert job.state is (JobState.FAILED if name == 'fails' else JobState.FINISHED), name
        assert (job.lost, job.charged) == (0, owed(bed, job)), name
    compensation = sum(jobs[name].compensation for name in LOW)
    assert compensation > 0
    spent = {part: sum(jobs[name].charged for name in part) for part in (LOW, HIGH)}
    assert bed.balance(account('project', 'blue')) == CREDITS - spent[HIGH] - compensation
    assert bed.balance(account('project', 'green')) == CREDITS - spent[LOW] + compensation
    assert bed.balance(account('project', 'red')) == spent[LOW] + spent[HIGH]
    assert bed.balance(ESCROW) == 0 and not list(bed.ledger.discrepancies())
    bed.stores.queues.delete(id_of('night'))
    story.until(lambda: bed.stores.queues.queue(id_of('night')) is None)
    assert (bed.owners.made, bed.owners.trusts) == ({}, {})
    assert len(story.deaths) >= 5, story.deaths
