# SPDX-License-Identifier: Apache-2.0
"""A service of leases that is killed at random moments: nothing starts, ends or is charged twice."""

from random import Random

import pytest

from nova_market.core.lease.record import LeaseState
from tests.functional.market.test_killed import Killed, Life, Mortal
from tests.support.lease_bed import CREDITS, LeaseBed
from tests.support.lease_records import HOUR

pytestmark = pytest.mark.functional

LONGEST = 40
"""Calls, before and behind each, that a service makes until it is killed: a pass has 20 to 40."""


@pytest.mark.parametrize('seed', range(6))
def test_killed_at_random_moments(fast, seed):
    """Each event once, in order; each micro-credit once; a host is lost in between."""
    bed, random, deaths = LeaseBed(fast), Random(seed), 0
    bed.run()
    leases = [bed.book(after=n * HOUR, duration=2 * HOUR, nodes=1 + n % 2) for n in range(5)]

    def born():
        life = Life(random.randint(1, LONGEST))
        return bed.another(around=lambda one: Mortal(one, life))

    service = born()
    for number in range(400):
        bed.change_host('a', answering=not 20 <= number < 60)
        try:
            service.turn()
        except Killed:
            deaths += 1
            service = born()
        bed.clock.advance(90.0)
    assert deaths >= 20
    for one in leases:
        over = bed.read(one)
        found = [action for action in bed.actions(one) if action != 'moved']
        assert found == ['booked', 'starting', 'started', 'ending', 'ended'], one.name
        assert (over.state, over.charged, over.refunded) == (LeaseState.ENDED, one.cost, 0)
    spent = sum(one.cost for one in leases) / 1e6
    assert bed.balance('bank') == spent and bed.balance('red') == CREDITS - spent
    assert bed.balance('escrow') == 0 and bed.ledger.discrepancies() == []
    told = [(event, payload['lease_id']) for event, _, payload in bed.notices.sent]
    once = [pair for pair in told if not pair[0].endswith('moved')]
    assert len(once) == len(set(once)) > 0


def test_two_that_lead_at_the_same_moment_do_everything_once(fast):
    """Each has read before the other one writes."""
    bed = LeaseBed(fast)
    bed.run()
    one = bed.book()
    bed.clock.advance(2 * HOUR)
    other = bed.another()

    class Between:
        """Lets the other service make a pass before a change is written."""

        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            if name == 'change':
                bed.clock.advance(1)
                other.turn()
            return getattr(self._store, name)

    bed.another(around=Between).turn()
    assert bed.actions(one) == ['booked', 'starting', 'started']
