# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks through the API: created, sent in parts, listed, changed, cancelled, refused."""

import pytest

from nova_market.core.timestamp import seconds, stamp
from nova_market.services.tender.bag_requests import BagLimits
from tests.support.market.api import ALICE, BOB, make_market
from tests.support.market.queues import make_queue

pytestmark = pytest.mark.functional

OWNER, BUYER, STRANGER = f'member@{ALICE}', f'member@{BOB}', 'member@' + 'd' * 32
SCRIPT = '#!/bin/sh\ntrue\n'
TASK = {'script': SCRIPT, 'time_limit': 600}


@pytest.fixture
def open_market(market):
    """A queue of Alice's that Bob may use."""
    make_queue(market, OWNER, submitters={'projects': [BOB], 'roles': []})
    return market


def call(market, method, path='', status=200, token=BUYER, **more):
    """The answer, or its error."""
    answer = market.call(method, f'/v1/bags{path}', token, **more)
    assert answer.status_code == status, answer.json
    return answer.json if status < 300 else answer.json['errors'][0]


def new(market, status=201, token=BUYER, headers=None, **body):
    given = {'queues': ['night'], 'tasks': [TASK], **body}
    answer = call(market, 'POST', '', status, token, json=given, headers=headers or {})
    return answer['bag'] if status < 300 else answer


def test_a_bag_is_created_and_shown(open_market):
    """With defaults for all tasks; only its own project sees it."""
    tasks = [
        {'name': 'a', 'environment': {'N': '1'}},
        {'name': 'b', 'time_limit': 60, 'importance': 7},
    ]
    bag = new(
        open_market, name='films', tasks=tasks, defaults={**TASK, 'within': 7200, 'flavors': ['small']},
        order='importance', utility='cheapest', budget=5_000_000, poll=60, retry=False,
    )  # fmt: skip
    assert bag['state'] == 'open' and bag['tasks']['waiting'] == bag['tasks']['all'] == 2
    assert (bag['order'], bag['utility'], bag['budget'], bag['poll']) == (
        'importance',
        'cheapest',
        5_000_000,
        60,
    )
    assert (bag['queues'], bag['retry'], bag['alternatives'], bag['spent']) == (
        ['night'],
        False,
        True,
        0,
    )
    assert bag['next_try'] == bag['created_at'] and bag['ended_at'] is None
    assert call(open_market, 'GET', f'/{bag["id"]}')['bag'] == bag
    first, second = call(open_market, 'GET', f'/{bag["id"]}/tasks')['tasks']
    assert (first['name'], first['time_limit'], first['importance'], first['flavors']) == (
        'a',
        600,
        1,
        ['small'],
    )
    assert (second['time_limit'], second['importance'], second['row']) == (60, 7, 1)
    assert seconds(first['deadline']) == seconds(bag['created_at']) + 7200
    (event,) = call(open_market, 'GET', f'/{bag["id"]}/events')['events']
    assert (event['action'], event['task'], event['numbers']) == ('created', None, {'tasks': 2})
    for path in ('', '/tasks', '/events'):
        error = call(open_market, 'GET', f'/{bag["id"]}{path}', 404, STRANGER)
        assert error['code'] == 'market.bag.not_found'
    # nor does the project of the queue
    call(open_market, 'GET', f'/{bag["id"]}', 404, OWNER)
    call(open_market, 'DELETE', f'/{bag["id"]}', 404, OWNER)
    assert call(open_market, 'GET', '?name=films')['bags'] == [bag]
    assert call(open_market, 'GET', '?state=done')['bags'] == []
    assert call(open_market, 'GET', '', token=OWNER)['bags'] == []


def test_the_same_key_is_one_bag(open_market):
    """The same request again: 200 and the same bag; another one is refused."""
    key = {'Idempotency-Key': 'k1'}
    bag = new(open_market, headers=key)
    assert new(open_market, 200, headers=key) == bag
    assert new(open_market, 409, headers=key, poll=99)['code'] == 'market.key.reused'
    assert new(open_market, token=OWNER, headers=key)['id'] != bag['id']


