# SPDX-License-Identifier: Apache-2.0
"""Offers through the API: asked for, accepted, held, released, refused; and what they cost."""

import json
import threading
from dataclasses import replace

import pytest

from nova_market.core.job.forecast import document_of
from nova_market.core.job.queue import QueueState
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.services.job.forecasting import STATE
from nova_market.services.tender.offers import OfferSettings
from nova_market.wiring.policies import utilities
from tests.support.job_records import id_of
from tests.support.market.api import ALICE, BOB, make_market
from tests.support.market.queues import make_queue
from tests.support.offer_builders import forecast

pytestmark = pytest.mark.functional

OWNER, BUYER, STRANGER = f'member@{ALICE}', f'member@{BOB}', 'member@' + 'd' * 32
ASKED = {'queue': 'night', 'flavor': 'small', 'time_limit': 600}
JOB = {'script': '#!/bin/sh\ntrue\n', 'name': 'frame'}
PRICE = 3_600_000
COST = 600_000


def publish(market, *taken, **more):
    """A forecast of the service of jobs, of now, for the one queue there is."""
    seen = forecast(*taken, at=market.wall(), **more)
    (queue,) = market.stores.queues.queues()
    market.stores.states.write(
        STATE, document_of(replace(seen, queues={queue.id: seen.queues[id_of('night')]}))
    )


@pytest.fixture
def sold(market):
    """A queue of Alice's that Bob may use, and credits of his."""
    make_queue(market, OWNER, submitters={'projects': [BOB], 'roles': []}, price_core_hour=PRICE)
    names = [f'project:{one}' for one in (ALICE, BOB)]
    market.stores.accounts.open(
        [Account(id=name, project_id=name.partition(':')[2]) for name in names]
    )
    grant = Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=names[1], amount=10 * COST)
    market.stores.ledger.post([grant])
    publish(market)
    return market


def ask(market, status=201, token=BUYER, **more):
    """The answer to a request, or its error."""
    answer = market.call('POST', '/v1/offers', token, json={**ASKED, **more})
    assert answer.status_code == status, answer.json
    return answer.json if status == 201 else answer.json['errors'][0]


def best(market, **more):
    return ask(market, **more)['offers'][0]


def act(market, offer, what, status, token=BUYER, body=None, **more):
    """accept, hold or release; the answer or its error."""
    path = f'/v1/offers/{offer["id"]}/{what}'
    given = {'json': body} if body is not None else {}
    answer = market.call('POST', path, token, **given, **more)
    assert answer.status_code == status, answer.json
    return answer.json if status < 400 else answer.json['errors'][0]


def accept(market, offer, status=201, token=BUYER, job=JOB, **more):
    return act(market, offer, 'accept', status, token, {'job': job}, **more)


def money(market):
    """(Alice's, Bob's, escrow's) micro-credits."""
    names = [f'project:{ALICE}', f'project:{BOB}', 'escrow']
    found = market.stores.ledger.balances(names)
    assert market.stores.ledger.discrepancies() == []
    return tuple(found[name] for name in names)


def test_an_offer_is_accepted_and_its_cost_is_held(sold):
    """What was asked for becomes a job of the offer's flavor; its cost is in escrow, and nothing more."""
    (offer,) = ask(sold)['offers']
    assert (offer['cost'], offer['seconds'], offer['how']) == (COST, 660.0, 'new_worker')
    assert (offer['state'], offer['count'], offer['queue']) == ('open', 8, 'night')
    assert offer['start'] == '2027-01-15T08:01:00Z' and offer['finish'] == '2027-01-15T08:11:00Z'
    assert money(sold) == (0, 10 * COST, 0)
    answer = accept(sold, offer)
    assert answer['offer']['state'] == 'accepted'
    assert answer['offer']['job_id'] == answer['job']['id']
    job = sold.call('GET', f'/v1/jobs/{answer["job"]["id"]}', BUYER).json['job']
    assert (job['flavor'], job['time_limit'], job['name']) == ('small', 600, 'frame')
    assert job['cost_limit'] == COST and job['script'] == JOB['script']
    assert money(sold) == (0, 9 * COST, COST)
    assert accept(sold, offer, 409)['code'] == 'market.offer.ended'


