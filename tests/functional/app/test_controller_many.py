# SPDX-License-Identifier: Apache-2.0
"""An application of many servers: nobody else waits for it, and no server of it for another.

The controller of Merkat (INRIA RR-8648), section 2.3.1, on a real database, a cloud in memory and one clock.
"""

import pytest

from nova_market.core.app.record import DesiredState
from nova_market.errors import CloudUnavailable
from tests.support.app_bed import Bed, component, host, template

pytestmark = pytest.mark.functional


def crowd(database, count):
    """A cloud with an application of so many servers."""
    bed = Bed(database, hosts=[host(cores=400.0, mib=1638400.0)])
    given = template('horizontal', components=[component(count=(count, count))])
    bed.add('app', given, balance=100_000.0)
    bed.market.engine.tick()
    return bed


def test_a_crowd_of_servers_holds_nobody_up(database):
    """Some are made, or deleted, in each pass; also when what comes first is refused each time."""
    bed = crowd(database, 50)
    for made in (20, 40, 50):
        bed.controller.turn()
        assert len(bed.own('app')) == made
    bed.cloud.locked = {one for n in range(1, 26) for one in bed.own('app')[f'worker-{n}']}
    bed.change('app', wish=DesiredState.DELETE)
    for _ in range(4):
        bed.cloud.asked.clear()
        bed.controller.turn()
        assert len(bed.cloud.asked) <= 20
    assert set(bed.cloud.made) == bed.cloud.locked


def test_a_server_that_nova_fails_to_delete_keeps_no_other(database, monkeypatch):
    """An error is no refusal: it is tried again, after the others."""
    bed = crowd(database, 4)
    bed.run(2)
    broken, delete = bed.own('app')['worker-1'][0], bed.cloud.delete

    def failing(access, server_id):
        if server_id == broken:
            raise CloudUnavailable('compute answers 500')
        delete(access, server_id)

    monkeypatch.setattr(bed.cloud, 'delete', failing)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(1)
    assert list(bed.cloud.made) == [broken]


def test_servers_that_cannot_be_made_are_not_asked_for_one_by_one(database):
    """What keeps one of a component from being made keeps the others too: one asks, ever less."""
    bed = crowd(database, 30)
    bed.cloud.quota = 2
    bed.run(3)
    assert len(bed.own('app')) == 2 and bed.actions('app').count('refused') <= 5
    events = bed.stores.events.events('app', limit=1000)
    pauses = [one.numbers['next_in'] for one in reversed(events) if one.action == 'refused']
    assert pauses[:3] == [15.0, 30.0, 60.0]
    bed.cloud.quota = 100
    bed.run(4)
    assert len(bed.own('app')) == 30