def test_a_large_bag_is_sent_in_parts(open_market):
    """Each part once; nothing is negotiated before the last one."""
    bag = new(open_market, more=True, defaults=TASK, tasks=[{'name': f'a{n}'} for n in range(3)])
    assert bag['state'] == 'filling' and bag['next_try'] is None
    path = f'/{bag["id"]}/tasks'
    part = {'first': 3, 'tasks': [{'name': f'b{n}'} for n in range(3)], 'more': True}
    for _ in range(2):
        found = call(open_market, 'POST', path, json=part)['bag']
        assert (found['state'], found['tasks']['all']) == ('filling', 6)
    error = call(open_market, 'POST', path, 400, json={**part, 'first': 9})
    assert 'go on with 6' in error['detail']
    last = {'first': 6, 'tasks': [{'name': 'c'}]}
    # its tasks run with the rights of who made it
    assert (
        'of another user'
        in call(open_market, 'POST', path, 403, f'admin@{BOB}', json=last)['detail']
    )
    assert call(open_market, 'POST', path, json=last)['bag']['state'] == 'open'
    error = call(open_market, 'POST', path, 409, json={**last, 'first': 7})
    assert error['code'] == 'market.bag.ended'
    pages = call(open_market, 'GET', f'{path}?limit=4')
    assert len(pages['tasks']) == 4 and pages['tasks_links']
    assert [
        one['name'] for one in call(open_market, 'GET', f'{path}?limit=4&marker=3')['tasks']
    ] == ['b1', 'b2', 'c']


PAST = '2020-01-01T00:00:00Z'


