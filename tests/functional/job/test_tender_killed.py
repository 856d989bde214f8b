# SPDX-License-Identifier: Apache-2.0
"""A service with a tender queue that is killed at random moments: in a price step, in settling (F5)."""

from random import Random

import pytest

from nova_market.core.job.record import JobState
from nova_market.core.ledger.posting import ESCROW
from nova_market.services.tender.tender_pass import STATE, read_prices
from tests.functional.job.test_tender_queue import (
    ALICE,
    BOB,
    CAROL,
    CREDITS,
    accept,
    ask,
    tender_bed,
)
from tests.functional.market.test_killed import Killed, Life, Mortal
from tests.support.job_bed import STEP, host

pytestmark = pytest.mark.functional

LONGEST = 60
"""Calls that a service makes until it is killed: a pass has about as many."""


class Restarted:
    """Services one after the other. Each dies before or behind one of its calls to database and cloud."""

    def __init__(self, bed, seed):
        self.bed, self.deaths, self._random = bed, [], Random(seed)
        self._next()

    def turn(self):
        self.bed.guests.tick()
        try:
            self._service.turn()
        except Killed:
            self.deaths.append(self._life.steps[-1])
            self._next()
        self.bed.check()
        self.bed.clock.advance(STEP)

    def _next(self):
        self._life = life = Life(self._random.randint(1, LONGEST))
        self._service = self.bed.another(around=lambda one: Mortal(one, life))


@pytest.mark.parametrize('seed', [1, 2])
def test_killed_at_random_moments(fast, seed):
    """Each task runs once and pays once; each period has at most one step of the prices."""
    bed = tender_bed(fast, host('a', cores=2.0, mib=4096.0), parameters={'price_period': 10.0})
    story, ids, steps = Restarted(bed, seed), {}, {}
    for n in range(200):
        user = (BOB, CAROL)[n % 2]
        if len(ids) < 8 and (offers := ask(bed, user)['offers']):
            status, answer = accept(bed, offers[0], user, sleep=20.0, name=f't{n}')
            if status == 201:
                ids[answer['job']['id']] = answer['offer']
        story.turn()
        for queue_id, prices in read_prices(bed.stores.states).items():
            # a step that is stored is never made again with another result
            assert steps.setdefault((queue_id, prices.at), prices) == prices
        if len(ids) == 8 and bed.all_ended() and bed.balance(ESCROW) == 0:
            break
    else:
        raise AssertionError((story.deaths, bed.states()))
    assert len(story.deaths) > 3 and len(steps) > 5
    at = [when for _, when in sorted(steps)]
    assert all((when - at[0]) % 10.0 == 0 for when in at)
    paid = 0
    for job_id, offer in ids.items():
        job = bed.job(job_id)
        assert job.state is JobState.FINISHED and bed.guests.ends(job_id).count('exit') == 1
        assert 0 < job.charged <= offer['cost']
        paid += job.charged
    assert bed.ledger.discrepancies() == []
    balances = [bed.balance(f'project:{name}') for name in (ALICE, BOB, CAROL)]
    assert balances[0] == paid and sum(balances) == 2 * CREDITS


@pytest.mark.parametrize('before', [True, False])
def test_killed_in_a_step_of_the_prices(fast, before):
    """Before it is stored it is made by the next service; behind it, it is not made twice."""
    bed = tender_bed(fast, parameters={'price_period': 50.0})
    for _ in range(8):
        assert accept(bed, ask(bed)['offers'][0])[0] == 201
    bed.run(9)
    assert bed.clock.wall() % 50 == 0
    first = read_prices(bed.stores.states)
    service = bed.another(around=lambda one: Dying(one, before))
    with pytest.raises(Killed):
        service.turn()
    between = read_prices(bed.stores.states)
    assert (between == first) is before
    bed.another().turn()
    (after,) = read_prices(bed.stores.states).values()
    (start,) = first.values()
    assert after.at == start.at + 50.0 and len(after.history) == len(start.history) + 1
    assert before or {*between.values()} == {after}


class Dying:
    """A store that is killed at the exchange of the prices."""

    def __init__(self, inner, before):
        self._inner, self._before = inner, before

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def exchange(self, name, old, new):
        if name != STATE:
            return self._inner.exchange(name, old, new)
        if not self._before:
            self._inner.exchange(name, old, new)
        raise Killed
