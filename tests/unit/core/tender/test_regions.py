# SPDX-License-Identifier: Apache-2.0
"""Answers of several regions become one list (rule O5)."""

import json

import pytest

from nova_market.core.tender.region_answer import (
    Expected,
    RegionAnswer,
    document_of,
    read_answer,
    reason,
)
from nova_market.core.tender.region_merge import together, without_repeated
from nova_market.core.tender.stored_offer import How
from nova_market.core.tender.utility import cheapest, fastest
from nova_market.errors import BadRegionAnswer
from tests.support.offer_builders import offer

REQUEST = '00000000-0000-4000-8000-0000000000aa'
EXPECTED = Expected(
    request_id=REQUEST, project_id='red', user_id='u', servers=1, time_limit=600, flavor='small',
    deadline=1_900_000_000.0, visited=('North',),
)  # fmt: skip


def entry(number=1, **more):
    return {
        'id': f'00000000-0000-4000-8000-{number:012x}', 'number': number, 'request_id': REQUEST,
        'project_id': 'red', 'user_id': 'u', 'region': 'East', 'queue_id': REQUEST, 'queue': 'night',
        'state': 'open', 'flavor': 'small', 'servers': 1, 'time_limit': 600, 'how': 'idle_worker',
        'count': 1, 'cost': 1000, 'prices': {'core_hour': 6000}, 'seconds': 600.0,
        'start': '2027-01-15T08:00:00Z', 'finish': '2027-01-15T08:10:00Z', 'utility': 'fastest',
        'weight': 0.5, 'deadline': None, 'created_at': '2027-01-15T08:00:00Z',
        'valid_until': '2027-01-15T08:05:00Z', 'fees': 0, 'accepted_at': None, 'job_id': None,
        'refunded': 0, **more,
    }  # fmt: skip


def read(*entries, **more):
    document = {'request_id': REQUEST, 'offers': list(entries), 'why': [], **more}
    return read_answer(json.dumps(document).encode(), EXPECTED)


def test_a_true_answer_is_read_as_it_is():
    """What is shown of it afterwards is what came, with prices of memory where there are some."""
    priced = entry(2, prices={'core_hour': 1.5, 'mib_hour': 2, 'gib_hour': 0.0})
    found = read(entry(), priced)
    assert [document_of(one) for one in found.offers] == [entry(), priced]


@pytest.mark.parametrize(
    'lie',
    [
        {'flavor': 'big'}, {'user_id': 'v'}, {'region': ''}, {'region': 'a/b'}, {'count': 0},
        {'cost': 2**53 + 1}, {'seconds': -1.0}, {'seconds': 1e11}, {'seconds': '600'},
        {'start': '2027-02-31T00:00:00Z'}, {'finish': '2031-01-01T00:00:00Z'}, {'fees': 1},
        {'job_id': REQUEST}, {'how': 'magic'}, {'prices': {'core_hour': -1}}, {'prices': {}},
        {'weight': 2.0}, {'time_limit': 10**30}, {'queue': 'q' * 256},
    ],
    ids=str,
)  # fmt: skip
def test_an_answer_with_a_lie_is_refused(lie):
    """As a whole: who lies in one offer may lie in others."""
    with pytest.raises(BadRegionAnswer):
        read(entry(), entry(2, **lie))


def test_the_utility_orders_the_offers_of_all_regions():
    """Of equal ones the own region's is first."""
    idle = How.IDLE_WORKER
    own = [
        offer('mine', how=idle, cost=1000, seconds=600.0),
        offer('late', cost=10, seconds=9000.0),
    ]
    others = [read(entry(3), entry(4, seconds=300.0, cost=5000)).offers]
    order = together(own, others, fastest, 0.5)
    assert [one.id for one in order] == [others[0][1].id, own[0].id, others[0][0].id, own[1].id]
    assert together(own, others, cheapest, 0.5)[0] is own[1]
    assert together([], [], fastest, 0.5) == []


def test_a_region_that_is_reached_in_two_ways_counts_once():
    """As it has answered itself, or as the first of the others has it."""
    direct, through = read(entry(1)), read(entry(2), entry(3, region='South'))
    also = read(entry(4, region='South'))
    kept, why = without_repeated({'West': through, 'East': direct, 'North': also})
    assert [[one.number for one in some] for some in kept] == [[3], [1], []]
    assert why == [
        'West: region East has answered through East too, and counts once',
        'North: region South has answered through West too, and counts once',
    ]
    assert without_repeated({'East': RegionAnswer(request_id=REQUEST, offers=[], why=[])}) == (
        [[]],
        [],
    )


def test_a_reason_of_others_is_one_short_line():
    """Whatever they send goes into logs and answers."""
    assert reason('a\nb\x1b[31m' + 'c' * 9999) == 'a b [31m' + 'c' * 492