@pytest.mark.parametrize(
    ('body', 'words'),
    [
        ({'tasks': [{**TASK, 'time_limit': 0}]}, ('tasks[0].time_limit',)),
        ({'tasks': [{**TASK, 'time_limit': 1e308}]}, ('tasks[0].time_limit',)),
        ({'tasks': [{**TASK, 'time_limit': 10**9}]}, ('tasks[0].time_limit',)),
        ({'tasks': [{**TASK, 'importance': float('nan')}]}, ('NaN',)),
        ({'tasks': [{**TASK, 'importance': 1e308}]}, ('tasks[0].importance',)),
        ({'tasks': [{**TASK, 'importance': -1}]}, ('tasks[0].importance',)),
        ({'tasks': [{**TASK, 'within': 0}]}, ('tasks[0].within',)),
        ({'tasks': [{**TASK, 'within': 1e308}]}, ('tasks[0].within',)),
        ({'tasks': [{**TASK, 'within': 600}]}, ('tasks[0].within', '600 s', 'give a time after')),
        ({'tasks': [{**TASK, 'deadline': PAST}]}, ('tasks[0].deadline', '2020-01-01', 'is past')),
        ({'tasks': [{**TASK, 'deadline': '2020-02-30T00:00:00Z'}]}, ('tasks[0].deadline',)),
        ({'tasks': [{**TASK, 'deadline': '2040-01-01T00:00:00Z', 'within': 9}]}, ('tasks[0]', 'both given')),
        ({'tasks': [{**TASK, 'name': 'x'}, {**TASK, 'name': 'x'}]}, ('tasks[0].name', "'x'", '2 tasks')),
        ({'tasks': [{'time_limit': 600}]}, ('tasks[0].script', 'nor in defaults')),
        ({'tasks': [{'script': SCRIPT}]}, ('tasks[0].time_limit', 'nor in defaults')),
        ({'tasks': [{**TASK, 'script': 'true'}]}, ('tasks[0].script', 'begins with')),
        ({'tasks': [{**TASK, 'environment': {'MARKET_X': '1'}}]}, ('tasks[0].environment.MARKET_X',)),
        ({'tasks': [{**TASK, 'flavors': ['huge']}]}, ('tasks[0].flavors', "'huge'", 'small')),
        ({'tasks': []}, ('tasks',)),
        ({'queues': []}, ('queues',)),
        ({'queues': ['night', 'moon']}, ('queues[1]', "'moon'")),
        ({'utility': 'luck'}, ('utility', "'luck'", 'cost_time')),
        ({'order': 'luck'}, ('order',)),
        ({'poll': 1}, ('poll',)),
        ({'budget': -1}, ('budget',)),
        ({'budget': 1e308}, ('budget',)),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(open_market, body, words):
    """Entry, value and limit; nothing is stored."""
    answer = open_market.call(
        'POST', '/v1/bags', BUYER, json={'queues': ['night'], 'tasks': [TASK], **body}
    )
    assert answer.status_code == 400, answer.json
    detail = answer.json['errors'][0]['detail']
    assert all(word in detail for word in words), detail
    assert call(open_market, 'GET')['bags'] == []


def test_a_bag_and_a_project_have_limits(database):
    """10,001 tasks where 10,000 are allowed; and so many bags that have not ended."""
    market = make_market(database, bags=BagLimits(max_tasks=3, max_open=1))
    make_queue(market, OWNER)
    error = new(market, 400, OWNER, defaults=TASK, tasks=[{}] * 4)
    assert error['detail'].startswith('tasks: 4: a bag has at most 3')
    bag = new(market, token=OWNER, defaults=TASK, tasks=[{}] * 3, more=True)
    part = {'first': 3, 'tasks': [TASK]}
    error = call(market, 'POST', f'/{bag["id"]}/tasks', 400, OWNER, json=part)
    assert 'tasks: 4' in error['detail']
    assert new(market, 409, OWNER)['code'] == 'market.bag.too_many'
    error = new(market, 409, OWNER, tasks=[{}])
    assert error['code'] == 'market.bag.too_many', 'it is looked at before the tasks are'
    call(market, 'DELETE', f'/{bag["id"]}', 202, OWNER)
    new(market, token=OWNER)


def test_a_bag_is_changed_while_it_runs(open_market):
    """What is not given stays; a deadline is that of all tasks that wait; null takes it away."""
    bag = new(open_market, tasks=[{**TASK, 'within': 5000}, {**TASK, 'name': 'b'}])
    path = f'/{bag["id"]}'
    at = stamp(open_market.wall() + 9000)
    body = {
        'order': 'importance',
        'utility': 'fastest',
        'budget': 7,
        'retry': False,
        'deadline': at,
    }
    changed = call(open_market, 'PATCH', path, json=body)['bag']
    assert {**bag, **changed} == changed
    assert [changed[one] for one in ('order', 'utility', 'budget', 'retry', 'poll')] == [
        'importance', 'fastest', 7, False, bag['poll'],
    ]  # fmt: skip
    tasks = call(open_market, 'GET', f'{path}/tasks')['tasks']
    assert {one['deadline'] for one in tasks} == {at}
    call(open_market, 'PATCH', path, json={'deadline': None, 'budget': None})
    tasks = call(open_market, 'GET', f'{path}/tasks')['tasks']
    assert {one['deadline'] for one in tasks} == {None}
    for wrong, words in (
        ({'deadline': PAST}, 'is past'),
        ({'utility': 'luck'}, 'luck'),
        ({}, 'entries'),
        ({'queues': ['night']}, 'queues'),
    ):
        error = call(open_market, 'PATCH', path, 400, json=wrong)
        assert words in error['detail'] or wrong == {}, error
    call(open_market, 'PATCH', path, 403, f'reader@{BOB}', json={'poll': 60})
    actions = [one['action'] for one in call(open_market, 'GET', f'{path}/events')['events']]
    assert actions == ['changed', 'changed', 'created']


def test_a_bag_is_cancelled(open_market):
    """What waits is dropped at once; it cannot be changed any more."""
    bag = new(open_market)
    found = call(open_market, 'DELETE', f'/{bag["id"]}?jobs=true', 202)['bag']
    assert (found['state'], found['tasks']['cancelled']) == ('cancelled', 1) and found['ended_at']
    assert call(open_market, 'DELETE', f'/{bag["id"]}', 202)['bag'] == found
    error = call(open_market, 'PATCH', f'/{bag["id"]}', 409, json={'poll': 60})
    assert error['code'] == 'market.bag.ended'


def test_a_closed_queue_takes_no_new_bag(open_market):
    """As it takes no jobs."""
    (queue,) = open_market.stores.queues.queues()
    open_market.stores.queues.change(queue.id, {'state': 'closed'}, queue.generation)
    assert new(open_market, 409)['code'] == 'market.queue.closed'


def test_older_versions_have_no_bags(open_market):
    """They are there from 1.7 on."""
    answer = open_market.call(
        'GET', '/v1/bags', BUYER, headers={'OpenStack-API-Version': 'market 1.6'}
    )
    assert answer.status_code == 404 and '1.7' in answer.json['errors'][0]['detail']
