# SPDX-License-Identifier: Apache-2.0
"""Offers for jobs over the calendar: what they cost, when they end, and why there are none."""

from dataclasses import replace

import pytest

from nova_market.core.job.forecast import document_of, forecast_from
from nova_market.core.job.record import JobState
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.tender.acceptance import honoured, terms_of
from nova_market.core.tender.job_offer import JobNeed, Promise, job_offers
from nova_market.core.tender.place import Kind
from nova_market.core.tender.stored_offer import (
    OfferState,
    free_hold_problem,
    hold_fee,
    hold_posting,
    late_refund,
    refund_posting,
)
from nova_market.core.tender.utility import cheapest, cost_time
from tests.support.job_records import id_of, job, queue
from tests.support.offer_builders import LARGE, NOW, SMALL, forecast, offer

PRICE = 3_600_000
"""A core for a second costs a thousandth of a credit."""


def night(**more):
    return queue(flavors=('small', 'large'), price_core_hour=PRICE, **more)


def need(**more):
    return JobNeed(**{'flavors': {'small': SMALL}, 'servers': 1, 'time_limit': 600, **more})


def made(wanted=None, seen=None, of=None, idle=None, **more):
    found = job_offers(
        wanted or need(), of or night(), seen or forecast(), idle=idle or {}, now=NOW, **more
    )
    return found.offers, found.why


def test_an_offer_on_a_new_worker_costs_its_time_limit_and_takes_a_start_more():
    """600 core-seconds at 1000 micro-credits each; 60 s until a new worker takes its job (O3)."""
    offers, why = made()
    assert offers.cost.tolist() == [600_000] and offers.seconds.tolist() == [660.0]
    assert offers.kind.tolist() == [Kind.NEW] and offers.count.tolist() == [8] and why == ()


def test_an_idle_worker_needs_no_start():
    """Only if it is of the flavor, there are enough, and the queue uses workers again."""
    offers, _ = made(idle={'small': 2})
    assert offers.seconds.tolist() == [600.0]
    assert offers.kind.tolist() == [Kind.IDLE] and offers.count.tolist() == [2]
    assert made(need(servers=3), idle={'small': 2})[0].kind.tolist() == [Kind.NEW]
    assert made(of=night(reuse=False), idle={'small': 2})[0].kind.tolist() == [Kind.NEW]
    assert made(idle={'large': 2})[0].kind.tolist() == [Kind.NEW]


def test_behind_what_runs_an_offer_begins_when_there_is_room():
    """The earliest of all hosts; a gang when all of its servers start together."""
    seen = forecast((0, 4.0, 0, 300), (1, 3.5, 0, 900))
    assert made(seen=seen)[0].seconds.tolist() == [900.0]
    assert made(seen=seen)[0].kind.tolist() == [Kind.ACTIVE]
    assert made(need(servers=5), seen)[0].seconds.tolist() == [1500.0]


def test_each_flavor_has_its_own_offer():
    """The large one costs twice; where it finds no room in time there is a reason instead."""
    wanted = need(flavors={'small': SMALL, 'large': LARGE})
    offers, why = made(wanted, forecast((0, 3.0, 0, 300), cores=(4.0,)))
    assert offers.cost.tolist() == [600_000, 1_200_000] and offers.flavor.tolist() == [0, 1]
    assert offers.seconds.tolist() == [660.0, 900.0] and why == ()
    late = replace(wanted, deadline=NOW + 700.0)
    offers, why = made(late, forecast((0, 3.0, 0, 300), cores=(4.0,)))
    assert offers.flavor.tolist() == [0]
    assert why == ('large: it would be done 200 s after the deadline',)


def test_what_was_promised_since_the_forecast_is_taken():
    """Of one core: the second comes when the first one's time limit is over. Idle workers too."""
    promise = Promise(
        queue_id=id_of('night'), flavor='small', size=SMALL, servers=1, time_limit=600
    )
    one = forecast(cores=(1.0,))
    assert made(seen=one)[0].seconds.tolist() == [660.0]
    assert made(seen=one, promises=[promise])[0].seconds.tolist() == [1200.0]
    assert made(idle={'small': 1}, promises=[promise])[0].kind.tolist() == [Kind.NEW]


@pytest.mark.parametrize(
    ('more', 'why'),
    [
        ({'unplaced': 3}, '3 jobs of queue night wait, and when they start is not known'),
        ({'over_share': 2}, '2 jobs of queue night wait until its use is below its share'),
        ({'left': (0.5, 1e9)}, 'small: the share of queue night leaves 0.5 cores'),
    ],
)
def test_no_offer_where_the_start_is_not_known(more, why):
    """Jobs without an expected start are in the way; the share binds long jobs, and under rigid all."""
    long = need(time_limit=7200)
    offers, reasons = made(long, forecast(**more))
    assert not len(offers) and reasons[0].startswith(why)
    if 'unplaced' not in more:
        assert len(made(need(time_limit=600), forecast(**more))[0]) == 1
        assert not len(made(long, forecast(**more), night(policy='fair_tree'))[0])
        assert not len(made(need(time_limit=600), forecast(**more), night(policy='rigid'))[0])


