# SPDX-License-Identifier: Apache-2.0
"""Offers of a tender queue, its lines and what starts: numbers by hand from RR-7837, eq. (1) to (4).

One core costs 1 micro-credit for a second, a MiB 1/1000 where memory has a price.
"""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from nova_market.core.job.forecast import PeLine, TenderForecast
from nova_market.core.job.pe_line import turns
from nova_market.core.job.reason import ReasonCode
from nova_market.core.tender.job_offer import JobNeed, Promise
from nova_market.core.tender.place import Kind
from nova_market.core.tender.queue_offer import queue_offers
from tests.support.job_records import id_of, queue
from tests.support.offer_builders import NOW, SMALL, forecast
from tests.support.tender_passes import TenderPasses

NIGHT = queue('night', share=1.0, policy='tender', flavors=('small',))
PRICES = (3600.0, 3.6, 0.0)


def found(line=None, promises=(), servers=1, limit=100, night=NIGHT, **more):
    """{kind: (cost, seconds, count)} of one flavor of one core and 1024 MiB."""
    lines = {} if line is None else {'small': line}
    workers = 0 if line is None else line.idle + len(line.busy)
    tender = TenderForecast(prices=PRICES, lines=lines, workers=workers, handover=15.0)
    ahead = replace(forecast(tender=tender, **more), starts={'small': 30.0})
    need = JobNeed(flavors={'small': SMALL}, servers=servers, time_limit=limit)
    made = queue_offers(
        need, night, ahead, promises=promises, calendar=ahead.calendar, now=NOW
    ).offers
    rows = zip(made.kind, made.cost, made.seconds, made.count, strict=True)
    return {Kind(int(kind)): (int(a), float(b), int(c)) for kind, a, b, c in rows}


def promise(how, limit=100):
    return Promise(
        queue_id=id_of('night'), flavor='small', size=SMALL, servers=1, time_limit=limit, how=how
    )


LINE = PeLine(idle=1, busy=np.array([NOW + 70.0]))


def test_the_three_kinds_of_offers_by_hand():
    """100 s of a core and of 1.024 for memory, rounded up; 15 s until a worker has its job, 30 s to start."""
    assert found(LINE) == {
        Kind.IDLE: (203, 15.0 + 100.0, 1),
        Kind.ACTIVE: (203, 70.0 + 100.0, 1),
        Kind.NEW: (203, 15.0 + 30.0 + 100.0, 8),
    }


def test_a_gang_takes_workers_that_are_free_together():
    """Two of them: when the second one is free; it costs twice as much, and four fit."""
    assert found(LINE, servers=2) == {
        Kind.ACTIVE: (405, 70.0 + 100.0, 1),
        Kind.NEW: (405, 145.0, 4),
    }


def test_what_was_promised_since_is_in_front():
    """The idle worker is taken, until 15 + 100 + 15; one that is behind the busy one ends at 185."""
    assert found(LINE, [promise(Kind.IDLE)])[Kind.ACTIVE] == (203, 70.0 + 100.0, 1)
    both = [promise(Kind.IDLE), promise(Kind.ACTIVE)]
    assert found(LINE, both)[Kind.ACTIVE] == (203, 130.0 + 100.0, 1)
    assert Kind.IDLE not in found(LINE, both)


def test_no_more_new_workers_than_the_share_and_the_owner_allow():
    """Three cores are left of the share; four workers at most, of which there are two."""
    assert found(LINE, left=(3.0, inf))[Kind.NEW][2] == 3
    few = replace(NIGHT, limits=replace(NIGHT.limits, max_running=4))
    assert found(LINE, night=few)[Kind.NEW][2] == 2
    assert Kind.NEW not in found(LINE, [promise(Kind.NEW)] * 2, night=few)


def test_turns_of_a_line_by_hand():
    """Eq. (2): first in, first out; a gang waits for its last worker, and who comes later is behind it."""
    done = turns([10.0, 20.0, 30.0], [(1, 100.0), (2, 50.0), (1, 10.0), (4, 1.0)], 5.0)
    assert done.starts == (10.0, 30.0, 85.0, inf)
    assert (done.free_at, done.last) == ((115.0, 100.0, 85.0), 85.0)
    assert turns([], [(1, 1.0)], 5.0).starts == (inf,)


@pytest.fixture
def passes():
    """A queue with one core, whose worker starts in 30 s."""
    return TenderPasses(hosts=(1.0,))


def test_one_starts_at_once_and_the_next_ones_wait_their_turn(passes):
    """The worker is made, 15 + 30 s, has its job for 100 s, and 15 s later the next one; nobody overtakes."""
    for seconds in (145.0, 260.0, 375.0):
        offers, _, need = passes.ask()
        passes.accept(offers, int(np.argmin(offers.seconds)), need)
        assert offers.seconds.min() == seconds
        passes.run()
    seen = passes.input()
    plan = passes.plan(seen)
    assert not len(plan.starts)
    assert plan.code.tolist() == [ReasonCode.WORKER] * 2
    assert (plan.expected_start - passes.now).tolist() == [160.0, 275.0]
    assert len(passes.workers) == 1
