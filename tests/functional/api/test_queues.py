# SPDX-License-Identifier: Apache-2.0
"""Queues through the API: made, shared, changed, deleted, seen by whom they take jobs of."""

import pytest

from nova_market.core.app.cloud_name import NameKind
from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.queue import QueueMinute
from nova_market.core.market.record import RoundRecord
from nova_market.core.tender.queue_price import QueuePrices, document_of
from nova_market.db.job_states import DatabaseJobStates
from nova_market.errors import CloudUnavailable, DatabaseUnavailable
from nova_market.services.tender.tender_pass import STATE
from tests.support.market.api import ALICE, BOB, OPERATOR, make_market
from tests.support.market.queues import JOB_ENTRY, QUEUE, make_queue, submit
from tests.support.market.rounds import PERIOD, add_round, price

pytestmark = pytest.mark.functional

MEMBER, STRANGER, ADMIN = f'member@{ALICE}', f'member@{BOB}', f'admin@{OPERATOR}'


def create(market, status=201, token=MEMBER, **parts):
    answer = market.call('POST', '/v1/queues', token, json={**QUEUE, **parts})
    assert answer.status_code == status, answer.json
    return answer.json['queue'] if status == 201 else answer.json['errors'][0]


def change(market, status=200, token=MEMBER, of='night', **parts):
    answer = market.call('PATCH', f'/v1/queues/{of}', token, json=parts)
    assert answer.status_code == status, answer.json
    return answer.json['queue'] if status == 200 else answer.json['errors'][0]


def listed(market, token=MEMBER, query=''):
    answer = market.call('GET', f'/v1/queues{query}', token)
    return [one['name'] for one in answer.json['queues']]


def test_a_queue_is_made_with_a_trust(market):
    """With plain values for what was not given; it is found by name and by id."""
    made = create(market, limits={'max_array': 7}, submitters={'roles': ['creator']})
    assert (made['share'], made['short_below'], made['idle_seconds']) == (0, 1800, 600)
    assert made['limits']['max_array'] == 7 and made['limits']['max_waiting'] is None
    assert made['submitters'] == {'projects': [], 'roles': ['creator']}
    assert (made['policy'], made['state'], made['generation']) == ('flexible', 'open', 1)
    assert made['jobs'] == {'waiting': 0, 'held': 0, 'active': 0}
    kept = market.stores.queues.queue(f'{ALICE}:night')
    assert market.trusts.trusts[kept.trust_id] == ('member-user', ALICE, ('member',))
    for name in ('night', made['id']):
        assert market.call('GET', f'/v1/queues/{name}', MEMBER).json['queue'] == made
    assert kept.trust_id not in str(made) and 'trust_id' not in made


@pytest.mark.parametrize(
    ('parts', 'code', 'words'),
    [
        ({'policy': 'magic'}, 'queue.invalid', "policy: 'magic' is not installed, or"),
        ({'short_below': 1801}, 'queue.invalid', 'short_below: 1801: the operator allows at most'),
        ({'flavors': ['tiny']}, 'queue.invalid', "flavors: the cloud has no flavor 'tiny'"),
        ({'flavors': ['small', 'small']}, 'queue.invalid', 'flavors: one is given twice'),
        ({'flavors': []}, 'request.invalid', 'flavors'),
        ({'name': 'all'}, 'queue.invalid', 'name: all'),
        ({'name': '1st'}, 'request.invalid', 'name'),
        ({'image': 'a\u200bb'}, 'queue.invalid', 'image: '),
        ({'image': 'a\u202eb'}, 'request.invalid', 'image'),
        ({'description': 'a\nb'}, 'request.invalid', 'description'),
        (
            {'parameters': {'depth': 1}},
            'queue.invalid',
            "parameters: 'depth' is none of policy flexible: give none",
        ),
        ({'share': 1.5}, 'request.invalid', 'share'),
        ({'limits': {'max_array': 1001}}, 'request.invalid', 'limits.max_array'),
        ({'colour': 'red'}, 'request.invalid', 'colour'),
        (
            {'policy': 'tender', 'parameters': {'step': 1}},
            'queue.invalid',
            'parameters.step: 1: give',
        ),
        ({'policy': 'tender', 'reuse': False}, 'queue.invalid', 'reuse: a tender queue'),
        (
            {'policy': 'tender', 'submitters': {'projects': [BOB]}},
            'queue.invalid',
            'projects_trust_each_other: the workers of a tender queue',
        ),
        ({'price_rule': 'dear'}, 'request.invalid', 'price_rule'),
    ],
)
def test_what_cannot_be_is_refused_by_name(market, parts, code, words):
    """Nothing is left of it, no trust either."""
    error = create(market, 400, ADMIN if 'share' in parts else MEMBER, **parts)
    assert error['code'] == f'market.{code}' and words in error['detail']
    assert list(market.stores.queues.queues()) == [] and market.trusts.trusts == {}


