# SPDX-License-Identifier: Apache-2.0
"""Leases through the API: booked, refused, listed, shown, changed, given, the calendar, replans."""

from dataclasses import replace

import pytest

from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.limit import LeaseLimits
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.timestamp import seconds, stamp
from tests.support.job_bed import host
from tests.support.lease_bed import publish_hosts
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS
from tests.support.market.api import ALICE, BOB, make_market

pytestmark = pytest.mark.functional

MINE, THEIRS, ADMIN = f'member@{ALICE}', f'member@{BOB}', f'admin@{ALICE}'
MANAGER = f'manager@{ALICE}'
PART = {'cores': 2, 'memory_mib': 1024, 'duration': HOUR}


@pytest.fixture
def cloud(market):
    """Three hosts of four cores, and credits of both projects."""
    names = [f'project:{one}' for one in (ALICE, BOB)]
    market.stores.accounts.open(
        [Account(id=name, project_id=name.partition(':')[2]) for name in names]
    )
    grants = [
        Posting(key=name, reason=Reason.GRANT, debit=MINT, credit=name, amount=10**9)
        for name in names
    ]
    market.stores.ledger.post(grants)
    publish_hosts(market.stores.states, market.wall(), [host(name) for name in 'abc'])
    return market


def ask(market, method, path, status=200, token=MINE, body=None, **more):
    """The document of an answer, or its error."""
    given = {'json': body} if body is not None else {}
    answer = market.call(method, f'/v1/{path}', token, **given, **more)
    assert answer.status_code == status, answer.json
    return answer.json if status < 400 else answer.json['errors'][0]


def book(market, status=201, token=MINE, after=2 * HOUR, key=None, **body):
    size = {'duration': HOUR} if 'whole' in body else PART
    given = {'earliest': stamp(market.wall() + after), **size, **body}
    headers = {'Idempotency-Key': key} if key else {}
    found = ask(market, 'POST', 'leases', status, token, given, headers=headers)
    return found['lease'] if status < 400 else found


def test_a_lease_is_booked_shown_and_listed(cloud):
    one = book(cloud, name='test', nodes=2)
    assert (one['state'], one['cost'], one['algorithm']) == (
        'planned', 4_000_000, 'greedy_consistent',
    )  # fmt: skip
    assert len({node['host'] for node in one['nodes']}) == 2 and one['payer_id'] == ALICE
    assert ask(cloud, 'GET', f'leases/{one["id"]}')['lease'] == one
    assert ask(cloud, 'GET', 'leases')['leases'] == [one]
    (event,) = ask(cloud, 'GET', f'leases/{one["id"]}/events')['events']
    assert event['action'] == 'booked'
    assert ask(cloud, 'GET', f'leases/{one["id"]}', 404, THEIRS)['code'] == 'market.lease.not_found'


def test_what_has_no_price_is_not_leased_beside_a_little_that_has(cloud):
    """Cores have a price, memory has none: all memory with hardly a core would cost nearly nothing."""
    much = {'cores': 0.01, 'memory_mib': 8192, 'nodes': 3}
    error = book(cloud, 403, **much)
    assert error['code'] == 'market.lease.off' and 'price_memory_gib_hour' in error['detail']
    asked = {'kind': 'lease', 'lease': {**PART, **much}}
    assert ask(cloud, 'POST', 'offers', 403, body=asked)['code'] == 'market.lease.off'
    assert book(cloud, cores=2, memory_mib=4096)['cost'] == 2_000_000


def test_with_a_limit_what_has_no_price_is_leased(database):
    """L10 counts it as the greatest of the parts that it takes."""
    limited = replace(SETTINGS, limits=LeaseLimits(part=0.5))
    market = make_market(database, leases=limited)
    publish_hosts(market.stores.states, market.wall(), [host(name) for name in 'abc'])
    name = f'project:{ALICE}'
    market.stores.accounts.open([Account(id=name, project_id=ALICE)])
    market.stores.ledger.post(
        [Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=name, amount=10**9)]
    )
    much = {'cores': 0.01, 'memory_mib': 8192}
    book(market, **much)
    assert book(market, 409, nodes=2, **much)['code'] == 'market.lease.limit'


def test_the_same_key_books_once(cloud):
    one = book(cloud, key='k')
    assert book(cloud, 200, key='k') == one
    assert len(ask(cloud, 'GET', 'leases')['leases']) == 1


def test_pages_and_filters(cloud):
    """By state, host, time; a page has a link to the next one."""
    first, second = book(cloud, hosts=['a']), book(cloud, hosts=['b'], after=9 * HOUR)
    listed = ask(cloud, 'GET', 'leases?limit=1')
    assert [one['id'] for one in listed['leases']] == [second['id']]
    assert f'marker={second["number"]}' in listed['leases_links'][0]['href']
    for query, wanted in (
        ('host=a', [first]),
        ('state=active', []),
        (f'since={first["end"]}', [second]),
        (f'until={first["end"]}', [first]),
    ):
        assert ask(cloud, 'GET', f'leases?{query}')['leases'] == wanted, query


