# SPDX-License-Identifier: Apache-2.0
"""Applications that stop when they are outbid, and those that take what is left, run by the controller.

Merkat (INRIA RR-8648), sections 2.3.2 and 3.4.1, on a real database, a cloud in memory and one clock.
"""

from math import inf

import pytest

from nova_market.core.app.record import AppState
from tests.support.app_bed import CREDIT, Bed, component, host, template
from tests.support.market_bed import bidding
from tests.support.market_bed import server as other_server

pytestmark = pytest.mark.functional


@pytest.fixture
def bed(database):
    """One host of four cores, on which prices change at once."""
    made = Bed(database, hosts=[host(cores=4.0, mib=16384.0)], breaker=inf)
    made.market.grant('blue', 100_000)
    return made


def neighbours(bed, cpu):
    """Four servers of a core that bid so many credits each."""
    for n in range(4):
        made = other_server(f'n{n}', 'blue', vcpus=1, mib=900, metadata=bidding(cpu, 0))
        bed.market.cloud.put_server(made)


def states(bed, name, periods):
    found = []
    for _ in range(periods):
        bed.report(name, metric=0.9)
        bed.run(1)
        found.append(bed.app(name).state)
    return found


def test_work_stops_when_it_is_outbid_and_goes_on_when_the_price_falls(bed):
    """Once each, though the price falls to the reserve price when it leaves; what rests costs nothing."""
    given = template('stop', components=[component(least=(0.8, 0.0))])
    bed.add('job', given, balance=0, renew=4)
    bed.market.grant('red', 1000)
    neighbours(bed, 0.5)
    assert states(bed, 'job', 5)[-1] is AppState.RUNNING
    neighbours(bed, 20)
    assert states(bed, 'job', 6)[-1] is AppState.SUSPENDED
    spent = bed.app('job').figures['spent']
    assert states(bed, 'job', 4) == [AppState.SUSPENDED] * 4
    assert bed.app('job').figures['spent'] == spent and bed.bid('job') == 0
    neighbours(bed, 0.5)
    found = states(bed, 'job', 20)
    assert found[2] is AppState.SUSPENDED and found[-1] is AppState.RUNNING
    assert bed.actions('job').count('suspended') == bed.actions('job').count('resumed') == 1
    assert 'waits for a lower price' in bed.reasons('job', 'suspended')[0]
    assert 'the price fell' in bed.reasons('job', 'resumed')[0]


def test_work_stops_above_the_price_that_its_owner_named(bed):
    """Though its budget would buy more."""
    given = template('stop', parameters={'cpu_price': 2 * CREDIT})
    bed.add('job', given, balance=0, renew=100)
    bed.market.grant('red', 10_000)
    neighbours(bed, 0.5)
    assert states(bed, 'job', 5)[-1] is AppState.RUNNING
    neighbours(bed, 4)
    assert states(bed, 'job', 5)[-1] is AppState.SUSPENDED


def test_best_effort_work_takes_what_is_left(bed):
    """The same bid all the time: all it can use while nobody else wants it, next to nothing otherwise."""
    given = template('best_effort', components=[component(flavor='large', least=(0.0, 0.0))])
    del given['slo']
    bed.add('filler', given, balance=100)
    bed.run(5)
    bids, alone = [bed.bid('filler')], bed.cores('filler')
    neighbours(bed, 5)
    bed.run(5)
    beside = bed.cores('filler')
    bids.append(bed.bid('filler'))
    for n in range(2):
        bed.market.cloud.remove(f'n{n}')
    bed.run(5)
    assert alone == pytest.approx(4.0) and beside < 0.01
    assert bed.cores('filler') == pytest.approx(2.0, rel=0.01)
    assert bids == [0.004, 0.004] and bed.actions('filler').count('bid') == 1
    assert bed.app('filler').state is AppState.RUNNING


def test_best_effort_work_ends_when_it_reports_its_end(bed):
    """Without an objective, as with one."""
    given = template('best_effort')
    del given['slo']
    bed.add('filler', given, balance=100)
    bed.run(3)
    bed.report('filler', total=5.0, done=5.0)
    bed.run(2)
    assert bed.app('filler').state is AppState.FINISHED and bed.own('filler') == {}