def test_images_and_networks_of_workers_are_looked_up(market):
    """As those of applications; names in another project, which his token does not show, are not."""
    market.names.known = {NameKind.IMAGE: [QUEUE['image']], NameKind.NETWORK: ['lan']}
    create(market, networks=['lan'])
    for parts, expected in (
        (
            {'image': 'debian-12'},
            "image: 'debian-12': there is no such image that your project may use",
        ),
        ({'networks': ['lan', 'none', 'x']}, "networks[2]: 'x': there is no such network"),
    ):
        for error in (create(market, 400, name='other', **parts), change(market, 400, **parts)):
            assert error['code'] == 'market.queue.invalid' and expected in error['detail']
    assert len(market.trusts.trusts) == 1
    assert change(market, token=ADMIN, of=listed_id(market), image='theirs')['image'] == 'theirs'
    market.names.available = False
    assert change(market, 503, image='debian-13')['code'] == 'market.cloud.unavailable'
    assert change(market, short_below=60)['short_below'] == 60


def listed_id(market):
    return market.call('GET', '/v1/queues', MEMBER).json['queues'][0]['id']


def test_nothing_is_left_of_a_queue_that_cannot_be_stored(market):
    """Its name is taken: the trust is ended. As many as there may be: Keystone is not even asked."""
    create(market)
    before = dict(market.trusts.trusts)
    assert create(market, 409)['code'] == 'market.queue.name_taken'
    some = make_market(market.database, max_queues=1, trusts=market.trusts)
    market.trusts.available = False
    assert create(some, 409, name='day')['code'] == 'market.queue.too_many'
    assert market.trusts.trusts == before


def test_the_share_is_the_operators(market):
    """An owner leaves it at nothing; the operator sets it, and changes nothing else that way."""
    assert create(market, 403, share=0.1)['detail'].endswith('ask an administrator')
    made = create(market, share=0)
    assert 'market:queues:set_share' in change(market, 403, share=0.1)['detail']
    assert change(market, 403, share=0)['code'] == 'market.policy.forbidden'
    assert change(market, token=ADMIN, of=made['id'], share=0.25, aggregate='fast')['share'] == 0.25
    assert change(market, idle_seconds=60)['share'] == 0.25


def test_shares_are_at_most_one_together(market):
    """The refusal says what is left."""
    made = create(market)['id']
    other = create(market, token=STRANGER, name='day')['id']
    change(market, token=ADMIN, of=other, share=0.7)
    error = change(market, 409, ADMIN, made, share=0.4)
    assert error['code'] == 'market.queue.shares'
    assert 'would be 1.1: give at most 0.3' in error['detail']
    assert change(market, token=ADMIN, of=made, share=0.3)['share'] == 0.3


def test_what_is_not_given_stays(market):
    """Of limits and submitters too; a generation that was read guards a change."""
    create(market, limits={'max_array': 7}, submitters={'roles': ['r'], 'projects': [BOB]})
    made = change(market, limits={'max_servers': 3}, submitters={'roles': []}, state='closed')
    assert (made['limits']['max_array'], made['limits']['max_servers']) == (7, 3)
    assert made['submitters'] == {'projects': [BOB], 'roles': []} and made['generation'] == 2
    assert change(market, limits={'max_servers': 3}) == made
    assert change(market, 409, generation=1, reuse=False)['code'] == 'market.conflict'
    assert change(market, generation=2, reuse=False)['reuse'] is False
    assert change(market, 400)['code'] == 'market.request.invalid'


def test_another_member_may_lend_his_roles(market):
    """The trust before is kept until the service ends it."""
    create(market)
    before = market.stores.queues.queue(f'{ALICE}:night')
    made = change(market, token=f'manager@{ALICE}', new_trust=True)
    after = market.stores.queues.queue(f'{ALICE}:night')
    assert made['user_id'] == 'manager-user' and after.trust_id != before.trust_id
    assert market.stores.queues.replaced_trusts() == {after.id: [before.trust_id]}
    assert change(market, 403, ADMIN, after.id, new_trust=True)['code'] == 'market.trust.refused'