def test_a_refusal_has_what_fails_and_what_is_near(cloud):
    """Figure 7: nothing was booked."""
    book(cloud, hosts=['a'], cores=3)
    error = book(cloud, 409, hosts=['a', 'b'])
    assert error['code'] == 'market.lease.refused' and 'at most 1 are free' in error['detail']
    (fault,) = error['faults']
    assert (fault['host'], fault['requirement'], fault['free']) == ('a', 'cores', 1)
    assert {one['change']: one['cost'] for one in error['options']} == {
        'other_hosts': 4_000_000, 'later': 4_000_000, 'fewer_nodes': 2_000_000,
    }  # fmt: skip
    assert len(ask(cloud, 'GET', 'leases')['leases']) == 1


@pytest.mark.parametrize(
    ('body', 'match'),
    [
        ({'cores': 0, 'memory_mib': 0}, 'whole host or has amounts'),
        ({'whole': True, 'cores': 2}, 'whole host or has amounts'),
        ({'finish': '2020-01-01T00:00:00Z'}, 'shorter than the duration'),
        ({'hosts': ['x']}, 'no host x'),
        ({'hosts': ['a', 'a']}, 'each of them once'),
    ],
)
def test_nonsense_is_refused(cloud, body, match):
    error = ask(cloud, 'POST', 'leases', 400, body={**PART, **body})
    assert error['code'] == 'market.lease.invalid' and match in error['detail']


def test_times_that_have_no_text_are_refused(cloud):
    """In the year 10000, by themselves or with what is added to them."""
    last = '9999-12-31T23:59:59'
    for body in ({'earliest': f'{last}Z'}, {'earliest': f'{last}-05:00'}, {'finish': f'{last}Z'}):
        ask(cloud, 'POST', 'leases', 400, body={**PART, **body})
    for query in (f'since={last}Z', f'since={last}-05:00', f'until={last}-05:00'):
        ask(cloud, 'GET', f'lease-calendar?{query}', 400)
    ask(cloud, 'GET', f'leases?since={last}-05:00', 400)


def test_what_breaks_the_schema_is_refused(cloud):
    for body in ({}, {'duration': 0}, {**PART, 'nodes': 0}, {**PART, 'else': 1}):
        assert ask(cloud, 'POST', 'leases', 400, body=body)['code'] == 'market.request.invalid'


def test_who_reaches_a_limit_gets_its_own_code(cloud):
    """Of its project; and what costs nothing, where there is no limit, is off."""
    limits = LeaseLimits(core_seconds=3 * HOUR)
    strict = make_market(cloud.database, leases=replace(SETTINGS, limits=limits))
    book(strict)
    error = book(strict, 409)
    assert error['code'] == 'market.lease.limit'
    assert error['detail'].startswith(
        'the lease takes 2 core-hours, the project has 2 ahead and may have 3'
    )
    free = make_market(cloud.database, leases=replace(SETTINGS, prices=LeasePrices()))
    error = book(free, 403)
    assert error['code'] == 'market.lease.off' and '[leases]max_core_hours' in error['detail']
    body = {'kind': 'lease', 'lease': PART}
    assert ask(free, 'POST', 'offers', 403, body=body)['code'] == 'market.lease.off'
    assert len(ask(free, 'GET', 'leases')['leases']) == 1


def test_limits_are_shown_with_what_there_is(cloud):
    """Of three hosts of four cores; what is not limited is null."""
    book(cloud)
    limits = LeaseLimits(core_seconds=8 * HOUR, part=0.5, cloud_core_seconds=90 * HOUR)
    strict = make_market(
        cloud.database, leases=replace(SETTINGS, limits=limits), job_limits=JobLimits(max_notice=7)
    )
    found = ask(strict, 'GET', 'limits')['limits']
    assert found['project_id'] == ALICE and found['queues'] == {'used': 0, 'max': 20}
    assert (found['jobs']['max_notice'], 'easy' in found['jobs']['policies']) == (7, True)
    mine = found['leases']
    assert mine['core_hours'] == {'used': 2.0, 'max': 8.0} and mine['cloud_core_hours'] == 90.0
    assert mine['part'] == {'used': pytest.approx(2 / 12), 'max': 0.5}
    assert (mine['free'], mine['priced'], mine['leases']) == (True, True, {'used': 1, 'max': 100})
    plain = ask(cloud, 'GET', 'limits', token=THEIRS)['limits']['leases']
    assert (plain['core_hours'], plain['free']) == ({'used': 0, 'max': None}, False)
    assert plain['cloud_core_hours'] is None
    assert ask(cloud, 'GET', f'limits?project_id={ALICE}', 403, THEIRS)
    old = {'OpenStack-API-Version': 'market 1.12'}
    assert ask(cloud, 'GET', 'limits', 404, headers=old)


def test_who_cannot_pay_gets_nothing(cloud):
    error = book(cloud, 409, whole=True, nodes=3, duration=100 * HOUR)
    assert error['code'] == 'market.balance.too_low'


