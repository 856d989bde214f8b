# SPDX-License-Identifier: Apache-2.0
"""W3: a service that is killed at any call, or is not alone, powers hosts down and wakes them."""

import pytest

from nova_market.core.power.host_step import Phase
from tests.functional.market.test_killed import Killed, Life, Mortal
from tests.support.lease_records import HOUR
from tests.support.power_bed import PowerBed

pytestmark = pytest.mark.functional


@pytest.mark.parametrize('first', [1, 4])
def test_killed_at_each_call(fast, first):
    """Each one a call later than the one before: hosts go down, a lease begins, they go down again."""
    bed, deaths, calls = PowerBed(fast), 0, first

    def born():
        life = Life(calls)
        return bed.another(around=lambda one: Mortal(one, life))

    service = born()
    lease = None
    for number in range(120):
        bed.machines.catch_up()
        try:
            service.turn()
        except Killed:
            deaths, calls = deaths + 1, calls % 40 + 7
            service = born()
        if number == 40:
            assert set(bed.phases().values()) <= {Phase.OFF, Phase.STOPPING, Phase.LEAVING}
            lease = bed.book(whole=True, after=HOUR / 2, duration=HOUR / 4)
        bed.clock.advance(60.0)
    assert deaths >= 20
    assert [one for one in bed.actions(lease) if one != 'ending'] == [
        'booked', 'starting', 'started', 'ended',
    ]  # fmt: skip
    assert bed.machines.off == {'a', 'b', 'c'} and set(bed.phases().values()) == {Phase.OFF}


def test_of_two_that_lead_one_acts(fast):
    """Both make every pass; a host is ordered off once."""
    bed = PowerBed(fast)
    others = [bed.service, bed.another()]
    for _ in range(25):
        bed.machines.catch_up()
        for one in others:
            one.tick()
        bed.clock.advance(60.0)
    assert bed.machines.off == {'a', 'b', 'c'}
    assert sorted(host for _, host, _ in bed.machines.orders) == ['a', 'b', 'c']
    for name in 'abc':
        actions = [one.action for one in bed.power.events(name)]
        assert actions == ['off', 'stopping', 'leaving']
