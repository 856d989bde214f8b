# SPDX-License-Identifier: Apache-2.0
"""Offers that another region asks for, and what an API makes of what its children answer (rule O5)."""

from dataclasses import dataclass

import pytest

from nova_market.core.tender.region_answer import RegionAnswer
from nova_market.ports import RegionReply
from nova_market.services.tender.offers import OfferSettings
from nova_market.wiring.policies import utilities
from tests.functional.api.test_offers import (
    ASKED,
    BUYER,
    OWNER,
    act,
    ask,
    best,
    publish,
)
from tests.support.market.api import ALICE, BOB, OPERATOR, make_market
from tests.support.market.queues import make_queue

pytestmark = pytest.mark.functional

REGION = f'region@{OPERATOR}'
REQUEST = '00000000-0000-4000-8000-0000000000aa'
OF_BOB = {
    'project_id': BOB, 'user_id': 'bob', 'roles': ['member'], 'request_id': REQUEST,
    'path': ['West'], 'within': 2.0,
}  # fmt: skip


@dataclass
class Children:
    """Children that answer at once, with a reason or with no offers."""

    names: tuple = ()
    why: str = ''
    asked: tuple = ()

    def ask(self, body, expected, regions, within):
        self.asked = (*self.asked, (body, tuple(regions), within))
        answer = None
        if not self.why:
            answer = RegionAnswer(request_id=expected.request_id, offers=[], why=['deep: none'])
        replies = [RegionReply(region=one, answer=answer, why=self.why) for one in regions]
        return lambda: replies


@pytest.fixture
def children():
    return Children(('North', 'West'))


@pytest.fixture
def sold(database, children):
    """Region East with a queue of Alice's that Bob may use, and two children."""
    settings = OfferSettings(region='East', utilities=utilities())
    market = make_market(database, offers=settings, regions=children)
    make_queue(
        market, OWNER, submitters={'projects': [BOB], 'roles': []}, price_core_hour=3_600_000
    )
    publish(market)
    return market


def test_the_role_of_regions_asks_for_others_and_accepts_nothing(sold):
    """The offers are of the user's project, with the id of the request; only its token can use them."""
    for token in (BUYER, f'admin@{ALICE}', f'service@{OPERATOR}'):
        assert ask(sold, 403, token, on_behalf=OF_BOB)['code'] == 'market.policy.forbidden'
    answer = ask(sold, token=REGION, on_behalf=OF_BOB)
    assert answer['request_id'] == REQUEST
    (offer,) = [one for one in answer['offers'] if one['flavor'] == 'small']
    assert (offer['project_id'], offer['user_id'], offer['region']) == (BOB, 'bob', 'East')
    assert act(sold, offer, 'hold', 404, REGION, {'seconds': 9})['code'] == 'market.offer.not_found'
    assert act(sold, offer, 'release', 200)['offer']['state'] == 'released'


def test_a_request_that_was_here_ends(sold, children):
    """By its path, or by its id when it comes on another way."""
    ring = {**OF_BOB, 'path': ['East', 'West']}
    assert ask(sold, token=REGION, on_behalf=ring)['offers'] == []
    assert ask(sold, token=REGION, on_behalf=OF_BOB)['offers'] != []
    again = ask(sold, token=REGION, on_behalf={**OF_BOB, 'path': ['South']})
    assert again['offers'] == [] and again['why'] == ['East was asked for this request already']
    assert len(children.asked) == 1


def test_children_are_asked_for_the_user_in_a_part_of_the_time(sold, children):
    """Not those that were asked already, and not below the last level."""
    ask(sold, token=REGION, on_behalf=OF_BOB)
    ((body, regions, within),) = children.asked
    assert (regions, within) == (('North',), 1.5)
    assert body == {**ASKED, 'on_behalf': {**OF_BOB, 'path': ['West', 'East'], 'within': 1.5}}
    ask(sold)
    body, regions, within = children.asked[1]
    assert (regions, within) == (('North', 'West'), 2.0)
    assert body['on_behalf']['path'] == ['East'] and body['on_behalf']['project_id'] == BOB
    deep = {**OF_BOB, 'path': ['A', 'B'], 'request_id': REQUEST.replace('aa', 'bb')}
    ask(sold, token=REGION, on_behalf=deep)
    assert len(children.asked) == 2


def test_a_region_without_offers_does_not_hide_the_others(sold, children):
    """What is wrong in one region is a reason; without children it is the error that it was."""
    answer = ask(sold, queue='day')
    assert answer['offers'] == []
    assert answer['why'][0].startswith("East: queue: there is no queue 'day'")
    assert answer['why'][1:] == ['deep: none', 'deep: none']
    children.why = 'did not answer in 2 s'
    answer = ask(sold)
    assert [one['region'] for one in answer['offers']] == ['East']
    assert answer['why'] == ['North: did not answer in 2 s', 'West: did not answer in 2 s']
    assert ask(sold, 400, utility='luck')['code'] == 'market.offer.invalid'
    children.names = ()
    assert ask(sold, 400, queue='day')['code'] == 'market.offer.invalid'


def test_older_versions_see_one_region(sold, children):
    """They have no name for another one, and take no requests of others."""
    old = {'OpenStack-API-Version': 'market 1.6'}
    answer = sold.call('POST', '/v1/offers', BUYER, json=ASKED, headers=old)
    assert answer.status_code == 201 and 'region' not in answer.json['offers'][0]
    given = {**ASKED, 'on_behalf': OF_BOB}
    assert sold.call('POST', '/v1/offers', REGION, json=given, headers=old).status_code == 400
    assert children.asked == ()
    assert best(sold)['region'] == 'East'


def test_a_region_without_a_name_is_not_asked(database):
    """Its offers could not be found."""
    market = make_market(database)
    make_queue(market, OWNER)
    publish(market)
    error = ask(market, 400, REGION, on_behalf={**OF_BOB, 'project_id': ALICE})
    assert 'sets [offers]region' in error['detail']


@pytest.mark.parametrize(
    'bad',
    [
        {'project_id': '../x'}, {'user_id': ''}, {'path': []}, {'path': ['a b']}, {'within': 0},
        {'within': 1e308}, {'path': ['A'] * 11}, {'request_id': 'x'}, {'token': 't'},
    ],
    ids=str,
)  # fmt: skip
def test_what_another_region_may_say_is_bounded(sold, bad):
    """With 400, and nothing is kept."""
    assert ask(sold, 400, REGION, on_behalf={**OF_BOB, **bad})['code'] == 'market.request.invalid'
    assert sold.call('GET', '/v1/offers', BUYER).json['offers'] == []


def test_an_offer_that_begins_at_once_stays_good(sold):
    """The wall clock is between two instants of the calendar; nothing else has happened."""
    sold.wall.now += 0.0004
    offer = best(sold, token=OWNER, queue='night')
    sold.wall.now += 0.0007
    found = act(sold, offer, 'accept', 201, OWNER, {'job': {'script': '#!/bin/sh\ntrue\n'}})
    assert found['offer']['seconds'] == offer['seconds'] == 660.0