def test_a_lease_is_changed_given_and_deleted(cloud):
    """Given by a manager; then it is another project's, which may delete it; the payer is the same."""
    path = f'leases/{book(cloud)["id"]}'
    changed = ask(cloud, 'PATCH', path, body={'name': 'n', 'flexible': True})['lease']
    assert (changed['name'], changed['flexible']) == ('n', True)
    ask(cloud, 'POST', f'{path}/give', 403, body={'project_id': BOB})
    given = ask(cloud, 'POST', f'{path}/give', token=MANAGER, body={'project_id': BOB})['lease']
    assert (given['project_id'], given['payer_id']) == (BOB, ALICE)
    ask(cloud, 'DELETE', path, 404)
    over = ask(cloud, 'DELETE', path, token=THEIRS)['lease']
    assert (over['state'], over['refunded']) == ('ended', 2_000_000)
    assert ask(cloud, 'DELETE', path, 409, THEIRS)['code'] == 'market.lease.over'
    actions = [one['action'] for one in ask(cloud, 'GET', f'{path}/events', token=THEIRS)['events']]
    assert actions == ['deleted', 'given', 'changed', 'booked']


def test_the_calendar_hides_whose_the_leases_of_others_are(cloud):
    """What is free is shown to everybody; names and ids to those who may see the lease."""
    one = book(cloud, hosts=['a'], name='secret')
    for token, seen in ((MINE, ('secret', one['id'])), (THEIRS, (None, None))):
        found = ask(cloud, 'GET', 'lease-calendar', token=token)
        first = found['hosts'][0]
        (booked,) = first['leases']
        assert (booked['name'], booked['lease_id']) == seen and booked['cores'] == 2
        assert [step['cores'] for step in first['free']] == [4, 2, 4]
        assert first['free'][1]['start'] == one['start']
        assert [step['cores'] for step in found['hosts'][1]['free']] == [4]
    assert seconds(found['until']) - seconds(found['since']) == 86_400


def test_who_looks_reads_neither_hosts_nor_leases_again(cloud, monkeypatch):
    """They are known from the booking; a document of 1,000 hosts is long, and so are leases of them all."""
    book(cloud, hosts=['a'])

    def refused(*_):
        raise AssertionError('everything was read')

    monkeypatch.setattr(cloud.stores.leases, 'calendar', refused)
    monkeypatch.setattr(cloud.stores.states, 'read', refused)
    found = ask(cloud, 'GET', 'lease-calendar')
    assert [len(one['leases']) for one in found['hosts']][:2] == [1, 0]
    newest = {'OpenStack-API-Version': 'market latest'}
    limits = cloud.call('GET', '/v1/limits', MINE, headers=newest).json['limits']
    assert limits['leases']['part']['used'] > 0


def test_a_calendar_has_a_beginning_and_an_end(cloud):
    ask(cloud, 'GET', 'lease-calendar?since=2030-01-01T00:00:00Z&until=2029-01-01T00:00:00Z', 400)
    ask(cloud, 'GET', 'lease-calendar?since=2030-01-01T00:00:00Z&until=2039-01-01T00:00:00Z', 400)


def test_a_replan_shows_and_then_moves(cloud):
    """A dry run is what is done afterwards; joules come down."""
    first = book(cloud, hosts=['a'], cores=4, after=3 * HOUR)
    second = book(cloud, flexible=True, after=3 * HOUR)
    third = book(cloud, hosts=['c'], cores=1, after=3 * HOUR)
    ask(cloud, 'DELETE', f'leases/{first["id"]}')
    given = {'algorithm': 'exact', 'dry_run': True}
    dry = ask(cloud, 'POST', 'lease-replans', token=ADMIN, body=given)['replan']
    (move,) = dry['moves']
    assert (move['lease_id'], move['new']['hosts'], dry['written']) == (second['id'], ['c'], False)
    assert third['nodes'] and dry['after']['joules'] < dry['before']['joules']
    assert ask(cloud, 'GET', f'leases/{second["id"]}')['lease'] == second
    wet = ask(cloud, 'POST', 'lease-replans', token=ADMIN, body={'algorithm': 'exact'})['replan']
    assert wet == {**dry, 'written': True}
    moved = ask(cloud, 'GET', f'leases/{second["id"]}')['lease']
    assert [node['host'] for node in moved['nodes']] == ['c'] and moved['cost'] == second['cost']


def test_an_algorithm_that_is_not_there(cloud):
    error = ask(cloud, 'POST', 'lease-replans', 400, ADMIN, {'algorithm': 'oracle'})
    assert 'greedy' in error['detail'] and error['code'] == 'market.lease.invalid'


def test_older_versions_have_no_leases(cloud):
    headers = {'OpenStack-API-Version': 'market 1.7'}
    error = ask(cloud, 'GET', 'leases', 404, headers=headers)
    assert error['code'] == 'market.route.not_found'