@pytest.mark.parametrize('done', [True, False])
def test_a_trust_is_not_ended_while_it_is_not_known_whether_it_is_used(market, monkeypatch, done):
    """The database may have stored the queue although it did not answer."""
    queues, make = market.stores.queues, market.stores.queues.create

    def lost(*given):
        if done:
            make(*given)
        raise DatabaseUnavailable('the answer got lost')

    monkeypatch.setattr(queues, 'create', lost)
    assert create(market, 503)['code'] == 'market.database.unavailable'
    assert len(market.trusts.trusts) == 1


def test_a_cloud_that_does_not_answer_is_said(market, monkeypatch):
    def away(name):
        raise CloudUnavailable('Nova is away')

    monkeypatch.setattr(market.directory, 'size', away)
    assert create(market, 503)['code'] == 'market.cloud.unavailable'


def test_a_queue_is_seen_by_those_it_takes_jobs_of(market):
    """Others are answered as if it were not there; an invited project can't change it."""
    made = create(market)
    path = f'/v1/queues/{made["id"]}'
    assert market.call('GET', path, STRANGER).status_code == 404 and listed(market, STRANGER) == []
    change(market, submitters={'projects': [BOB]})
    assert market.call('GET', path, STRANGER).status_code == 200
    assert listed(market, STRANGER) == listed(market) == ['night']
    assert (
        change(market, 403, STRANGER, made['id'], reuse=False)['code'] == 'market.policy.forbidden'
    )
    assert market.call('DELETE', path, STRANGER).status_code == 403
    assert market.call('GET', path, f'nothing@{BOB}').status_code == 404
    assert listed(market, ADMIN) == [] and listed(market, ADMIN, '?all_projects=true') == ['night']


def accept(market, queue_id, status=200, token=STRANGER, **body):
    answer = market.call('PUT', f'/v1/queues/{queue_id}/acceptance', token, json=body)
    assert answer.status_code == status, answer.json
    return answer.json['queue'] if status == 200 else answer.json['errors'][0]


def test_a_name_leads_to_no_queue_of_another_project(market):
    """Who makes a queue with a name that others use, and invites them, gets none of their jobs (J9)."""
    made = create(market, submitters={'projects': [BOB]})
    error = submit(market, JOB_ENTRY, token=STRANGER, status=400)
    assert f'give its id, {made["id"]}, or see' in error['detail']
    assert market.call('GET', '/v1/queues/night', STRANGER).status_code == 404
    theirs = create(market, token=STRANGER)
    (mine,) = submit(market, JOB_ENTRY, token=STRANGER)
    (sent,) = submit(market, {**JOB_ENTRY, 'queue': made['id']}, token=STRANGER)
    queues = [market.stores.jobs.job(one['id']).queue_id for one in (mine, sent)]
    assert queues == [theirs['id'], made['id']]
    assert listed(market, STRANGER) == ['night', 'night'] and listed(market) == ['night']
    assert create(market, 409)['code'] == 'market.queue.name_taken'


def test_a_queue_of_another_project_is_accepted_by_its_id(market):
    """Its name is then one of the project: nobody can put another one in its place."""
    made = create(market, submitters={'projects': [BOB]})
    assert made['known_as'] == 'night' and accept(market, made['id'])['known_as'] == 'night'
    change(market, name='day')
    (job,) = submit(market, JOB_ENTRY, token=STRANGER)
    assert market.stores.jobs.job(job['id']).queue_id == made['id']
    assert create(market, 409, STRANGER)['code'] == 'market.queue.name_taken'
    other = create(market, name='dusk', submitters={'projects': [BOB]})
    assert accept(market, other['id'], 409, name='night')['code'] == 'market.queue.name_taken'
    assert accept(market, made['id'], name='theirs')['known_as'] == 'theirs'
    path = '/v1/queues/theirs/acceptance'
    assert market.call('DELETE', path, STRANGER).status_code == 204
    assert market.call('GET', '/v1/queues/theirs', STRANGER).status_code == 404
    shown = market.call('GET', f'/v1/queues/{made["id"]}', STRANGER).json['queue']
    assert shown['known_as'] is None
    market.stores.queues.remove(made['id'])