def test_the_times_of_an_offer_stand_still(sold):
    """As it was made; then as it was held, and as it was accepted."""
    offer = best(sold)
    path = f'/v1/offers/{offer["id"]}'
    sold.wall.now += 20
    publish(sold)
    now = sold.call('GET', path, BUYER).json['offer']
    assert (now['start'], now['finish']) == (offer['start'], offer['finish'])
    held = act(sold, offer, 'hold', 200, body={'seconds': 300})['offer']
    assert held['finish'] == '2027-01-15T08:11:20Z'
    sold.wall.now += 20
    publish(sold)
    assert sold.call('GET', path, BUYER).json['offer']['finish'] == held['finish']
    assert accept(sold, offer)['offer']['finish'] == '2027-01-15T08:11:40Z'


def test_an_offer_for_a_job_needs_the_job(sold):
    """In words of the command and of the API."""
    error = act(sold, best(sold), 'accept', 400, body={})
    assert (
        'job: it is missing: give what the job runs: a script, or --wrap with a command'
        in error['detail']
    )


def test_a_fee_moves_nothing_that_the_operator_claims(sold):
    """Else whoever owes would hold dear offers of a friend's queue."""
    offer = best(sold)
    sold.stores.accounts.claim({BOB: 10 * COST})
    error = act(sold, offer, 'hold', 409, body={'seconds': 600})
    assert error['code'] == 'market.balance.too_low' and money(sold) == (0, 10 * COST, 0)
    sold.stores.accounts.claim({BOB: 9 * COST})
    act(sold, offer, 'hold', 200, body={'seconds': 600})
    assert money(sold)[0] > 0


def test_the_same_key_twice_is_one_acceptance(sold):
    """Whoever has not got the answer asks again, and gets the same job."""
    offer, key = best(sold), {'Idempotency-Key': 'once'}
    first = accept(sold, offer, headers=key)
    assert accept(sold, offer, 200, headers=key) == first
    assert accept(sold, offer, 409, headers={'Idempotency-Key': 'other'})
    assert money(sold)[2] == COST


def test_each_flavor_is_offered_and_the_utility_orders(sold):
    """Both take the same time: the cheaper one is first; of another utility nothing is known."""
    asked = {'queue': 'night', 'time_limit': 600}
    answer = sold.call('POST', '/v1/offers', BUYER, json=asked).json
    assert [one['flavor'] for one in answer['offers']] == ['small']
    assert answer['why'] == ['big: no hosts will have room for 1 such servers']
    publish(sold, cores=(16.0,), mib=65536.0)
    answer = sold.call('POST', '/v1/offers', BUYER, json={**asked, 'utility': 'cheapest'}).json
    assert [one['flavor'] for one in answer['offers']] == ['small', 'big']
    error = ask(sold, 400, utility='luck')
    assert error['code'] == 'market.offer.invalid' and 'cheapest, cost_time' in error['detail']