def test_no_offer_for_what_never_fits_or_costs_too_much():
    """A queue of another aggregate has no hosts; a price that no account can hold is no overflow."""
    assert made(need(servers=9))[1] == ('small: no hosts will have room for 9 such servers',)
    assert made(of=night(aggregate='gpu'))[1] == (
        'small: no hosts will have room for 1 such servers',
    )
    dear = replace(night(), price_core_hour=MAX_AMOUNT)
    offers, why = made(need(time_limit=7200), of=dear)
    assert not len(offers) and why[0].startswith('small: costs more than an account can hold')
    assert made(of=queue(name='new'))[1][0].startswith('queue new was made since the last pass')


def test_an_offer_is_honoured_by_one_that_is_no_worse():
    """O2: a dearer or later one does not do; of several that do, the utility chooses."""
    wanted = need(flavors={'small': SMALL, 'large': LARGE})
    offers, _ = made(wanted)
    small, large = terms_of(offers, 0), terms_of(offers, 1)
    assert honoured(small, offers, cost_time) == 0
    assert honoured(large, offers, cheapest) == 0
    later, _ = made(wanted, forecast((0, 4.0, 0, 300), (1, 4.0, 0, 300)))
    assert honoured(small, later, cost_time) is None
    dearer, _ = made(wanted, of=replace(night(), price_core_hour=PRICE + 6))
    assert honoured(small, dearer, cost_time) is None


def test_a_forecast_is_the_same_after_it_was_published():
    """As JSON has it: infinite times, infinite shares, hosts of aggregates."""
    seen = forecast((0, 1.5, 10, 500), unplaced=1, left=(2.0, 3.0))
    found = forecast_from(document_of(seen))
    assert document_of(found) == document_of(seen)
    assert found.calendar.free.tolist() == seen.calendar.free.tolist()
    assert found.calendar.times.tolist() == seen.calendar.times.tolist()
    assert found.queues == seen.queues and found.aggregates[''].tolist() == [True, True]
    assert forecast_from({}) is None


def test_a_late_job_gets_a_part_back():
    """In proportion to the delay, at most `late_refund`; nothing for one that is cancelled or in time."""
    promised = offer(seconds=600.0, due_at=NOW + 600.0, late_refund=0.5)
    ended = job(state=JobState.FINISHED, charged=1000, ended_at=NOW + 900.0)
    assert late_refund(promised, ended) == 250
    assert late_refund(promised, replace(ended, ended_at=NOW + 9000.0)) == 500
    assert late_refund(promised, replace(ended, ended_at=NOW + 600.0)) == 0
    assert late_refund(promised, replace(ended, requeues=1)) == 0
    assert late_refund(promised, replace(ended, state=JobState.CANCELLED)) == 0
    posting = refund_posting(promised, 'blue', 250)
    assert (posting.debit, posting.credit) == ('project:blue', 'project:red')
    assert refund_posting(promised, 'red', 250) is None is refund_posting(promised, 'blue', 0)


def test_a_hold_costs_a_part_of_the_offer_for_each_hour():
    """Rounded up; each hold has its own key; one's own queue is free."""
    assert hold_fee(1000, 0.1, 3600.0) == 101  # 0.1 is a little more than a tenth
    assert hold_fee(1000, 0.125, 3600.0) == 125 and hold_fee(1, 0.125, 1.0) == 1
    assert hold_fee(0, 0.1, 60.0) == 0
    assert hold_posting(offer(holds=1), 'blue', 5).key == f'charge:0:offer/{id_of("o")}/2'
    assert hold_posting(offer(), 'red', 5) is None


def test_a_project_holds_one_offer_for_nothing():
    """In whichever queue; who makes more queues holds no more. Each is held once."""
    held = replace(offer('held', queue_id=id_of('day')), state=OfferState.HELD)
    assert 'holds offer' in free_hold_problem(offer(), [held])
    assert 'was held' in free_hold_problem(offer(holds=1), [])
    for other in (replace(held, project_id='blue'), replace(held, state=OfferState.ACCEPTED)):
        assert free_hold_problem(offer(), [other]) is None


def test_a_job_is_promised_the_time_between_two_jobs_of_a_worker():
    """On an idle worker as well as on a new one: the service decides, and the worker asks."""
    for idle, seconds in (({'small': 1}, 615.0), ({}, 615.0 + forecast().start_of('small'))):
        offers, _ = made(seen=replace(forecast(), handover=15.0), idle=idle)
        assert offers.seconds.tolist() == [seconds]


def test_an_offer_expires():
    """Open and held ones only, at the moment that they name."""
    one = offer()
    assert one.state_at(NOW + 299.9) is OfferState.OPEN
    assert one.state_at(NOW + 300.0) is OfferState.EXPIRED
    accepted = replace(one, state=OfferState.ACCEPTED)
    assert accepted.state_at(NOW + 300.0) is OfferState.ACCEPTED