@pytest.mark.parametrize(
    ('token', 'status', 'code'),
    [
        (MEMBER, 400, 'queue.own'), (f'member@{OPERATOR}', 404, 'queue.not_found'),
        (f'reader@{BOB}', 403, 'policy.forbidden'),
    ],
)  # fmt: skip
def test_who_may_accept_a_queue(market, token, status, code):
    """A member of a project that it takes jobs of, and that does not own it."""
    made = create(market, submitters={'projects': [BOB]})
    assert accept(market, made['id'], status, token)['code'] == f'market.{code}'


def test_a_project_accepts_so_many_queues(market):
    some = make_market(market.database, max_queues=1, trusts=market.trusts)
    first, second = (
        create(market, name=name, submitters={'projects': [BOB]}) for name in ('night', 'day')
    )
    accept(some, first['id'])
    assert accept(some, first['id'], name='other')['known_as'] == 'other'
    assert 'reject one first' in accept(some, second['id'], 409)['detail']


def test_the_name_of_a_queue_that_has_gone_rests(market):
    """The user who had it may use it again at once; another one reads since when, and what to do."""
    made = create(market)
    market.stores.queues.remove(made['id'])
    other = f'manager@{ALICE}'
    error = create(market, 409, other)
    assert error['code'] == 'market.queue.name_taken' and 'let that user take it' in error['detail']
    market.stores.queues.remove(create(market)['id'])
    market.wall.now += 8 * 86400.0
    assert create(market, token=other)['name'] == 'night'


def test_whether_projects_share_workers_is_the_owners_word(market):
    """It is off, and older versions of the API do not know it."""
    assert create(market)['projects_trust_each_other'] is False
    assert change(market, projects_trust_each_other=True)['projects_trust_each_other'] is True
    old = {'headers': {'OpenStack-API-Version': 'market 1.12'}}
    shown = market.call('GET', '/v1/queues/night', MEMBER, **old).json['queue']
    assert 'projects_trust_each_other' not in shown
    body = {'projects_trust_each_other': False}
    answer = market.call('PATCH', '/v1/queues/night', MEMBER, json=body, **old)
    assert answer.status_code == 400 and 'from version 1.13 on' in answer.json['message']


def test_queues_are_listed_in_pages_by_name(market):
    for name in ('c', 'a', 'b'):
        create(market, name=name)
    page = market.call('GET', '/v1/queues?limit=2', MEMBER).json
    assert [one['name'] for one in page['queues']] == ['a', 'b']
    link = page['queues_links'][0]['href'].partition('/v1/queues')[2]
    assert listed(market, query=link) == ['c']


def test_a_queue_with_jobs_is_not_deleted(market):
    """When they have ended it takes no more, and waits for the service."""
    create(market)
    (made,) = submit(market, JOB_ENTRY)
    refused = market.call('DELETE', '/v1/queues/night', MEMBER)
    assert refused.json['errors'][0]['code'] == 'market.queue.not_empty'
    assert 'has 1 jobs that have not ended' in refused.json['message']
    market.call('DELETE', f'/v1/jobs/{made["id"]}', MEMBER)
    answer = market.call('DELETE', '/v1/queues/night', MEMBER)
    assert (answer.status_code, answer.json['queue']['state']) == (202, 'deleting')
    assert submit(market, JOB_ENTRY, status=409)['code'] == 'market.queue.closed'
    assert change(market, 409, reuse=False)['code'] == 'market.queue.deleting'


def test_a_closed_queue_takes_no_jobs(market):
    make_queue(market, state='closed')
    error = submit(market, JOB_ENTRY, status=409)
    assert error['code'] == 'market.queue.closed' and 'night is closed' in error['detail']


