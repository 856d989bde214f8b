# SPDX-License-Identifier: Apache-2.0
"""Offers from the forecast of a running service of jobs to the end of the job and its money."""

from dataclasses import replace

import pytest

from nova_market.core.job.record import JobState
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.tender.stored_offer import OfferState
from tests.support.job_records import id_of
from tests.support.market.api import ALICE, BOB

pytestmark = pytest.mark.functional

BUYER = f'member@{BOB}'
PRICE = 3_600_000
"""1000 micro-credits for a core-second."""

OWN, BUYS = f'project:{ALICE}', f'project:{BOB}'


@pytest.fixture
def sold(small):
    """As it is sold."""
    return selling(small)


def selling(small):
    """One host of two cores, a queue of Alice's, and credits of Bob's."""
    small.add_queue(
        'day', ALICE, projects=(BOB,), price_core_hour=PRICE, share=0.0, policy='fair_tree'
    )
    small.accounts.open(
        [Account(id=name, project_id=name.partition(':')[2]) for name in (OWN, BUYS)]
    )
    grant = Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=BUYS, amount=10**9)
    small.ledger.post([grant])
    small.pass_()
    return small


def ask(bed, **more):
    asked = {'queue': id_of('day'), 'flavor': 'small', 'time_limit': 600, **more}
    answer = bed.market.call('POST', '/v1/offers', BUYER, json=asked)
    assert answer.status_code == 201, answer.json
    return answer.json


def accept(bed, offer, name, sleep=600.0, status=201):
    job = {'name': name, 'script': f'#!/bin/sh\nsleep {sleep}\nexit 0\n', 'notice': 0}
    path = f'/v1/offers/{offer["id"]}/accept'
    answer = bed.market.call('POST', path, BUYER, json={'job': job})
    assert answer.status_code == status, answer.json
    return answer.json['job']['id'] if status == 201 else answer.json['errors'][0]


def money(bed):
    """(Alice's, Bob's, escrow's); the ledger adds up."""
    assert bed.ledger.discrepancies() == []
    found = bed.ledger.balances([OWN, BUYS, 'escrow'])
    return found[OWN], found[BUYS], found['escrow']


def test_what_was_offered_is_charged_at_the_end(sold):
    """Two cores are offered at once, the third job behind them; each pays for its seconds, no more than
    was offered; nothing comes back of a job that was in time."""
    first, second, third = (ask(sold)['offers'][0] for _ in range(3))
    assert {one['how'] for one in (first, second, third)} == {'new_worker'}
    ids = [accept(sold, one, name, sleep=100.0) for one, name in ((first, 'a'), (second, 'b'))]
    gone = accept(sold, third, 'c', status=409)
    assert gone['code'] == 'market.offer.gone'
    sold.run(2)
    # the pass has placed both, and the forecast says so without what was promised
    later = ask(sold)['offers'][0]
    assert later['how'] == 'busy_worker' and later['seconds'] > 1100
    ids.append(accept(sold, later, 'c', sleep=100.0))
    assert money(sold)[2] == 3 * 600_000
    sold.until(sold.all_ended)
    sold.run(1)
    charged = [sold.job(name).charged for name in ids]
    assert all(95_000 <= one <= 120_000 for one in charged), charged
    assert money(sold) == (sum(charged), 10**9 - sum(charged), 0)
    offers = sold.market.call('GET', '/v1/offers?state=closed', BUYER).json['offers']
    assert [one['refunded'] for one in offers] == [0, 0, 0]


def test_a_late_job_gets_a_part_of_its_price_back(sold):
    """Others have come in between; once, also when the service is killed after paying."""
    offer = ask(sold, time_limit=300)['offers'][0]
    job_id = accept(sold, offer, 'late', sleep=200.0)
    for name in ('x', 'y'):
        sold.submit(name, 'night', sleep=590.0, priority=1)
    job = sold.job(job_id)
    stored = sold.market.stores.offers.offer(offer['id'])
    # jobs of another queue have gone before it: as if it had been promised an hour ago
    sold.clock.advance(3600.0)
    sold.until(lambda: sold.job(job_id).state is JobState.FINISHED)
    sold.run(1)
    job = sold.job(job_id)
    closed = sold.market.stores.offers.offer(offer['id'])
    assert closed.state is OfferState.CLOSED and closed.refunded == job.charged // 2
    assert money(sold) == (job.charged - closed.refunded, 10**9 - job.charged + closed.refunded, 0)
    # killed between the posting and the row
    key = f'compensation:0:offer/{offer["id"]}'
    assert sold.ledger.posted([key])[key].amount == closed.refunded
    sold.market.stores.offers.close(offer['id'], 0)
    assert sold.market.stores.offers.offer(offer['id']) == closed
    assert replace(closed, state=OfferState.ACCEPTED, refunded=0) == stored


def test_no_offers_behind_jobs_whose_start_is_not_known(sold):
    """More wait in the queue than a pass looks ahead."""
    for n in range(14):
        sold.submit(f'w{n}', 'day', sleep=100.0)
    sold.run(2)
    answer = ask(sold)
    assert answer['offers'] == [] and 'when they start is not known' in answer['why'][0]


def test_an_idle_worker_is_offered_without_its_start(sold):
    """After its job has ended; the start of the last worker was measured."""
    accept(sold, ask(sold)['offers'][0], 'a', sleep=50.0)
    sold.until(sold.all_ended)
    sold.run(1)
    offer = ask(sold)['offers'][0]
    assert (offer['how'], offer['seconds'], offer['count']) == ('idle_worker', 615.0, 1)
    new = ask(sold, servers=2)['offers'][0]
    assert new['how'] == 'new_worker' and 600 < new['seconds'] < 660


def test_a_host_that_is_silent_is_not_offered_for_later(sold):
    """What runs there ends, and nobody can use the room."""
    accept(sold, ask(sold, servers=2)['offers'][0], 'a')
    sold.run(2)
    assert ask(sold)['offers'][0]['how'] == 'busy_worker'
    (only,) = sold.cloud.hosts()
    sold.cloud.put_host(replace(only, answering=False))
    sold.run(1)
    answer = ask(sold)
    assert answer['offers'] == [] and 'no hosts will have room' in answer['why'][0]


def test_holds_of_a_queue_without_a_share_bind_nobody_who_has_one(sold):
    """Anybody can make such a queue, and pay its fees to himself; those without a share bind each other."""
    offer = ask(sold, servers=2)['offers'][0]
    path = f'/v1/offers/{offer["id"]}/hold'
    assert sold.market.call('POST', path, BUYER, json={'seconds': 600}).status_code == 200
    asked = {'queue': id_of('night'), 'flavor': 'small', 'time_limit': 60}
    found = sold.market.call('POST', '/v1/offers', 'member@red', json=asked).json['offers'][0]
    assert (found['how'], found['count']) == ('new_worker', 2)
    asked = {'queue': id_of('day'), 'flavor': 'small', 'time_limit': 60}
    found = sold.market.call('POST', '/v1/offers', f'member@{ALICE}', json=asked).json['offers'][0]
    assert found['how'] == 'busy_worker'