def test_twenty_clients_accept_one_offer_and_one_gets_it(sold):
    """All at the same moment; one job, and its cost is held once."""
    offer, answers, together = best(sold), [], threading.Barrier(20)

    def client():
        together.wait()
        path = f'/v1/offers/{offer["id"]}/accept'
        answers.append(sold.call('POST', path, BUYER, json={'job': JOB}))

    threads = [threading.Thread(target=client) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    codes = sorted(one.status_code for one in answers)
    assert codes == [201, *[409] * 19]
    assert {one.json['errors'][0]['code'] for one in answers if one.status_code == 409} == {
        'market.offer.ended'
    }
    assert money(sold) == (0, 9 * COST, COST)


def test_of_many_offers_for_one_place_one_is_honoured(sold):
    """Twenty clients were offered the last core; the others get later ones instead, and pay nothing."""
    publish(sold, cores=(1.0,))
    offers = [best(sold) for _ in range(5)]
    accept(sold, offers[0])
    error = accept(sold, offers[1], 409)
    assert error['code'] == 'market.offer.gone' and 'nothing was charged' in error['detail']
    (instead,) = error['alternatives']
    assert (instead['seconds'], instead['how']) == (1200.0, 'busy_worker')
    assert money(sold)[2] == COST
    accept(sold, instead)
    assert accept(sold, offers[2], 409)['alternatives'][0]['seconds'] == 1800.0


def test_the_better_of_both_terms_counts(sold):
    """The price has fallen since: it costs what it costs now. Where it has risen, the offer is gone."""
    cheaper, dearer = best(sold), best(sold)
    (queue,) = sold.stores.queues.queues()
    sold.stores.queues.change(queue.id, {'price_core_hour': PRICE // 2}, queue.generation)
    found = accept(sold, cheaper)
    assert found['offer']['cost'] == COST // 2 and money(sold)[2] == COST // 2
    sold.stores.queues.change(queue.id, {'price_core_hour': PRICE + 6}, queue.generation + 1)
    assert accept(sold, dearer, 409)['alternatives'][0]['cost'] == COST + 1


def test_a_held_offer_keeps_its_room_for_a_fee(sold):
    """Nobody else is offered it meanwhile; the fee goes to the queue's project and does not come back."""
    publish(sold, cores=(1.0,))
    offer, rival = best(sold), best(sold)
    held = act(sold, offer, 'hold', 200, body={'seconds': 360})['offer']
    fee = held['fees']
    assert fee == pytest.approx(COST * 0.1 / 10, abs=1) and held['state'] == 'held'
    assert held['valid_until'] == '2027-01-15T08:06:00Z'
    assert money(sold) == (fee, 10 * COST - fee, 0)
    assert accept(sold, rival, 409)['code'] == 'market.offer.gone'
    assert best(sold)['seconds'] == 1200.0
    assert accept(sold, offer)['offer']['cost'] == COST
    assert money(sold) == (fee, 9 * COST - fee, COST)


def test_a_hold_for_nothing_is_one_of_a_project(sold):
    """Of the queue's own project: one offer at a time, and each once; so others get room after it."""
    publish(sold, cores=(4.0,))
    first, second = (best(sold, token=OWNER) for _ in range(2))
    act(sold, first, 'hold', 200, OWNER, {'seconds': 30})
    for offer, words in ((second, 'holds offer'), (first, 'was held')):
        error = act(sold, offer, 'hold', 409, OWNER, {'seconds': 30})
        assert error['code'] == 'market.offer.too_many' and words in error['detail']
    for _ in range(2):  # those who pay hold what they pay for
        act(sold, best(sold, deadline='2027-01-16T00:00:00Z'), 'hold', 200, body={'seconds': 30})
    act(sold, first, 'release', 200, OWNER)
    act(sold, second, 'hold', 200, OWNER, {'seconds': 30})
    assert money(sold)[2] == 0


def test_a_hold_ends_by_itself_or_is_given_up(sold):
    """Then others are offered the room again; what was released or has expired is of no use."""
    publish(sold, cores=(1.0,))
    first, second = best(sold), best(sold)
    act(sold, first, 'hold', 200, body={'seconds': 30})
    sold.wall.now += 30
    assert accept(sold, first, 409)['code'] == 'market.offer.ended'
    act(sold, second, 'hold', 200, body={'seconds': 30})
    assert act(sold, second, 'release', 200)['offer']['state'] == 'released'
    assert act(sold, second, 'hold', 409, body={'seconds': 30})['code'] == 'market.offer.ended'
    assert best(sold)['seconds'] == 660.0


def test_offers_expire(sold):
    """After [offers]valid seconds; they are listed as what they are."""
    offer = best(sold)
    sold.wall.now += 299
    publish(sold)
    assert sold.call('GET', f'/v1/offers/{offer["id"]}', BUYER).json['offer']['state'] == 'open'
    sold.wall.now += 1
    assert accept(sold, offer, 409)['detail'].endswith('is expired: ask for new ones')
    states = {
        state: len(sold.call('GET', f'/v1/offers?state={state}', BUYER).json['offers'])
        for state in ('open', 'expired')
    }
    assert states == {'open': 0, 'expired': 1}


def test_offers_are_of_the_project_that_asked(sold):
    """Others find none, in the same words as for one that there is not; a reader does not accept."""
    offer = best(sold)
    for token in (STRANGER, OWNER):
        assert accept(sold, offer, 404, token)['code'] == 'market.offer.not_found'
        assert act(sold, offer, 'release', 404, token)['code'] == 'market.offer.not_found'
        assert sold.call('GET', '/v1/offers', token).json['offers'] == []
    assert accept(sold, offer, 403, f'reader@{BOB}')['code'] == 'market.policy.forbidden'
    assert accept(sold, offer, 403, f'admin@{ALICE}')['code'] == 'market.policy.forbidden'
    assert ask(sold, 400, STRANGER)['code'] == 'market.offer.invalid'
    assert money(sold) == (0, 10 * COST, 0)


def test_who_cannot_pay_accepts_nothing(sold):
    """An offer is made all the same; the job is not stored, and the offer is as it was."""
    offer = best(sold, time_limit=7200)
    assert accept(sold, offer, 409)['code'] == 'market.balance.too_low'
    assert sold.call('GET', f'/v1/offers/{offer["id"]}', BUYER).json['offer']['state'] == 'open'
    assert money(sold) == (0, 10 * COST, 0)


@pytest.mark.parametrize(
    'bad',
    [
        {'time_limit': 0}, {'time_limit': 1e308}, {'time_limit': -5}, {'servers': 0},
        {'servers': 65}, {'flavor': 'none'}, {'deadline': '2020-01-01T00:00:00Z'},
        {'deadline': '2027-02-31T00:00:00Z'}, {'deadline': 'soon'}, {'weight': 2}, {'queue': 'day'},
        {'resources': {'cores': 1}}, {'size': 3}, {'weight': 1e308},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_refused(sold, bad):
    """With 400 and the entry's name; nothing is kept."""
    error = ask(sold, 400, **bad)
    assert error['code'].split('.')[0] == 'market' and next(iter(bad)) in error['detail']
    assert sold.call('GET', '/v1/offers', BUYER).json['offers'] == []


@pytest.mark.parametrize('text', ['NaN', 'Infinity', '1e999', '"600"'])
def test_no_number_is_no_time(sold, text):
    """Python's JSON knows NaN; the API does not take it."""
    body = json.dumps(ASKED).replace('600', text)
    answer = sold.call('POST', '/v1/offers', BUYER, data=body, content_type='application/json')
    assert answer.status_code == 400, answer.json
    hold = sold.call(
        'POST', f'/v1/offers/{best(sold)["id"]}/hold', BUYER,
        data=f'{{"seconds": {text}}}', content_type='application/json',
    )  # fmt: skip
    assert hold.status_code == 400, hold.json


def test_without_a_fresh_forecast_nothing_is_offered(sold):
    """The answer says since when; an acceptance is refused and charges nothing."""
    offer = best(sold)
    sold.wall.now += 61
    answer = ask(sold)
    assert answer['offers'] == [] and '61 s old' in answer['why'][0]
    error = accept(sold, offer, 409)
    assert error['code'] == 'market.offer.gone' and error['alternatives'] == []
    assert money(sold) == (0, 10 * COST, 0)


def test_limits_of_offers(database):
    """A project has so many at once; a hold is as long as the operator allows; closed queues offer none."""
    few = OfferSettings(most=2, longest_hold=10.0, utilities=utilities())
    market = make_market(database, offers=few)
    made = make_queue(market, OWNER)
    publish(market)
    first = best(market, token=OWNER)
    second = best(market, token=OWNER)
    assert ask(market, 409, OWNER)['code'] == 'market.offer.too_many'
    error = act(market, first, 'hold', 400, OWNER, {'seconds': 11})
    assert error['code'] == 'market.offer.invalid'
    assert act(market, first, 'hold', 200, OWNER, {'seconds': 10})['offer']['state'] == 'held'
    act(market, second, 'release', 200, OWNER)
    market.stores.queues.change(made['id'], {'state': QueueState.CLOSED}, 1)
    assert ask(market, 409, OWNER)['code'] == 'market.queue.closed'
    assert accept(market, first, 409, OWNER)['code'] == 'market.queue.closed'


def test_older_versions_have_no_offers(sold):
    """They are there from 1.5 on."""
    answer = sold.call('GET', '/v1/offers', BUYER, headers={'OpenStack-API-Version': 'market 1.4'})
    assert answer.status_code == 404 and '1.5' in answer.json['errors'][0]['detail']


def test_the_quota_is_looked_at_before_anything_is_computed(database):
    """A project with as many offers as it may have gets none, and nobody has worked for that."""
    settings = OfferSettings(most=0, utilities=utilities())
    market = make_market(database, offers=settings)
    make_queue(market, OWNER)
    assert ask(market, 409, OWNER)['code'] == 'market.offer.too_many', 'there is no forecast'
    for kind in ({'lease': {'cores': 1}}, {'server': {'flavor': 'small'}}):
        ((name, entry),) = kind.items()
        body = {'kind': name, name: {**entry, 'duration': 60}}
        answer = market.call('POST', '/v1/offers', OWNER, json=body)
        assert answer.status_code == 409, 'the hosts are not known'
        assert answer.json['errors'][0]['code'] == 'market.offer.too_many'