def test_what_a_queue_did_is_shown_by_minute(market):
    """The last hour by default, in pages, newest first; of all queues together for the operator."""
    made = create(market)
    now = int(market.wall.now // 60)
    lines = [
        QueueMinute(queue_id=made['id'], minute=now - n, cores=n / 2, share=0.25, preempted=n)
        for n in (0, 1, 59, 61)
    ]
    market.stores.queues.note([*lines, QueueMinute(queue_id='', minute=now, cores=9)])
    path = '/v1/queues/night/stats'

    def cores(query='', version='latest'):
        headers = {'OpenStack-API-Version': f'market {version}'}
        page = market.call('GET', path + query, MEMBER, headers=headers).json
        return [one['cores'] for one in page['minutes']], page.get('minutes_links')

    for version, order in (('latest', [0.0, 0.5, 29.5]), ('1.16', [29.5, 0.5, 0.0])):
        assert cores(version=version) == (order, None)
        first, links = cores('?limit=2', version)
        assert first == order[:2]
        link = links[0]['href'].partition('/stats')[2]
        assert cores(link, version) == (order[2:], None)
    assert cores('?since=2027-01-15T06:00:00Z')[0] == [0.0, 0.5, 29.5, 30.5]
    assert cores('?until=2027-01-15T07:59:30Z')[0] == [0.5, 29.5]
    cloud = market.call('GET', '/v1/queues/all/stats', ADMIN).json['minutes']
    assert [one['cores'] for one in cloud] == [9]
    assert market.call('GET', '/v1/queues/all/stats', MEMBER).status_code == 403


def test_a_tender_queue_shows_its_prices(market):
    """From 1.6 on: the rule at once, the prices when a pass has made them, those before in one queue only."""
    made = create(market, policy='tender', price_core_hour=1000, parameters={'memory_price': 2})
    assert (made['price_rule'], made['tender']) == ('settled', None)
    step(market, made)
    shown = market.call('GET', '/v1/queues/night', MEMBER).json['queue']['tender']
    assert shown['prices'] == {'core_hour': 2000.0, 'mib_hour': 1.0, 'gib_hour': 0.0}
    assert shown['load']['cores'] == 3.0 and shown['at'] == '1970-01-01T00:01:00Z'
    assert [one['load'] for one in shown['history']] == [3.0]
    (line,) = market.call('GET', '/v1/queues', MEMBER).json['queues']
    assert line['tender'] == {**shown, 'history': [], 'clearing': None}


def test_beside_its_prices_are_those_of_the_market(market):
    """From 1.10 on, for an hour as its own; with the reason where there is none."""

    def clearing(version='1.10'):
        headers = {'OpenStack-API-Version': f'market {version}'}
        answer = market.call('GET', '/v1/queues/night', MEMBER, headers=headers)
        return answer.json['queue']['tender'].get('clearing', 'is not there')

    step(market, create(market, policy='tender', price_core_hour=1000))
    nothing = {'at': None, 'core_hour': None, 'mib_hour': None}
    assert clearing() == {**nothing, 'reason': 'the market has no prices yet'}
    add_round(market)
    stamped = '2027-01-15T08:00:00Z'
    both = {'at': stamped, 'core_hour': 12_000.0, 'mib_hour': 30.0, 'reason': None}
    assert clearing() == both
    record = RoundRecord(period=PERIOD + 1, leader='engine1', started_at=0.0, document={})
    market.stores.history.begin(record, [price(PERIOD + 1, 'cpu', 300.0)], [])
    assert clearing() == {
        'at': '2027-01-15T08:01:00Z', 'core_hour': 18_000.0, 'mib_hour': None,
        'reason': 'no host sells shares of memory',
    }  # fmt: skip
    assert clearing('1.9') == 'is not there'


def step(market, made):
    """The first step of the prices of a queue."""
    prices = QueuePrices(
        at=60.0, prices=(2000.0, 1.0, 0.0), load=(3.0, 0.5, 0.0), history=((60.0, 2000.0, 1.0, 0.0, 3.0),)
    )  # fmt: skip
    DatabaseJobStates(market.database).write(STATE, {made['id']: document_of(prices)})


def test_what_is_in_force_is_shown_beside_what_was_set(market):
    """A queue of before the operator lowered its limits, and a policy that is not allowed any more."""
    newest = {'OpenStack-API-Version': 'market 1.15'}
    create(market, limits={'max_array': 7})
    (job,) = submit(market, {**JOB_ENTRY, 'notice': 300, 'least_run_time': 60})
    strict = make_market(
        market.database, trusts=market.trusts, job_policies={'rigid': ()},
        job_limits=JobLimits(max_short_below=60, max_notice=30, max_retries=0),
    )  # fmt: skip

    def seen(path, version=newest):
        return strict.call('GET', f'/v1/{path}', MEMBER, headers=version).json

    found = seen('queues/night')['queue']
    assert (found['policy'], found['short_below'], found['limits']['max_notice']) == (
        'flexible', 1800, None,
    )  # fmt: skip
    assert found['in_force'] == {
        'policy': False, 'short_below': 60, 'max_notice': 30, 'max_least_run_time': 3600,
        'max_retries': 0,
    }  # fmt: skip
    shown = seen(f'jobs/{job["id"]}')['job']
    assert (shown['notice'], shown['retries']) == (300, 1)
    assert shown['in_force'] == {
        'notice': 30, 'least_run_time': 60, 'retries': 0, 'preempt_action': 'requeue',
    }  # fmt: skip
    old = {'OpenStack-API-Version': 'market 1.12'}
    before = seen('queues/night', old)['queue']
    assert 'in_force' not in before and 'max_notice' not in before['limits']
    assert 'in_force' not in seen(f'jobs/{job["id"]}', old)['job']
    given = {'limits': {'max_notice': 10}}
    answer = strict.call('PATCH', '/v1/queues/night', MEMBER, json=given, headers=old)
    assert 'from version 1.15 on' in answer.json['message']


def test_older_versions_have_no_tender_queues(market):
    """They neither make nor show what belongs to them."""
    old = {'headers': {'OpenStack-API-Version': 'market 1.5'}}
    body = {'name': 'day', 'flavors': ['small'], 'image': 'debian-13'}
    for more in ({'policy': 'tender'}, {'price_rule': 'settled'}):
        answer = market.call('POST', '/v1/queues', MEMBER, json=body | more, **old)
        assert answer.status_code == 400 and 'from version 1.6 on' in answer.json['message']
    create(market, policy='tender')
    shown = market.call('GET', '/v1/queues/night', MEMBER, **old).json['queue']
    assert shown['policy'] == 'tender' and not {'tender', 'price_rule'} & shown.keys()


def test_parameters_are_those_of_the_policy(market):
    """Of each policy that is installed: each set of them costs every pass a selection of its own."""
    for policy in market_policies(market):
        error = create(market, 400, policy=policy, parameters={'no_such': 0.5})
        assert error['code'] == 'market.queue.invalid' and "'no_such' is none of" in error['detail']
    create(market)
    error = change(market, 400, parameters={'no_such': 0.5})
    assert error['code'] == 'market.queue.invalid'
    assert change(market, policy='tender', parameters={'step': 3.0})['parameters'] == {'step': 3.0}
    error = change(market, 400, policy='rigid')
    assert "'step' is none of policy rigid" in error['detail'], 'they are those of tender still'
    assert change(market, policy='rigid', parameters={})['parameters'] == {}


def market_policies(market):
    """Names that the error for an unknown one has."""
    detail = create(market, 400, policy='magic')['detail']
    return detail.partition(': give ')[2].split(' or ')


def test_whom_else_a_queue_serves_is_for_its_owner(market):
    """An invited project sees that it is invited, and its own weight."""
    third = 'd' * 32
    made = create(
        market,
        submitters={'projects': [BOB, third], 'roles': ['creator']},
        weights={BOB: 2.0, third: 7.0},
    )
    for token in (MEMBER, ADMIN):
        seen = market.call('GET', f'/v1/queues/{made["id"]}', token).json['queue']
        assert seen['submitters']['projects'] == [BOB, third]
        assert seen['weights'] == {BOB: 2.0, third: 7.0}
    shown = market.call('GET', f'/v1/queues/{made["id"]}', STRANGER).json['queue']
    (line,) = market.call('GET', '/v1/queues', STRANGER).json['queues']
    for seen in (shown, line):
        assert seen['submitters'] == {'projects': [BOB], 'roles': ['creator']}
        assert seen['weights'] == {BOB: 2.0} and third not in str(seen)


def test_a_queue_that_invites_a_project_counts_for_its_owner_alone(market):
    """Else anybody could use up what a project is told that it has."""
    create(market, submitters={'projects': [BOB]})
    newest = {'OpenStack-API-Version': 'market latest'}
    for token, used in ((MEMBER, 1), (STRANGER, 0)):
        found = market.call('GET', '/v1/limits', token, headers=newest).json['limits']
        assert found['queues']['used'] == used


def test_a_list_of_queues_reads_no_others(market, monkeypatch):
    """Neither those of the cloud that the project has nothing to do with, nor all of them for a page."""
    create(market, submitters={'projects': [BOB]})
    create(market, name='own')
    asked = []
    queues = market.stores.queues.queues

    def seen(*arguments):
        asked.append(queues(*arguments))
        return asked[-1]

    monkeypatch.setattr(market.stores.queues, 'queues', seen)
    assert listed(market, STRANGER) == ['night']
    assert [[one.name for one in some] for some in asked] == [['night']]
